"""The librdkafka client that is measured: its C functions, its statistics, and the two load generators that use it."""
