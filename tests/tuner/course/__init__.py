"""Tests of `tuner.course`."""
