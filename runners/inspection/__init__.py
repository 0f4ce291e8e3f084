"""Reads the record batches of topics as they lie on the brokers, and computes what `tuner inspect` reports.

Nothing is written to the cluster. Only figures about the records are reported, never their content.
"""
