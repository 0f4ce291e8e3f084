"""Tests of `tuner`."""
