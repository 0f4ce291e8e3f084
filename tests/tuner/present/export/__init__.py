"""Tests of `tuner.present.export`."""
