"""Tests of `runners` but for its clusters."""
