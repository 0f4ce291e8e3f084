"""Tests of `tuner.results`."""
