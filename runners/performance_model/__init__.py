"""A model of producer and cluster in closed form: what a config does under a load, without measuring it.

`ClusterConstants` holds what a record, a byte and a request cost. `performance` computes throughput, latency and
resource use from them, for a config under a workload. The modules:

- `constants`: the constants, and their values for two hosts;
- `settings`: the values of a config that the model uses;
- `columns`: the numbers of many constants, settings or workloads as arrays, because one computation for all of them
  is faster;
- `smoothing`: minimum and maximum without a kink;
- `full_batches`: how many records a full batch has, and how full the batches of the Java client are;
- `stages`: how many records a batch has, and what a record costs in each stage;
- `performance`: throughput, latency and resource use.
"""

from runners.performance_model.constants import ClusterConstants
from runners.performance_model.performance import Performance, performance

__all__ = ["ClusterConstants", "Performance", "performance"]
