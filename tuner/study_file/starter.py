"""The study file that `tuner init` writes: every section with its defaults, units and choices."""

from typing import Final

_TEXT: Final = """\
# A study of Kafka producer configs. Run it:    tuner run study.yaml
# What stands here are the defaults; only `workload: record_bytes` must be there. A line that begins with `#` and no
# blank is an option: take the # away to use it. Durations read 30s, 5m, 2h; sizes 64KiB, 50GB; ratios go from 0 to 1.
# ${NAME} and ${NAME:-default} take texts from environment variables; $${ stands for the characters ${.
schema_version: 1

# Names the study's folder and its runs. The file's name when left out.
#study: {name: orders}

# The cluster to measure on. Without an address, a real Kafka broker is started on this machine.
target:
  brokers: 1                    # how many to start
#  container: apache/kafka:4.1.0 # start it in a container instead (without `brokers`)
# A cluster of yours, in place of the section above. We write to topics of our own there and delete them.
#target: {bootstrap: "kafka1:9092,kafka2:9092", properties: {security.protocol: ssl}, like: orders}
# Its other keys: command_config (a properties file with how to connect, relative to this file), topic (a topic of yours
# to write to, never deleted) or like (a topic of yours whose settings ours copy). Secrets only as "${KAFKA_PASSWORD}".
# Several equal clusters measure one trial each at a time:
#targets: [{bootstrap: "kafka1:9092"}, {bootstrap: "kafka2:9092"}]

# What is written.
workload:
  record_bytes: [100, 1000]     # one search each; a mix is "100:70,1000:30" (size:weight)
  key_bytes: 0                  # 0 sends no keys
  compressibility_ratio: 0.5    # share of each value that compresses away; 0 is random bytes
  partitions: 3                 # of our topics
  replication: 1                # of our topics
  producers: 1                  # that write at once
  saturate:                     # as fast as acknowledgements allow: throughput comes from here
    warmup: 3s                  # load before anything counts
    measured: 10s
  paced:                        # at one rate for all configs: latency comes from here
    warmup: 2s
    measured: 10s
    rate_ratio: 0.3             # of the baseline's throughput
# A fixed rate in place of a share: `paced: {rate_records_per_s: 20000}`.
  seed: 0                       # of the payload

# What everything is compared with: what you run today. The client's defaults when left out.
#baseline: producer.properties
#baseline: {acks: all, linger.ms: 5}

# The knobs are searched in ranges that suit the record size. Here you change some of them.
#space: {linger.ms: {low: 0.1, high: 50, log: true}, compression.type: {choices: [none, lz4, zstd]}, batch.size: off}
# Also: one value fixes a knob, `off` leaves it as the baseline has it, `on` searches it, steps: 5 is for grids.
# `bayesian` searches what is named here from the beginning, and of the rest some knobs later: `tuner plan` says which.

# The least guarantee a config may give:
#   baseline (no less than yours), any, leader (acks=1), all (acks=all), ordered, idempotent
durability: baseline

# balanced (throughput and latency), throughput, latency (with nine tenths of the baseline's throughput at least),
# or a list of metrics, such as [mb_per_s, latency_p95_ms]: where stalls of the machine hit a few windows, they decide
# a p99 whatever the config, and a p95 not. The goal latency is about the latency that is named here.
objectives: balanced

# Bounds that a recommended config keeps.
#constraints: ["latency_p99_ms <= 10", "mb_per_s >= 0.9 x baseline"]

# How configs are proposed. Whichever limit comes first ends the study.
search:
  method: bayesian              # bayesian, tpe, gp, nsga2, random, quasi-random or grid
  trials: 60                    # per record size; left out or null beside hours, until or max_bytes: as these allow
#  hours: 8                      # of the whole study
#  until: "07:00"                # local time at which no new trial starts
#  max_bytes: 2TB                # of values, in the whole study
  seed: 0
  startup_trials: 10            # random ones, before a model is used
  baseline_every: 10            # the baseline is measured again after so many trials, to see drift
  burn_in_max: 4                # baselines ahead of the first trial, at most, until two agree; latency, winners too
  grid_steps: 3                 # values per knob, of a grid
  transfer: true                # each record size starts with the best configs of those before it
  racing: on                    # a trial is stopped early once it is sure not to come to anything; off does without

# Winners are measured again, in turn with the baseline; only what is better with certainty is recommended.
confirm:
  rounds: 8                     # in any case; 0 does without, and then no gain is claimed
  max_rounds: 20                # where the gain is not yet known to within width_ratio
  width_ratio: 0.1              # an interval as narrow as a tenth of the gain is narrow enough
  ablation_rounds: 2            # what each change of a proven winner brings; 0 does without
  goals: [throughput, latency, balanced]

# MLflow's mirror of the study.
tracking:
  enabled: true
#  uri: http://mlflow:5000       # MLFLOW_TRACKING_URI, or a file beside the studies, when left out
#  experiment: orders            # made of the target when left out

# What protects the target.
safety:
  max_bytes_per_trial: 50GB
  min_free_disk: 5GB            # of brokers on this machine
  max_failures_in_a_row: 5
  broker_wait: 5m               # how long a lost broker is waited for

# Where benchmarks run.
executor:
  kind: ray                     # ray, local (in this process) or simulated (no Kafka: tries a study out)
#  ray_address: head:6379
"""


def starter_text() -> str:
    """The text; it loads as it stands, and means what a file with nothing but `record_bytes` means."""
    return _TEXT
