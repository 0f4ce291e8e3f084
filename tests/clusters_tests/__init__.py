"""Tests of `runners.clusters`, `runners.java_runtime` and `runners.host_processes.places`."""
