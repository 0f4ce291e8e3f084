"""Tests of `tuner.present`."""
