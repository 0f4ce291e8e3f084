"""A cache of the responses that clients poll for."""
