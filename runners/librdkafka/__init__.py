"""Measures the librdkafka client.

The modules hold librdkafka's C functions, its statistics, the two load generators that send records with it, and the
consumer.
"""
