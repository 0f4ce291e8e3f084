"""Tests of `tuner.service.queue`."""
