"""Tests of `tuner.results.experiments`."""
