"""A model of producer and cluster in closed form: what a config does under a load, without measuring it.

`ClusterConstants` holds what a record, a byte and a request cost. `performance` computes throughput, latency and
resource use from them, for a config under a workload.
"""

from runners.performance_model.constants import ClusterConstants
from runners.performance_model.performance import Performance, performance

__all__ = ["ClusterConstants", "Performance", "performance"]
