"""Reads the kernel's counters of processes and connections during a measurement: CPU use, waiting times and bytes."""
