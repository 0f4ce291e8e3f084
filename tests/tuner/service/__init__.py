"""Tests of `tuner.service`."""
