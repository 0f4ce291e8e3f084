"""Reads the record batches of topics as they lie on the brokers, and computes what `tuner inspect` reports.

Nothing is sent. Of the records, it reports figures and never their content.
"""
