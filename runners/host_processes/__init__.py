"""What the tuner's processes on one host share: child processes, folders, locks, and cleaning up after killed ones."""
