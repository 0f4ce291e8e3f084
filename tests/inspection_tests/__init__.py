"""Tests of `runners.inspection` and `tuner.inspection`."""
