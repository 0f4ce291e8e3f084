"""Comparisons of two studies, of two clients, and of a config with the baseline."""
