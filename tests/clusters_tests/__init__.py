"""Tests of `runners.clusters` and `runners.places`."""
