"""How one producer config is measured: workload, payload, load generators, clusters, measurement.

Knows nothing of what is good or bad.
"""
