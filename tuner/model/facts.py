"""The facts of a study: the values that the results store keeps about the study as a whole, beside its trials.

Each fact is stored under one of these names (`ResultsStore.set_fact`). Studies of earlier releases are stored with
these names, so the names must not change.
"""

from typing import Final

# The study and its settings.
STUDY_ID: Final = "study_id"
"""An id that no other study has; it marks the study's runs in MLflow."""
NAME: Final = "name"
"""The name of the study."""
TARGET: Final = "target"
"""The targets in words, for people."""
RECORD_SIZES: Final = "record_sizes"
"""All record sizes and mixes that the study has had so far."""
OBJECTIVES: Final = "objectives"
"""The metrics that are optimised."""
CONSTRAINTS: Final = "constraints"
"""The constraints, as in the study file."""
ALLOWED_LOSS: Final = "allow_loss"
"""How much a balanced config may lose in an objective, as a share (`confirm.allow_loss`)."""
METHOD: Final = "method"
"""The search method, or the sampler of the user's own."""
SEED: Final = "seed"
"""The seed of the search."""
TRIALS_PER_SIZE: Final = "trials_per_size"
"""The number of trials that the study file asks for; None if only time or bytes limit the search."""
TRACKING: Final = "tracking"
"""Where MLflow is: `uri` (without a password), `experiment` and `enabled`."""
IDENTITY: Final = "question"
"""Every setting that trials depend on (`tuner.model.identity.study_identity`). A resumed study must have the same."""
LIMITS: Final = "limits"
"""The settings that may change when the study is continued, such as its limits."""

# The progress of the study.
STARTED_AT: Final = "started_at"
"""When the study began, ISO 8601."""
FINISHED_AT: Final = "finished_at"
"""When the study ended, ISO 8601; None before its end."""
DEADLINE: Final = "deadline"
"""The value of `search.until`, and the moment that followed from it when the study began."""
TOTALS: Final = "totals"
"""How many trials the search of each record size will have."""
RATES: Final = "rates"
"""By record size, the rate of the paced phase, in records per second."""
RESERVED_BYTES: Final = "reserved_bytes"
"""The bytes that are reserved for running trials."""
KEPT_FOR_ROUNDS: Final = "kept_for_rounds_s"
"""By record size, how many seconds the search leaves for rounds that are spread over hours."""
BASELINE_IN_GRID: Final = "baseline_in_grid"
"""By record size, whether the baseline is a config of the grid.

The search does not propose such a baseline, because the baseline has trials of its own.
"""

# The state of the confirmation.
CONFIRMING: Final = "confirming"
"""By record size, the `ConfirmationPlan`s, the oldest first."""
CONFIRMATIONS: Final = "confirm_sessions"
"""How often the study was searched and confirmed, and whether a `tuner confirm` has not ended yet."""
ROUND_STARTED: Final = "round_started"
"""By record size, the number and the start of the newest round. It is kept only if there are pauses between rounds."""

# The environment in which the study was measured.
LOADS_RUN_ON: Final = "loads_run_on"
"""Where the loads run: this host, or the nodes of a Ray cluster. Older releases did not store it."""
CLIENT_VERSION: Final = "client_version"
"""Name and version of each client library that is measured; `simulated` if a model computes the results."""
BROKER_VERSION: Final = "broker_version"
"""The version of the brokers that we started; `unknown` for others."""
HOST: Final = "host"
"""Processor, cores, memory, system and Python of this host."""
CLUSTER: Final = "cluster"
"""Kind, id and number of brokers of the first target's cluster."""
MACHINE: Final = "machine"
"""Name and id of this host."""
CLUSTER_IDS: Final = "cluster_ids"
"""The id of each target's cluster; None for those without a lasting id."""
TOPIC_MAX_MESSAGE_BYTES: Final = "topic_max_message_bytes"
"""The largest batch that the topic takes, which bounds the search space."""
TOPIC_SHAPE: Final = "topic_shape"
"""The `partitions` and the `replication` of the topics that are written to.

With `target.topic` and `target.like`, they are not those of the study file. Older releases did not store them.
"""
MIXED: Final = "mixed"
"""How the host, the client or the cluster changed between trials, as sentences."""

EXPERIMENT: Final = "experiment"
"""True if the results are those of an experiment; missing for a study."""
FOUND_CONFIGS: Final = "found_configs"
"""For each row of an experiment that is measured with the result of a search: its name, and the config."""

# The origin of the study, and its copy in MLflow.
FORKED_FROM: Final = "forked_from"
"""The study whose trials this study has taken over, and the number of these trials."""
VERIFICATION: Final = "verification"
"""The judgement of a verification as JSON and as text, if the service made this study to verify a file."""
MLFLOW_EXPERIMENT: Final = "default_experiment"
"""The MLflow experiment of the study if the study file names none."""
IN_MLFLOW: Final = "in_mlflow"
"""Where MLflow holds the study: `experiment_id`, and `views`, whether the experiment has the prepared views."""
