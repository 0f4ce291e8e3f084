"""Checks the lines of a producer's properties file for errors, and explains what they mean, for either client."""
