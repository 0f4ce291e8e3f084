"""The sections of a study file and their keys, as pydantic models that become the JSON Schema.

The docstrings of sections and keys become the descriptions in the JSON Schema, so they are written for users. The
defaults come from `tuner.model.spec`. A section without keys gets the defaults of all its keys.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from objectives.scoring import Constraint
from runners.pools.ray_cluster import DEFAULT_WAIT_S, Code
from runners.quantities import SECONDS_PER_DAY
from runners.workload import (
    MAX_RECORD_BYTES,
    MOST_CONSUMERS,
    MOST_KEYS,
    MOST_PARTITIONS,
    MOST_PEAK_RATIO,
    MOST_PRODUCERS,
    MOST_RATE_RECORDS_PER_S,
    MOST_REPLICAS,
    RecordSizes,
)
from runners.zones.link import MAX_DELAY_MS
from search_spaces.client import Client, librdkafka
from search_spaces.configs.guarantee import DURABILITY
from search_spaces.files.producer_file import FileClient
from search_spaces.properties.catalogue import Value
from search_spaces.space.parameters import KnobChange
from tuner.model.goals import PRESETS, Goal
from tuner.model.spec import (
    ConfirmSpec,
    Executor,
    Method,
    NewBroker,
    PhaseSpec,
    SafetySpec,
    SearchSpec,
    TrackingSpec,
    WorkloadSpec,
)
from tuner.model.study_files import RESERVED_NAMES
from tuner.model.target import MOST_BROKERS, TOPIC_PATTERN, TOPIC_RULE
from tuner.study_file import fields
from tuner.study_file.errors import refused
from tuner.study_file.objectives import ObjectivesOfKey, constraint, goal_or_metrics
from tuner.study_file.properties import connection_properties, knob_changes, producer_properties, study_client

_WORKLOAD: Final = WorkloadSpec(())
_SEARCH: Final = SearchSpec()
_CONFIRM: Final = ConfirmSpec()
_TRACKING: Final = TrackingSpec()
_SAFETY: Final = SafetySpec()

_MOST_BYTES: Final = 10**18
_LARGEST_SEED: Final = 2**32 - 1
NAME_RULE: Final = (
    "a name must consist of letters, digits, -, _ and ., begin with a letter or digit, and have at most 100 characters"
)
_RESERVED_RULE: Final = (
    f"a study must not have the name of another file beside the studies ({', '.join(sorted(RESERVED_NAMES))})"
)

NAME: Final = fields.text(NAME_RULE, r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


def _study_name(value: object) -> object:
    name = NAME.read(value)
    if str(name).lower() in RESERVED_NAMES:
        raise refused(_RESERVED_RULE)
    return name


STUDY_NAME: Final = fields.ValueReader(_study_name, NAME.schema)

Name = Annotated[str, STUDY_NAME]
Zone = Annotated[
    str, fields.text("a zone must consist of letters, digits, -, _ and .", r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
]
Text = Annotated[str, fields.text()]
Topic = Annotated[str, fields.text(TOPIC_RULE, TOPIC_PATTERN)]
Sizes = Annotated[RecordSizes, fields.record_sizes()]
Duration = Annotated[float, fields.seconds(0, SECONDS_PER_DAY)]
Measured = Annotated[float, fields.seconds(0, SECONDS_PER_DAY, above=True)]
Bytes = Annotated[int, fields.size(1, _MOST_BYTES)]
Seed = Annotated[int, fields.whole(0, _LARGEST_SEED)]
Flag = Annotated[bool, fields.flag()]


def _as_list(value: object) -> object:
    return value if isinstance(value, list) or value is None else [value]


def _as_zones(value: object) -> object:
    """Return a list of zones, which may be written as a text such as `a` or `a, b`."""
    return _as_list([each.strip() for each in value.split(",")] if isinstance(value, str) else value)


def _or_one(schema: dict[str, Any]) -> None:
    """Change the JSON Schema of a list so that it also accepts a single item without brackets."""
    several = {name: schema.pop(name) for name in ("type", "items", "minItems", "maxItems")}
    schema["anyOf"] = [several, several["items"]]


Zones = Annotated[
    list[Zone], BeforeValidator(_as_zones), Field(min_length=1, max_length=100, json_schema_extra=_or_one)
]


class Section(BaseModel):
    """Base class of all sections of a study file. The fields of a section are its keys."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        use_attribute_docstrings=True,
        hide_input_in_errors=True,
        json_schema_extra={"type": ["object", "null"]},
    )

    @model_validator(mode="before")
    @classmethod
    def _nothing_is_empty(cls, value: object) -> object:
        return {} if value is None else value


