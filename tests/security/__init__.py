"""Tests of secrets, permissions, hostile input and the threat model."""
