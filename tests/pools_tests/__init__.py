"""Tests of `runners.pools` on this host."""