class StudySection(Section):
    """The name of the study, as a text or under the key name."""

    model_config = ConfigDict(json_schema_extra={"type": ["object", "string", "null"]})

    @model_validator(mode="before")
    @classmethod
    def _text_is_the_name(cls, value: object) -> object:
        return value if isinstance(value, Mapping) or value is None else {"name": value}

    name: Name | None = None
    """Name of the study, of its folder and of its runs in MLflow. Default: the name of the study file."""


class TargetSection(Section):
    """The Kafka cluster to measure on. Without bootstrap, real brokers are started on this machine."""

    bootstrap: Annotated[str, fields.addresses()] | None = None
    """Address of your cluster: host:port or host:port,host:port."""
    command_config: Text | None = None
    """Path of a properties file with the connection settings of your cluster, relative to the study file."""
    properties: Annotated[Mapping[str, Value], connection_properties()] = Field(default_factory=dict, repr=False)
    """Connection settings of your cluster. They override those of command_config. Write secrets as ${NAME}."""
    container: Text | None = None
    """Container image to start the broker from, such as apache/kafka:4.1.0."""
    brokers: Annotated[int, fields.whole(1, MOST_BROKERS)] | None = None
    """Number of brokers to start on this machine. Default: 1."""
    topic: Topic | None = None
    """Topic of yours to write to; it keeps its records and is never deleted. Default: each trial gets a new topic."""
    like: Topic | None = None
    """Topic of yours whose partitions, replication and settings the new topics get."""
    zone_delay: Annotated[float, fields.seconds(0, MAX_DELAY_MS / 1e3)] | None = None
    """Delay of each direction between clients and brokers that the tuner starts, such as 2ms: as in another zone."""
    zone_bandwidth: Annotated[int, fields.size(10_000, _MOST_BYTES)] | None = None
    """Bytes per second of each direction between the clients and brokers that the tuner starts, such as 50MB."""


class PhaseSection(Section):
    """The saturating phase, which measures throughput: records are sent as fast as the client takes them."""

    warmup: Duration = _WORKLOAD.saturate.warmup_s
    """Duration of the load before the measurement, in seconds or as a text such as 3s."""
    measured: Measured = _WORKLOAD.saturate.measured_s
    """Duration of the load that is measured, in seconds or as a text such as 10s."""

    def spec(self) -> PhaseSpec:
        """Return the phase as a part of a `StudySpec`."""
        return PhaseSpec(self.warmup, self.measured)


PeakRatio = Annotated[float, fields.number(1, MOST_PEAK_RATIO)]


class PacedSection(PhaseSection):
    """The paced phase, which measures latency: records are sent at a fixed rate, the same for all configs."""

    warmup: Duration = _WORKLOAD.paced.warmup_s
    """Duration of the load before the measurement, in seconds or as a text such as 2s."""
    measured: Measured = _WORKLOAD.paced.measured_s
    """Duration of the load that is measured, in seconds or as a text such as 10s."""
    rate_records_per_s: Annotated[float, fields.number(0, MOST_RATE_RECORDS_PER_S, above=True)] | None = None
    """The fixed rate in records per second, of all producers together. Default: see rate_ratio."""
    rate_ratio: Annotated[float, fields.number(0, 1, above=True)] = _WORKLOAD.rate_ratio
    """The fixed rate as a share of the baseline's throughput: above 0, at most 1. Used without rate_records_per_s."""
    peak_ratio: PeakRatio = _WORKLOAD.peak_ratio
    """Rate of the bursts, as a multiple of the rate. Half of the records leave in bursts of about a second. 1: none."""


