"""Tests of `runners.pools` on a Ray cluster of several nodes."""
