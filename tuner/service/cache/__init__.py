"""Caches of the answers that clients poll for."""
