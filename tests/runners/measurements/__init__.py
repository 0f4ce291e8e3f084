"""Tests of `runners.measurements`."""
