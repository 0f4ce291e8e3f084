"""Tests of `tuner.service.http`."""
