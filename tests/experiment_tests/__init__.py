"""Tests of experiments: their files, their course, their results and their reports."""
