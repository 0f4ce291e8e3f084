"""Tests of `runners.clusters.brokers`."""
