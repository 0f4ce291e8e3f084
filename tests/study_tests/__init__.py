"""Tests of `tuner.study`."""
