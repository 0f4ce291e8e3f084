"""Tests of `tuner.storage`."""
