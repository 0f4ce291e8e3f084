"""Tests of `runners`."""
