"""Tests of `runners.pools`."""
