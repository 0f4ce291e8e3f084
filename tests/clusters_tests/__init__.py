"""Tests of `runners.clusters`, `runners.java_runtime` and `runners.places`."""
