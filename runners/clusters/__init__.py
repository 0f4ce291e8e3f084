"""The Kafka clusters that we measure against, and the topics that we create on them.

A cluster is started by us, exists already, or runs in a container.
"""
