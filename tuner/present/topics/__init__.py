"""What was read from a topic: its batches, and a sample of its records."""