class RecordsSection(Section):
    """The keys about records that study files and experiment files share."""

    # Declared here only so that it stays the first key: the two kinds of files read it differently.
    record_bytes: object
    key_bytes: Annotated[int, fields.size(0, MAX_RECORD_BYTES)] = _WORKLOAD.key_bytes
    """Bytes of a record's key. 0 sends no keys."""
    different_keys: Annotated[int, fields.whole(1, MOST_KEYS)] | None = _WORKLOAD.different_keys
    """Number of different keys. Without it, nearly all keys differ."""
    most_frequent_key_ratio: Annotated[float, fields.number(0, 1, below=True)] = _WORKLOAD.most_frequent_key_ratio
    """Share of the records with the most frequent key; the others follow as in Zipf's law. 0: all are as frequent."""


class WorkloadSection(RecordsSection):
    """The records that are written."""

    record_bytes: Annotated[
        list[Sizes], BeforeValidator(_as_list), Field(min_length=1, max_length=100, json_schema_extra=_or_one)
    ]
    """Bytes of a record's value (1000, 64KiB), or a mix like "100:70,1000:30" (size:weight). A search runs for each."""
    compressibility_ratio: Annotated[float, fields.number(0, 1, below=True)] = _WORKLOAD.compressibility_ratio
    """Share of each value that compression can remove. 0 sends random bytes."""
    partitions: Annotated[int, fields.whole(1, MOST_PARTITIONS)] = _WORKLOAD.partitions
    """Partitions of the topics that the study creates."""
    replication: Annotated[int, fields.whole(1, MOST_REPLICAS)] = _WORKLOAD.replication
    """Replicas of each partition of the topics that the study creates."""
    producers: Annotated[int, fields.whole(1, MOST_PRODUCERS)] = _WORKLOAD.producers
    """Number of producers that write at the same time."""
    consumers: Annotated[int, fields.whole(0, MOST_CONSUMERS)] = _WORKLOAD.consumers
    """Number of consumers that read the topic while it is written, for the metrics end_to_end_... and consumer_..."""
    saturate: PhaseSection = PhaseSection()
    paced: PacedSection = PacedSection()
    seed: Seed = _WORKLOAD.seed
    """Seed of the random bytes in the records."""


class SearchSection(Section):
    """How configs are proposed, and when the search ends: at the first of its limits."""

    method: Annotated[Method, fields.one_of(Method)] = _SEARCH.method
    """The method that proposes configs."""
    trials: Annotated[int, fields.whole(1, 1_000_000)] | None = _SEARCH.trials
    """Trials per record size, baselines and failed ones included. With another limit or a grid, there is no default."""
    hours: Annotated[float, fields.number(0, 10_000, above=True)] | None = _SEARCH.hours
    """Hours within which the study normally ends, confirmation included. Time before an interruption counts, too."""
    until: Annotated[str, fields.clock()] | None = _SEARCH.until
    """Local time of day by which the study normally ends. No trial of the search starts after it."""
    max_bytes: Bytes | None = _SEARCH.max_bytes
    """Bytes of record values and keys that the whole study may send.

    If the process was killed during a trial, all that the trial was allowed to send counts: 10 times the largest recent
    trial, at most a quarter of what is left, but never below 4 times that trial or 1 GB.
    """
    seed: Seed = _SEARCH.seed
    """Seed of the method that proposes configs."""
    startup_trials: Annotated[int, fields.whole(0, 1_000_000)] = _SEARCH.startup_trials
    """Trials before the method uses what it has learnt: the starting points, and then random configs.

    The method bayesian needs at most 3 such trials, and with the performance model only the baseline.
    """
    baseline_every: Annotated[int, fields.whole(1, 1_000_000)] = _SEARCH.baseline_every
    """The baseline is measured again after this many trials, to notice whether the cluster drifts."""
    burn_in_max: Annotated[int, fields.whole(0, 1000)] = _SEARCH.burn_in_max
    """Largest number of baseline runs in a burn-in. It ends earlier if the runs show no trend. 0 means 1.

    There is one more run if latencies are objectives, and a second burn-in if the fixed rate changes.
    """
    grid_steps: Annotated[int, fields.whole(2, 1000)] = _SEARCH.grid_steps
    """Number of values per knob in a grid search, for knobs without steps in the section space."""
    repeats: Annotated[int, fields.whole(1, 1000)] = _SEARCH.repeats
    """Number of times that a grid search measures each config."""
    transfer: Flag = _SEARCH.transfer
    """Whether the search of a record size begins with the best configs of the previous record sizes."""
    performance_model: Flag = _SEARCH.performance_model
    """Whether the method bayesian begins with what the performance model expects of configs."""
    racing: Annotated[bool, fields.switch()] | None = _SEARCH.racing
    """Whether a trial is stopped early if it will probably not reach the front or meet a constraint (95 % intervals).

    Default: on, but off in a grid search.
    """


