"""Tests of `search_spaces.connection`."""
