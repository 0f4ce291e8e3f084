"""Tests of `runners.kafka_tools`."""
