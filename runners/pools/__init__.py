"""Pools: they run one benchmark job after another, with one or several producers.

`LocalPool` runs them in this process. `RayPool` runs them in Ray workers, which are on this host or on a Ray cluster.
"""
