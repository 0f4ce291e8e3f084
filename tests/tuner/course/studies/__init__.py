"""Tests of `tuner.course.studies`."""
