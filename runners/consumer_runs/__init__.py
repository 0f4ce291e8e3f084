"""Runs loads of consumers on a topic of the user, on a topic that we fill, or while producers write to the topic."""
