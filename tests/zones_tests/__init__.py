"""Tests of `runners.zones`."""
