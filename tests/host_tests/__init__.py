"""Tests of `runners.host`."""
