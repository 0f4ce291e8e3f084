"""Tests of whole studies in which something goes wrong: drivers, brokers and workers die, or a user presses Ctrl-C."""
