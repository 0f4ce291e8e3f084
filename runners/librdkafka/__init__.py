"""Measures the librdkafka client.

The modules hold librdkafka's C functions, its statistics, and the two load generators that send records with it.
"""