def _formerly(name: str, former: str) -> Any:
    """Return the annotation of a key that older study files have under a former name."""
    return Field(validation_alias=AliasChoices(name, former))


class ConfirmSection(Section):
    """The confirmation, which measures the winners of the search again, alternating with the baseline."""

    rounds: Annotated[int, fields.whole(0, 1000)] = _CONFIRM.rounds
    """Minimum number of rounds. Each measures the baseline and the winners once. 0: no confirmation.

    If you set only max_rounds, and to less than the default, the minimum is as low.
    """
    max_rounds: Annotated[int, fields.whole(0, 1000)] = _CONFIRM.max_rounds
    """Maximum number of rounds. Winners get more than the minimum while the interval of their gain is too wide."""
    width_ratio: Annotated[float, fields.number(0, 10, above=True)] = _CONFIRM.width_ratio
    """Width of a gain's confidence interval, relative to the gain, at which no more rounds are needed."""
    nominees: Annotated[int, fields.whole(1, 100)] = _CONFIRM.nominees
    """Number of best configs per goal that are measured again after the search, because the best may just be lucky."""
    nominee_repeats: Annotated[int, fields.whole(0, 100), _formerly("nominee_repeats", "looks")] = (
        _CONFIRM.nominee_repeats
    )
    """Number of times that each of the best configs (see nominees) is measured again before the winner is chosen."""
    undo_rounds: Annotated[int, fields.whole(0, 100), _formerly("undo_rounds", "ablation_rounds")] = (
        _CONFIRM.undo_rounds
    )
    """Rounds that measure a proven winner with one knob at a time set back to the baseline's value."""
    goals: Annotated[list[Annotated[Goal, fields.one_of(Goal)]], Field(min_length=1, max_length=len(Goal))] = list(
        _CONFIRM.goals
    )
    """The goals for which a winner is confirmed."""
    allow_loss: Annotated[float, fields.number(0, 1)] = _CONFIRM.allow_loss
    """How much a balanced config may lose in any objective, such as the throughput: 0.1 is 10 %."""
    new_broker: Annotated[NewBroker, fields.one_of(NewBroker)] | None = _CONFIRM.new_broker
    """Whether each round gets new brokers, as speed differs between starts. With bootstrap, the default is never."""
    spread_over: Duration | None = _CONFIRM.spread_over_s
    """Time over which rounds are spread (6h), or 0 for none. On your cluster, the default is a part of search.hours."""


class TrackingSection(Section):
    """The copy of the study in MLflow."""

    uri: Text | None = Field(default=_TRACKING.uri, repr=False)
    """Address of MLflow. Default: MLFLOW_TRACKING_URI, or else a database file in the studies folder."""
    experiment: Text | None = _TRACKING.experiment
    """Name of the MLflow experiment. Default: a name made of the target."""
    enabled: Flag = _TRACKING.enabled
    """Whether the study is written to MLflow."""

    def spec(self) -> TrackingSpec:
        """Return where the study is written to."""
        return TrackingSpec(uri=self.uri, experiment=self.experiment, enabled=self.enabled)


class SafetySection(Section):
    """Limits that protect the target."""

    max_bytes_per_trial: Bytes = _SAFETY.max_bytes_per_trial
    """A trial is stopped before its phases together send more than this: a number of bytes, or a text such as 50GB."""
    min_free_disk: Annotated[int, fields.size(0, _MOST_BYTES)] = _SAFETY.min_free_disk_bytes
    """A trial is stopped if a broker's disk on this machine has less free space: bytes, or a text such as 5GB."""
    max_failures_in_a_row: Annotated[int, fields.whole(1, 1_000_000)] = _SAFETY.max_failures_in_a_row
    """The study stops after this many trials in a row gave no measurement."""
    broker_wait: Duration = _SAFETY.broker_wait_s
    """How long to wait for a broker that was lost: seconds, or a text such as 5m."""

    def spec(self) -> SafetySpec:
        """Return the limits."""
        return SafetySpec(
            max_bytes_per_trial=self.max_bytes_per_trial,
            min_free_disk_bytes=self.min_free_disk,
            max_failures_in_a_row=self.max_failures_in_a_row,
            broker_wait_s=self.broker_wait,
        )


