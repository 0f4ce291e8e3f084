"""Topics on a cluster: we create and delete our own topics, and read the offsets and records of the user's topics."""
