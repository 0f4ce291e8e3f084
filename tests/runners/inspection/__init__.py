"""Tests of `runners.inspection`."""
