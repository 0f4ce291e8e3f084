"""Bayesian optimisation: predict configs from those that were measured, and choose the one to measure next."""
