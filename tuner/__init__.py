"""The optimiser of Apache Kafka producer configurations: command line and Python API."""
