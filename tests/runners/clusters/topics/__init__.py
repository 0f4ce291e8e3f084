"""Tests of `runners.clusters.topics`."""
