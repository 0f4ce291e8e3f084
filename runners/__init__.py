"""The code that measures one producer config: workloads, payload, load generators, clusters and measurements.

This package only measures. `objectives` decides which of two measurements is better.
"""
