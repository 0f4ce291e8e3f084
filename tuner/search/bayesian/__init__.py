"""Bayesian optimisation: predict the results of configs from trials, and choose the config to measure next."""
