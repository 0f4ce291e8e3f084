"""Tests of `tuner.study_file`."""
