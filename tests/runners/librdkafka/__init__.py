"""Tests of `runners.librdkafka`."""
