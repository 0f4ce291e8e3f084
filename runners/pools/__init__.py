"""Pools: they run one benchmark job after another, with one or several producers.

`LocalPool` runs them in this process, and `RayPool` in Ray workers, on this host or on a Ray cluster.
"""
