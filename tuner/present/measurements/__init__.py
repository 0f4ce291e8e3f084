"""Single measurements: the live view of a load, and its result."""
