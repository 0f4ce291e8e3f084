"""Clusters that are computed or replayed, never measured: for tests, rehearsals and the comparison of samplers.

`SimulatedRunner` computes a measurement with `model`, `truth` says what it would be without noise, `front` which
configs are best of all, and `table` replays numbers that somebody measured.
"""

from runners.simulated.runner import SimulatedRunner

__all__ = ["SimulatedRunner"]
