"""Tests of `runners.clusters`."""
