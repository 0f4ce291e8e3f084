"""Tests of `tuner.present.measurements`."""
