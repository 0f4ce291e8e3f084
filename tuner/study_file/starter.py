"""The study file that `tuner init` writes."""

import json
import re
import shlex
from pathlib import Path
from typing import Final

from tuner.model.study_files import RESERVED_NAMES
from tuner.study_file.sections import STUDY_NAME
from tuner.study_file.strict_yaml import escaped

_FILE: Final = "study.yaml"
STARTER_TEXT: Final = """\
# A study of Kafka producer configs. Run it with    tuner run study.yaml
# `record_bytes` is yours to set; all other settings below are the defaults. A `#` directly before a key marks an
# optional setting: remove the `#` to use it. Write durations as 30s, 5m or 2h, and sizes as 64KiB or 50GB.
# ${NAME} and ${NAME:-default} in a text are replaced by environment variables; write $${ for the characters ${.
schema_version: 1

# The name of the study and of its folder. Default: the name of this file.
#study: {name: orders}

# The cluster to measure on. Without an address, a real Kafka broker is started on this machine.
target:
  brokers: 1                    # how many brokers to start
#  container: apache/kafka:4.1.0 # start one in a container instead; leave `brokers` out then
# To measure on your cluster, replace the section above. The study creates its own topics there, and deletes them again.
#target: {bootstrap: "kafka1:9092,kafka2:9092", properties: {security.protocol: ssl}, like: orders}
# Other keys for your cluster: `command_config` names a properties file with the connection settings, relative to this
# file. `like` names one of your topics, whose partitions and settings the new topics get. `topic` names one of your
# topics to write to instead; it is never deleted. Write secrets as "${KAFKA_PASSWORD}".
# With several equal clusters, each measures one trial at a time:
#targets: [{bootstrap: "kafka1:9092"}, {bootstrap: "kafka2:9092"}]

# The records that are written.
workload:
  record_bytes: [100, 1000]     # each size has its own search; write a mix as "100:70,1000:30" (size:weight)
  key_bytes: 0                  # 0 sends no keys
# With keys, `different_keys: 10000` says how many there are, and `most_frequent_key_ratio: 0.05` which share of the
# records has the most frequent one.
  compressibility_ratio: 0.5    # share of each value that compression can remove; 0 sends random bytes
  partitions: 3                 # of the topics that the study creates
  replication: 1                # of the topics that the study creates
  producers: 1                  # how many write at the same time
  consumers: 0                  # how many read at the same time, for the metrics end_to_end_... and consumer_...
  saturate:                     # the saturating phase: as fast as the client takes records, for throughput
    warmup: 3s                  # load before the measurement
    measured: 10s
  paced:                        # the paced phase: at a fixed rate, the same for all configs, for latency
    warmup: 2s
    measured: 10s
    rate_ratio: 0.3             # the rate is this share of the baseline's throughput
# To give the rate itself, write `paced: {rate_records_per_s: 20000}` instead. With `peak_ratio: 3`, half of the records
# leave in bursts of about a second, at three times the rate.
  seed: 0                       # of the random bytes in the records

# The client that is searched and measured: librdkafka (C, Python, Go, .NET, Node.js ...) or Kafka's Java producer.
client: librdkafka              # or java, or {kind: java, version: "3.9.1"}

# The config that you have today. Every config is compared with it. Default: the client's defaults.
#baseline: producer.properties  # of librdkafka or of Java; `baseline_client: java` if the file itself does not show it
#baseline: {acks: all, linger.ms: 5}

# A knob is a property that the search changes. Each has a range that suits the record size. To set the ranges yourself:
#space: {linger.ms: {low: 0.1, high: 50, log: true}, compression.type: {choices: [none, lz4, zstd]}, batch.size: off}
# A single value fixes a knob, `off` keeps the baseline's value, `on` searches the default range, and `steps: 5` in a
# range is the number of its values in a grid. The method `bayesian` searches some knobs only after a number of trials,
# as `tuner plan` shows; knobs that are named here are searched from the beginning.

# The weakest guarantee that a config may give: baseline (no weaker than the baseline's), any, leader (acks=1),
# all (acks=all), ordered (all, and records keep their order) or idempotent (ordered, and no duplicates).
durability: baseline

# What to optimise: balanced (throughput and latency), throughput, latency (with at least 0.9 of the baseline's
# throughput), or a list of metrics such as [mb_per_s, latency_p95_ms]. A p95 is the better choice on a machine that
# sometimes stalls: a few stalls decide the p99 of any config. The goal latency uses the latency metric of this list.
objectives: balanced

# Constraints that a recommended config must meet.
#constraints: ["latency_p99_ms <= 10", "mb_per_s >= 0.9 x baseline"]

# How configs are proposed, and how long the search runs. It ends at the first of its limits.
search:
  method: bayesian              # bayesian, tpe, gp, nsga2, random, quasi-random or grid
  trials: 60                    # per record size; leave it out (or null) with another limit, or to measure a whole grid
#  hours: 8                      # of the whole study
#  until: "07:00"                # local time by which the study normally ends
#  max_bytes: 2TB                # record values and keys that the whole study may send
  seed: 0
  startup_trials: 10            # trials before the method uses what it has learnt (bayesian: at most 3)
  baseline_every: 10            # the baseline is measured again after this many trials, to notice drift of the cluster
  burn_in_max: 4                # limit on the baseline runs in one burn-in, which ends earlier if they show no trend
  grid_steps: 3                 # values per knob of a grid
  repeats: 1                    # measurements of each config of a grid
  transfer: true                # begin with the best configs of the previous record sizes
  performance_model: true       # bayesian begins with what a model of client and cluster expects, and learns its errors
#  racing: off                   # by default, a trial that will probably not reach the front is stopped

# After the search, the winners are measured in rounds, alternating with the baseline. Only these gains are claimed.
confirm:
  rounds: 8                     # at least; 0 means no confirmation, and no gain is claimed
  max_rounds: 20                # at most, where the confidence interval of a gain is still too wide
  width_ratio: 0.1              # the interval is narrow enough at this width, relative to the gain
  undo_rounds: 2                # rounds that show what each change of a proven winner brings; 0 for none
  goals: [throughput, latency, balanced]
  allow_loss: 0.1               # what a balanced config may give up in one objective to gain more in another
#  new_broker: each round        # or never: brokers that the tuner starts are started again for each round
#  spread_over: 6h               # rounds are spread over this time; by default on your cluster over a part of hours

# The copy of the study in MLflow.
tracking:
  enabled: true
#  uri: http://mlflow:5000       # default: MLFLOW_TRACKING_URI, or else a database file in the studies folder
#  experiment: orders            # default: a name made of the target

# Limits that protect the target.
safety:
  max_bytes_per_trial: 50GB
  min_free_disk: 5GB            # on the disks of brokers on this machine
  max_failures_in_a_row: 5      # the study stops after this many trials in a row without a measurement
  broker_wait: 5m               # how long to wait for a broker that was lost

# Where the benchmarks run.
executor:
  kind: ray                     # ray (worker processes), local (without Ray) or simulated (no Kafka, to try a study)
#  ray_address: head:6379        # your Ray cluster; by default Ray is started on this machine
"""
"""The study file of `tuner init`. It can be run unchanged, and does what a file with only `record_bytes` does."""
_NAME: Final = "#study: {name: orders}\n"
_OWN_BROKER: Final = STARTER_TEXT[STARTER_TEXT.index("target:\n") : STARTER_TEXT.index("# Other keys for your cluster")]


def name_line(file: str) -> str:
    """Return the line that names the study, if the name of the file is not a valid study name; otherwise empty."""
    name = Path(file).stem
    try:
        STUDY_NAME.read(name)
    except ValueError:
        fitting = re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-._")[:100]
        return f"study: {json.dumps('study' if fitting.lower() in ('', *RESERVED_NAMES) else fitting)}\n"
    return ""


def starter_text(bootstrap: str | None = None, file: str = _FILE) -> str:
    """Return the study file of `tuner init`.

    Args:
        bootstrap: Addresses of the cluster to measure on; None for a broker that is started on this machine.
        file: The name of the file to which the text will be written.
    """
    text = STARTER_TEXT.replace(f"tuner run {_FILE}", f"tuner run {shlex.quote(file)}")
    text = text.replace(_NAME, name_line(file) or _NAME)
    if bootstrap is None:
        return text
    target = f"target:\n  bootstrap: {json.dumps(escaped(bootstrap))}\n#  properties: {{security.protocol: ssl}}\n"
    return text.replace(_OWN_BROKER, target)
