"""Tests of `tuner.inspection`."""
