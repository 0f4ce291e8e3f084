"""Tests of `tuner.search`."""
