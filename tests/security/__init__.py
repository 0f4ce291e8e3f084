"""Tests of secrets, rights, hostile input and the threat model."""
