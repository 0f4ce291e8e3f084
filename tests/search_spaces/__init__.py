"""Tests of `search_spaces`, which use the real client where its behaviour matters."""
