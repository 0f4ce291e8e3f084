"""Tests of `tuner.course.budgets`."""
