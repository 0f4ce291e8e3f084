"""Tests of `benchmarks.problems`."""
