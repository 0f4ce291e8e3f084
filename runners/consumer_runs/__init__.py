"""Runs loads of consumers: on a topic of the user, on one that we fill, and beside the producers of a measurement."""
