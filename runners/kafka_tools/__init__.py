"""Kafka's own benchmark tools, run from the jars of the embedded broker, to compare them with our load generators."""
