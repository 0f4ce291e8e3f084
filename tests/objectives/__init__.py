"""Tests of `objectives`."""
