"""Loads of consumers: several consumers read one topic, and every record is counted.

The modules hold the settings of a load, its result, the check of offsets, and the processes of the consumers. The code
that reads with one of the clients is in `runners.librdkafka` and `runners.java_client`.
"""
