"""The container image, and the files that start it."""
