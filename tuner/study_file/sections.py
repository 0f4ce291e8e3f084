"""The sections of a study file and their keys; their descriptions are those of the JSON Schema.

Defaults are those of `tuner.model.spec`. A section that is left empty has its defaults.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from objectives.scoring import Constraint
from runners.ray_cluster import DEFAULT_WAIT_S, Code
from runners.workload import MAX_RECORD_BYTES, RecordSizes
from search_spaces.catalogue import Value
from search_spaces.parameters import KnobChange
from search_spaces.producer_config import DURABILITY
from tuner.model.spec import (
    ConfirmSpec,
    Executor,
    Goal,
    Method,
    PhaseSpec,
    SafetySpec,
    SearchSpec,
    TrackingSpec,
    WorkloadSpec,
)
from tuner.study_file import fields
from tuner.study_file.properties import connection_properties, knob_changes, producer_properties

_WORKLOAD: Final = WorkloadSpec(())
_SEARCH: Final = SearchSpec()
_CONFIRM: Final = ConfirmSpec()
_TRACKING: Final = TrackingSpec()
_SAFETY: Final = SafetySpec()

_DAY_S: Final = 86_400
_MOST_BYTES: Final = 10**18
_LARGEST_SEED: Final = 2**32 - 1
_NAME_RULE: Final = (
    "a name has letters, digits, -, _ and ., begins with a letter or digit, and has at most 100 characters"
)
_ADDRESS_RULE: Final = "an address reads host:port, or several as host:port,host:port"

NAME: Final = fields.text(_NAME_RULE, r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")

Name = Annotated[str, NAME]
Zone = Annotated[str, fields.text("a zone has letters, digits, -, _ and .", r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")]
Text = Annotated[str, fields.text()]
Sizes = Annotated[RecordSizes, fields.record_sizes()]
Duration = Annotated[float, fields.seconds(0, _DAY_S)]
Measured = Annotated[float, fields.seconds(0, _DAY_S, above=True)]
Bytes = Annotated[int, fields.size(1, _MOST_BYTES)]
Seed = Annotated[int, fields.whole(0, _LARGEST_SEED)]
Flag = Annotated[bool, fields.flag()]


def _as_list(value: object) -> object:
    return value if isinstance(value, list) or value is None else [value]


def _or_one(schema: dict[str, Any]) -> None:
    """Let the schema of a list take one item without its brackets."""
    several = {name: schema.pop(name) for name in ("type", "items", "minItems", "maxItems")}
    schema["anyOf"] = [several, several["items"]]


class Section(BaseModel):
    """Keys that stand together."""

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
    """What the study is called."""

    model_config = ConfigDict(json_schema_extra={"type": ["object", "string", "null"]})

    @model_validator(mode="before")
    @classmethod
    def _text_is_the_name(cls, value: object) -> object:
        return value if isinstance(value, Mapping) or value is None else {"name": value}

    name: Name | None = None
    """Names the study's folder and runs; the file's name when left out."""


class TargetSection(Section):
    """The cluster to measure on; without an address, real brokers are started on this machine."""

    bootstrap: Annotated[str, fields.text(_ADDRESS_RULE, r"[^\s,]+(\s*,\s*[^\s,]+)*")] | None = None
    """host:port[,host:port] of your cluster."""
    command_config: Text | None = None
    """Path of a properties file with how to connect to it, relative to the study file."""
    properties: Annotated[Mapping[str, Value], connection_properties()] = Field(default_factory=dict, repr=False)
    """How to connect to it, in place; these win over command_config. Secrets only as ${NAME}."""
    container: Text | None = None
    """Image of a broker to run in a container, such as apache/kafka:4.1.0."""
    brokers: Annotated[int, fields.whole(1, 9)] | None = None
    """How many brokers to start on this machine; 1 when left out."""
    topic: Text | None = None
    """A topic of yours to write to; it is never deleted. Without it, we create topics of our own and delete them."""
    like: Text | None = None
    """A topic of yours whose partitions, replication and settings our topics copy."""


class PhaseSection(Section):
    """As fast as acknowledgements allow: capacity comes from here."""

    warmup: Duration = _WORKLOAD.saturate.warmup_s
    """Load before anything counts: seconds, or 3s."""
    measured: Measured = _WORKLOAD.saturate.measured_s
    """Load that counts: seconds, or 10s."""

    def spec(self) -> PhaseSpec:
        """The phase as a study has it."""
        return PhaseSpec(self.warmup, self.measured)


class PacedSection(PhaseSection):
    """At a fixed rate, the same for all configs: latency comes from here."""

    warmup: Duration = _WORKLOAD.paced.warmup_s
    """Load before anything counts: seconds, or 2s."""
    measured: Measured = _WORKLOAD.paced.measured_s
    """Load that counts: seconds, or 10s."""
    rate_records_per_s: Annotated[float, fields.number(0, 100_000_000, above=True)] | None = None
    """Records per second; without it, a share of the baseline's capacity."""
    rate_ratio: Annotated[float, fields.number(0, 1, above=True)] = _WORKLOAD.rate_ratio
    """That share, 0 to 1."""


