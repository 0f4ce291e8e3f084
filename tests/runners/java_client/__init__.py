"""Tests of `runners.java_client`."""
