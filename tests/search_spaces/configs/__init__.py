"""Tests of `search_spaces.configs`."""
