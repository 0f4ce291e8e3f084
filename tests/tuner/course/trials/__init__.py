"""Tests of `tuner.course.trials`."""
