"""Tests of `runners.host_processes`."""