class WorkloadSection(Section):
    """What is written."""

    record_bytes: Annotated[
        list[Sizes], BeforeValidator(_as_list), Field(min_length=1, max_length=100, json_schema_extra=_or_one)
    ]
    """Sizes of record values, one search each: 1000, 64KiB, or a mix such as "100:70,1000:30" (size:weight)."""
    key_bytes: Annotated[int, fields.size(0, MAX_RECORD_BYTES)] = _WORKLOAD.key_bytes
    """Size of record keys; 0 sends none."""
    compressibility_ratio: Annotated[float, fields.number(0, 1, below=True)] = _WORKLOAD.compressibility_ratio
    """Share of each value that compresses away: 0 is random bytes."""
    partitions: Annotated[int, fields.whole(1, 10_000)] = _WORKLOAD.partitions
    """Partitions of our topics."""
    replication: Annotated[int, fields.whole(1, 100)] = _WORKLOAD.replication
    """Replicas of each partition of our topics."""
    producers: Annotated[int, fields.whole(1, 100)] = _WORKLOAD.producers
    """Producers that write at once."""
    saturate: PhaseSection = PhaseSection()
    paced: PacedSection = PacedSection()
    seed: Seed = _WORKLOAD.seed
    """Seed of the payload."""


class SearchSection(Section):
    """How configs are proposed, and for how long: whichever limit comes first ends the study."""

    method: Annotated[Method, fields.one_of(Method)] = _SEARCH.method
    """How configs are proposed."""
    trials: Annotated[int, fields.whole(1, 1_000_000)] | None = _SEARCH.trials
    """Trials per record size, baselines and failures included; null leaves it to hours, until or max_bytes."""
    hours: Annotated[float, fields.number(0, 10_000, above=True)] | None = _SEARCH.hours
    """Hours of the whole study, resumptions included."""
    until: Annotated[str, fields.clock()] | None = _SEARCH.until
    """Local time of day at which no new trial starts."""
    max_bytes: Bytes | None = _SEARCH.max_bytes
    """Bytes of values that the whole study may write."""
    seed: Seed = _SEARCH.seed
    """Seed of the search."""
    startup_trials: Annotated[int, fields.whole(0, 1_000_000)] = _SEARCH.startup_trials
    """Random trials before a model is used."""
    baseline_every: Annotated[int, fields.whole(1, 1_000_000)] = _SEARCH.baseline_every
    """The baseline is measured again after so many trials."""
    burn_in_max: Annotated[int, fields.whole(0, 1000)] = _SEARCH.burn_in_max
    """Baselines measured at most, before two agree, ahead of the first trial; 0 does without."""
    grid_steps: Annotated[int, fields.whole(2, 1000)] = _SEARCH.grid_steps
    """Values per knob of a grid, where the knob does not say."""
    transfer: Flag = _SEARCH.transfer
    """Whether each record size starts with the best configs of those before it."""
    racing: Annotated[bool, fields.switch()] = _SEARCH.racing
    """Whether a trial is stopped early once it is sure not to come to anything."""


class ConfirmSection(Section):
    """How winners are measured again, in turn with the baseline."""

    rounds: Annotated[int, fields.whole(0, 1000)] = _CONFIRM.rounds
    """Rounds of baseline and winners in any case; 0 does without, and then no gain is claimed."""
    max_rounds: Annotated[int, fields.whole(0, 1000)] = _CONFIRM.max_rounds
    """The most rounds, for winners whose interval is not narrow enough before."""
    width_ratio: Annotated[float, fields.number(0, 10, above=True)] = _CONFIRM.width_ratio
    """An interval is narrow enough when it is as wide as this, relative to its value."""
    nominees: Annotated[int, fields.whole(1, 100)] = _CONFIRM.nominees
    """Best configs of each goal that are given second looks, as the luckiest of the search stands first."""
    looks: Annotated[int, fields.whole(0, 100)] = _CONFIRM.looks
    """Second looks at each."""
    ablation_rounds: Annotated[int, fields.whole(0, 100)] = _CONFIRM.ablation_rounds
    """Rounds in which proven winners are measured with one knob at a time back at the baseline's value."""
    goals: Annotated[list[Annotated[Goal, fields.one_of(Goal)]], Field(min_length=1, max_length=len(Goal))] = list(
        _CONFIRM.goals
    )
    """Whose winners."""


