"""Kafka's own benchmark tools, run from the jars of the embedded broker, to compare them with our load generators.

`perf_test_command` writes the command with which users run one of them themselves.
"""
