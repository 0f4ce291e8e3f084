"""The load generator that uses Kafka's Java client: a Java program in `harness`, and the process that directs it."""