class TrackingSection(Section):
    """MLflow's mirror of the study."""

    uri: Text | None = Field(default=_TRACKING.uri, repr=False)
    """Tracking URI; MLFLOW_TRACKING_URI, or else a file beside the studies, when left out."""
    experiment: Text | None = _TRACKING.experiment
    """Name of the experiment; made of the target when left out."""
    enabled: Flag = _TRACKING.enabled
    """Whether there is a mirror."""


class SafetySection(Section):
    """What protects the target."""

    max_bytes_per_trial: Bytes = _SAFETY.max_bytes_per_trial
    """A trial stops before it has sent more: bytes, or 50GB."""
    min_free_disk: Annotated[int, fields.size(0, _MOST_BYTES)] = _SAFETY.min_free_disk_bytes
    """A trial stops when the disk of a broker on this machine has less left: bytes, or 5GB."""
    max_failures_in_a_row: Annotated[int, fields.whole(1, 1_000_000)] = _SAFETY.max_failures_in_a_row
    """The study stops after so many trials without a measurement."""
    broker_wait: Duration = _SAFETY.broker_wait_s
    """How long a lost broker is waited for: seconds, or 5m."""


class ExecutorSection(Section):
    """Where benchmarks run."""

    kind: Annotated[Executor, fields.one_of(Executor)] = Executor.RAY
    """ray: worker processes; local: this process; simulated: no Kafka at all, to try a study out."""
    ray_address: Text | None = None
    """host:port of a Ray cluster's head, or auto, on one of whose nodes this runs; without it, Ray is started here."""
    ray_code: Annotated[Code, fields.one_of(Code)] = Code.SHIP
    """ship: workers of that cluster run the code of this process; installed: what is installed on its nodes."""
    ray_wait: Duration = DEFAULT_WAIT_S
    """How long nodes of that cluster, and room on them, are waited for: seconds, or 5m."""
    placement: Annotated[
        list[Zone], BeforeValidator(_as_list), Field(min_length=1, max_length=100, json_schema_extra=_or_one)
    ] = Field(default_factory=list, validate_default=False)
    """Zones of that cluster to measure from, dealt to the producers in turn: nodes offer the resource zone:NAME."""


class StudyFile(Section):
    """A study of Kafka producer configs: what is measured where, what may change, and what is best."""

    schema_version: Annotated[int, fields.whole(1, 1)] = 1
    """Version of this format: 1."""
    study: StudySection = StudySection()
    target: TargetSection = TargetSection()
    targets: Annotated[list[TargetSection], Field(min_length=1, max_length=100)] | None = None
    """Several equal clusters, each measuring one trial at a time; in place of target."""
    workload: WorkloadSection
    baseline: Annotated[str | Mapping[str, Value], producer_properties()] = Field(default_factory=dict)
    """What everything is compared with: a properties file, or properties; the client's defaults when left out."""
    space: Annotated[Mapping[str, KnobChange], knob_changes()] = Field(default_factory=dict)
    """Knobs to treat otherwise than by default: {low, high, log, steps}, {choices: [...]}, one value, on or off."""
    durability: Annotated[str, fields.word(DURABILITY)] = "baseline"
    """The least guarantee that a config may give."""
    objectives: Annotated[
        fields.Asked, fields.objectives(), Field(json_schema_extra={"default": Goal.BALANCED.value})
    ] = fields.preset(Goal.BALANCED)
    """balanced, throughput, latency, or a list of metrics; its latency is what the goal latency is about."""
    constraints: Annotated[list[Annotated[Constraint, fields.constraint()]], Field(max_length=100)] = Field(
        default_factory=list
    )
    """Bounds that a recommended config keeps, such as "latency_p99_ms <= 10" or "mb_per_s >= 0.9 x baseline"."""
    search: SearchSection = SearchSection()
    confirm: ConfirmSection = ConfirmSection()
    tracking: TrackingSection = TrackingSection()
    safety: SafetySection = SafetySection()
    executor: ExecutorSection = ExecutorSection()


def json_schema() -> dict[str, Any]:
    """The schema, draft 2020-12, with descriptions and defaults.

    It knows names, types and ranges. Which values go together, and whether a property takes its value, only reading the
    file tells. It offers properties under the client's own names; the other names it takes are read all the same.
    """
    schema = StudyFile.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "Study file of kafka-tuner"}
