"""Texts of study files: to start from, of what command-line options ask for, and of a measurement done again."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from tuner.study_file.errors import Problems
from tuner.study_file.strict_yaml import escaped, read_yaml, scalar

STARTER_TEXT: Final = """\
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
"""It loads as it stands, and means what a file with nothing but `record_bytes` means."""


class _Dumper(yaml.SafeDumper):
    """Quotes every text that `strict_yaml` would take for something else."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=None if scalar(value) == value else '"')


_Dumper.add_representer(str, _represent_text)


def study_text(sections: Mapping[str, Any]) -> str:
    """The text of a study file with these sections; `parse_study` reads it, and checks it.

    Args:
        sections: As the file has them; what is None or empty is left out. Paths are written as absolute ones,
            as the text has no folder. Nothing in a text is a reference: `${` is written so that it reads back so.
    """
    return _dumped(_given(sections))


def same_measurement(text: str, name: str, record_bytes: Sequence[str]) -> str:
    """The text of a study that measures as the one given does, under another name, and has nothing to search.

    Args:
        text: Of a study file that reads without errors.
        name: Of the new study.
        record_bytes: Its sizes and mixes.
    """
    value = read_yaml(text, Problems(name))
    assert isinstance(value, dict)
    workload = value["workload"]
    assert isinstance(workload, dict)
    sections = {**value, "study": {"name": name}, "workload": {**workload, "record_bytes": [*map(_size, record_bytes)]}}
    search = value.get("search")
    burn_in = {k: v for k, v in search.items() if k == "burn_in_max"} if isinstance(search, dict) else {}
    sections["search"] = {"trials": 1, **burn_in}
    sections.pop("confirm", None)
    return _dumped(sections)


def sizes_in(text: str) -> list[int | str]:
    """Record sizes with commas between, or one mix, as a study file has them."""
    return [_size(text)] if ":" in text else [_size(size.strip()) for size in text.split(",")]


def _size(text: str) -> int | str:
    value = scalar(text)
    return value if isinstance(value, int) else text


def _dumped(sections: Any) -> str:
    return yaml.dump(sections, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10_000)


def _given(value: Any) -> Any:
    """Without keys that hold nothing; texts escaped."""
    match value:
        case str():
            return escaped(value)
        case Path():
            return escaped(str(value.absolute()))
        case Mapping():
            inner = {key: _given(each) for key, each in value.items()}
            return {key: each for key, each in inner.items() if each not in (None, {}, [])}
        case list():
            return [_given(each) for each in value]
        case _:
            return value
