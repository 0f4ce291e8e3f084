"""Whole studies under what goes wrong at night: drivers, brokers and workers that die, users who press Ctrl-C."""
