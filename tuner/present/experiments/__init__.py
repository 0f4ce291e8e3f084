"""Experiments: their plan, their progress, and their report."""
