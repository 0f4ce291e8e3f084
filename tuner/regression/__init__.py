"""Gaussian processes, which predict a number from noisy values that were measured at some points."""
