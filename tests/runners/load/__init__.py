"""Tests of `runners.load`, which the load generators of both clients share."""
