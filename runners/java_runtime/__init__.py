"""The Java runtime, and the jars of Kafka that brokers, the Java client and Kafka's own tools need."""
