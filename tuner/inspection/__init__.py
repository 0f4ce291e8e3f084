"""Judges the producers of a topic by its record batches: what ends a batch, and what they could save."""
