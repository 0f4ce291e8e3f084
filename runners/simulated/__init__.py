"""Clusters that are computed rather than measured: for rehearsing a study, for tests and for comparing samplers.

`SimulatedRunner` computes a measurement with `model`. Simulated problems whose best configs are known are in
`benchmarks/problems`.
"""

from runners.simulated.simulated_runner import SimulatedRunner

__all__ = ["SimulatedRunner"]
