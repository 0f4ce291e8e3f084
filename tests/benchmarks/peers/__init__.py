"""Tests of `benchmarks.peers`."""
