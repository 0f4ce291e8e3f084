"""Tests of `search_spaces.files`."""
