"""Judges the producers of a topic by its record batches: what ends a batch, and what the producers could save."""
