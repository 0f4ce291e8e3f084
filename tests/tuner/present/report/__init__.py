"""Tests of `tuner.present.report`."""
