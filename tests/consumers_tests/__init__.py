"""Tests of `runners.consumers` and `runners.consumer_runs`."""
