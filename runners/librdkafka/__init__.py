"""The librdkafka client under test: its C functions, its statistics, and the two load generators on it."""
