"""Tests of `runners.consumers`."""
