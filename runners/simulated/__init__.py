"""Simulated measurements with noise, for rehearsing a study, for tests and for comparing samplers.

`SimulatedRunner` computes measurements with the performance model (`runners.performance_model`). `benchmarks/problems`
has simulated problems whose best configs are known.
"""

from runners.simulated.simulated_runner import SimulatedRunner

__all__ = ["SimulatedRunner"]
