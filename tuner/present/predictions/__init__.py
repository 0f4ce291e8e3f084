"""Predictions and estimates as text and JSON."""
