"""Brokers: those that we start, in processes or in a container, and those that somebody else runs."""
