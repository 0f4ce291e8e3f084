"""Tests of `tuner.present.topics`."""
