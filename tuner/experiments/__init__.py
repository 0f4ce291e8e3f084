"""Experiments that come with the tuner, as YAML files: those of published papers, and our own."""
