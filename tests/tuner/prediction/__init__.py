"""Tests of `tuner.prediction`."""
