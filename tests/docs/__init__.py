"""Tests of what the documents show: commands, study files, Python, names of files."""
