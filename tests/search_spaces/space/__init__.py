"""Tests of `search_spaces.space`."""
