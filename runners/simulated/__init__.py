"""Clusters that are computed and never measured: for rehearsals of a study, for tests and for comparing samplers.

`SimulatedRunner` computes a measurement with `model`. Problems whose best configs are known are in
`benchmarks/problems`.
"""

from runners.simulated.simulated_runner import SimulatedRunner

__all__ = ["SimulatedRunner"]
