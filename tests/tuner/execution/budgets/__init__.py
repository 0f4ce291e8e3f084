"""Tests of `tuner.execution.budgets`."""
