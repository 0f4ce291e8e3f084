"""Running a study: open its target, measure trials, store them, and close everything again."""