class ExecutorSection(Section):
    """Where the benchmarks run."""

    kind: Annotated[Executor, fields.one_of(Executor)] = Executor.RAY
    """ray: in Ray workers; local: on this machine without Ray; simulated: without Kafka, to try a study out."""
    ray_address: Text | None = None
    """host:port of your Ray cluster's head, or auto. Run the tuner on one of its nodes. Default: a Ray on this host."""
    ray_code: Annotated[Code, fields.one_of(Code)] = Code.SHIP
    """ship: workers of your Ray cluster get the code of this process; installed: they run the tuner of their node."""
    ray_wait: Duration = DEFAULT_WAIT_S
    """How long to wait for nodes of your Ray cluster and free cores on them: seconds, or a text such as 5m."""
    placement: Zones = Field(default_factory=list, validate_default=False)
    """Zones of your Ray cluster. The producers get them in turn. A node in zone NAME has Ray's resource zone:NAME."""
    consumer_zone: Zone | None = None
    """Zone in which the consumers run, on a node of their own if there is one. Default: beside the first producer."""


class StudyFile(Section):
    """A study of Kafka producer configs: where and what it measures, what it may change, and what it optimises."""

    schema_version: Annotated[int, fields.whole(1, 1)] = 1
    """Version of this format: 1."""
    study: StudySection = StudySection()
    target: TargetSection = TargetSection()
    targets: Annotated[list[TargetSection], Field(min_length=1, max_length=100)] | None = None
    """Several equal clusters, instead of target. Each measures one trial at a time."""
    workload: WorkloadSection
    client: Annotated[Client, study_client(), Field(json_schema_extra={"default": "librdkafka"})] = Field(
        default_factory=librdkafka
    )
    """The client that is searched and measured: librdkafka, java, or {kind: java, version: "3.9.1"}."""
    baseline: Annotated[str | Mapping[str, Value], producer_properties()] = Field(default_factory=dict)
    """The config that you have today: a properties file, or properties of the client. Default: its defaults."""
    baseline_client: Annotated[FileClient, fields.one_of(FileClient)] = FileClient.AUTO
    """The client that the baseline file is for. auto: the client that its properties show, or else client."""
    space: Annotated[Mapping[str, KnobChange], knob_changes()] = Field(default_factory=dict)
    """Knobs whose search you change: {low, high, log, steps}, {choices: [...]}, one value, on or off."""
    durability: Annotated[str, fields.word(DURABILITY)] = "baseline"
    """The weakest guarantee that a config may give. baseline: no weaker than the baseline's."""
    objectives: Annotated[
        ObjectivesOfKey, goal_or_metrics(), Field(json_schema_extra={"default": Goal.BALANCED.value})
    ] = PRESETS[Goal.BALANCED]
    """balanced, throughput, latency, or a list of metrics. The goal latency uses the latency metric of this list."""
    constraints: Annotated[list[Annotated[Constraint, constraint()]], Field(max_length=100)] = Field(
        default_factory=list
    )
    """Bounds for recommended configs, such as "latency_p99_ms <= 10" or "mb_per_s >= 0.9 x baseline"."""
    search: SearchSection = SearchSection()
    confirm: ConfirmSection = ConfirmSection()
    tracking: TrackingSection = TrackingSection()
    safety: SafetySection = SafetySection()
    executor: ExecutorSection = ExecutorSection()


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of study files, draft 2020-12, with descriptions and defaults.

    The schema checks names, types and ranges. Whether values fit together, and whether a property accepts its value, is
    only checked when the file is read. The schema lists properties under the client's own names; a study file may also
    use the other names that the client accepts.
    """
    schema = StudyFile.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "Study file of kafka-tuner"}
