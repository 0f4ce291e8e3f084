"""Kafka clusters to measure against: embedded, existing, or in a container; and the topics we own on them."""
