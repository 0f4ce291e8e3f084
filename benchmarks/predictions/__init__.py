"""Compares measurements with predictions at other rates and for more producers, and with published models.

Also computes how noisy the measurements are.
"""
