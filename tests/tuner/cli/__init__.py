"""Tests of `tuner.cli`."""
