"""Tests of `tuner.results.recommendations`."""
