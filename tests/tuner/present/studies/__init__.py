"""Tests of `tuner.present.studies`."""
