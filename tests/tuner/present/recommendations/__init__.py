"""Tests of `tuner.present.recommendations`."""
