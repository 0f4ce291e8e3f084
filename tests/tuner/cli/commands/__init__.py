"""Tests of `tuner.cli.commands`."""
