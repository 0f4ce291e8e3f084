"""Tests of `runners.consumer_runs`."""
