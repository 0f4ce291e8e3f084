"""Tests of `tuner.confirmation`."""
