"""Child processes, and the folders and locks that the tuner's processes share; cleans up after killed processes."""
