"""Tests of `tuner.model`."""
