"""Everything that measures one producer config: workloads, payload, load generators, clusters and measurements.

This package only measures. `objectives` decides which measurement is the better one.
"""
