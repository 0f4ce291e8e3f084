"""Tests of `runners.simulated`."""
