"""Loads of producers and consumers with Kafka's Java client, and other work for which we start a Java process.

The Java program in `harness` runs the loads and reads key stores; the one in `inspector` reads record batches from
brokers. The Python modules compile and start these programs, send them commands, and read their answers.
"""
