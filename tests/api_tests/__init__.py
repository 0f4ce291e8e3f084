"""Tests of the Python façade."""
