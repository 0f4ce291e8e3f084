"""Tests of `tuner.present.predictions`."""
