"""Tests of `tuner.search.bayesian`."""
