"""Helpers for the tests of several packages: studies, trials, servers, runners, running commands, and waiting."""
