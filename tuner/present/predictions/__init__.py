"""Predictions, estimates and costs as text and JSON."""
