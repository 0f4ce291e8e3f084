"""Tests of `runners.java_runtime`."""
