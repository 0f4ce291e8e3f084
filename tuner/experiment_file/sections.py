"""The sections of an experiment file and their keys. They share their base and readers with those of a study file."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import Field

from objectives.row_metrics import ROW_METRICS
from runners.pools.placement import Placement
from runners.pools.ray_cluster import DEFAULT_WAIT_S, Code
from runners.workload import (
    MOST_CONSUMERS,
    MOST_PARTITIONS,
    MOST_PRODUCERS,
    MOST_RATE_RECORDS_PER_S,
    MOST_REPLICAS,
    RecordSizes,
    Workload,
)
from search_spaces.client import Client, librdkafka
from tuner.model.measurement_setup import Setup
from tuner.model.paper import Artefact, Expectation
from tuner.model.row import RowValue
from tuner.study_file import fields
from tuner.study_file.errors import refused
from tuner.study_file.properties import study_client
from tuner.study_file.sections import (
    NAME,
    Bytes,
    Duration,
    Measured,
    Name,
    PeakRatio,
    RecordsSection,
    SafetySection,
    Section,
    Seed,
    Sizes,
    TargetSection,
    Text,
    TrackingSection,
    Zone,
    Zones,
)

_LOAD: Final = Workload(RecordSizes.fixed(1000))
_MOST_ROWS: Final = 1_000
MOST_ROUNDS: Final = 1_000
MANY: Final = "many"
ONE: Final = "one"
"""The values of the key `payload`."""
SEARCH_SECTIONS: Final = (
    "workload",
    "space",
    "durability",
    "objectives",
    "constraints",
    "search",
    "executor",
)
"""The sections of a study file that a search of an experiment may have."""

Settings = Mapping[str, RowValue]


def _settings(value: object) -> Settings:
    """Return settings by name, as a file lists them: `record_bytes: 100, linger.ms: 5`."""
    if not isinstance(value, Mapping) or not value:
        raise refused("must be `setting: value` entries, such as {record_bytes: 100, acks: all}")
    for name, each in value.items():
        _check_single(each, str(name))
    return {str(name): each for name, each in value.items()}


def _check_single(value: object, *within: str | int) -> None:
    """Check that a value is a single value, and not a list, a section or empty.

    Raises:
        Refused: The value is a list, a section or empty.
    """
    if not isinstance(value, str | int | float):
        raise refused("a setting takes one text, number, true or false", within=within)


def _excluded(value: object) -> Mapping[str, list[RowValue]]:
    """Return lists of values by setting, as `_varied` does; a single value stands for a list of one."""
    if not isinstance(value, Mapping) or not value:
        raise refused(
            "must be `setting: value` or `setting: [value, ...]` entries, such as {acks: 1, linger.ms: [0, 5]}"
        )
    return _varied({name: each if isinstance(each, list) else [each] for name, each in value.items()})


def _varied(value: object) -> Mapping[str, list[RowValue]]:
    """Return lists of values by setting, as a file lists them: `linger.ms: [0, 5, 20]`."""
    if not isinstance(value, Mapping):
        raise refused("must be `setting: [value, ...]` entries, such as {record_bytes: [100, 1000]}")
    for name, values in value.items():
        if not isinstance(values, list) or not values:
            raise refused("a setting that varies takes a list of values, such as [0, 5, 20]", within=(str(name),))
        for position, inner in enumerate(values):
            _check_single(inner, str(name), position)
    return {str(name): list(values) for name, values in value.items()}


def _searches(value: object) -> Mapping[str, Mapping[str, Any]]:
    """Return the sections of each search by its name."""
    if not isinstance(value, Mapping):
        raise refused("must be `name: {sections of a study file}` entries, such as {grid: {search: {method: grid}}}")
    for name, sections in value.items():
        if not isinstance(sections, Mapping):
            raise refused("a search has the sections of a study file", within=(str(name),))
        for key in sections:
            if key not in SEARCH_SECTIONS:
                rule = f"a search may have the sections {', '.join(SEARCH_SECTIONS)}; the experiment has the others"
                raise refused(rule, within=(str(name), str(key)))
            if key in ("workload", "executor") and not isinstance(sections[key], Mapping | None):
                # The experiment's own load, executor and zones are added to these two.
                raise refused("must be a section of `key: value` lines", within=(str(name), str(key)))
        NAME.read(name)
        if name == "quick":
            raise refused(
                "a search can't be named quick, because the names of quick versions end in quick; give it another name",
                within=(name,),
            )
    return {str(name): dict(sections) for name, sections in value.items()}


def _numbers(value: object) -> Mapping[str, float]:
    """Return numbers by metric."""
    if not isinstance(value, Mapping) or not value:
        raise refused("must be `metric: number` entries, such as {mb_per_s: 95}")
    for name, each in value.items():
        if name not in ROW_METRICS:
            raise refused(f"a metric must be one of {', '.join(ROW_METRICS)}", within=(str(name),))
        if isinstance(each, bool) or not isinstance(each, int | float):
            raise refused("must be a number", within=(str(name),))
    return {str(name): float(each) for name, each in value.items()}


_OBJECT: Final[Mapping[str, Any]] = {"type": "object"}
SomeSettings = Annotated[Settings, fields.ValueReader(_settings, _OBJECT)]
Searches = Annotated[Mapping[str, Mapping[str, Any]], fields.ValueReader(_searches, _OBJECT)]
Varied = Annotated[Mapping[str, list[RowValue]], fields.ValueReader(_varied, _OBJECT)]
Combination = Annotated[Mapping[str, list[RowValue]], fields.ValueReader(_excluded, _OBJECT)]
Combinations = Annotated[list[Combination], Field(max_length=_MOST_ROWS)]
Numbers = Annotated[Mapping[str, float], fields.ValueReader(_numbers, _OBJECT)]
MetricName = Annotated[str, fields.word(ROW_METRICS)]
Positive = Annotated[float, fields.number(0, 1e15, above=True)]


class LoadSection(RecordsSection):
    """The load of a row, and the shape of its topic."""

    record_bytes: Annotated[Sizes, Field(json_schema_extra={"default": 1000})] = _LOAD.record_sizes
    """Bytes of a record's value (1000, 64KiB), or a mix like "100:70,1000:30" (size:weight)."""
    compressibility_ratio: Annotated[float, fields.number(0, 1, below=True)] = 0.5
    """Share of each value that compression can remove. 0 sends random bytes."""
    payload: Annotated[str, fields.word((MANY, ONE))] = MANY
    """many: all values differ. one: the same value again and again, as some tools send it."""
    partitions: Annotated[int, fields.whole(1, MOST_PARTITIONS)] = _LOAD.partitions
    """Partitions of the topic, which is new for each measurement."""
    replication: Annotated[int, fields.whole(1, MOST_REPLICAS)] = _LOAD.replication
    """Replicas of each partition."""
    min_insync_replicas: Annotated[int, fields.whole(1, MOST_REPLICAS)] | None = None
    """The topic's min.insync.replicas. Without it, the brokers' default holds, which is usually 1."""
    producers: Annotated[int, fields.whole(0, MOST_PRODUCERS)] = 1
    """Number of producers that write at the same time. 0: only consumers, which read what was stored before."""
    stored_bytes: Annotated[int, fields.size(0, 10**15)] = 0
    """Bytes of values that are written to the topic before the measurement. Such a topic keeps all of its records."""
    consumers: Annotated[int, fields.whole(0, MOST_CONSUMERS)] = 0
    """Number of consumers that read the topic while it is written, for the end-to-end latency."""
    zone: Annotated[str, fields.word(("same", "other"))] = "other"
    """other: the link of target.zone_delay and zone_bandwidth is between clients and brokers. same: it is not used."""
    rate_records_per_s: Annotated[float, fields.number(0, MOST_RATE_RECORDS_PER_S, above=True)] | None = None
    """Records per second of all producers together. Without it, records are sent as fast as the client takes them."""
    peak_ratio: PeakRatio = _LOAD.peak_ratio
    """Rate of the bursts, as a multiple of the rate. Half of the records leave in bursts of about a second. 1: none."""
    warmup: Duration = _LOAD.warmup_s
    """Duration of the load before the measurement, in seconds or as a text such as 3s."""
    measured: Measured = _LOAD.measured_s
    """Duration of the load that is measured, in seconds or as a text such as 5m."""
    placement: Zones = Field(default_factory=list, validate_default=False)
    """Zones of your Ray cluster, assigned to the producers in turn: one zone, or several as "a, b"."""
    consumer_zone: Zone | None = None
    """Zone of your Ray cluster in which the consumers run. Default: beside the first producer."""
    broker_killed_after: Duration | None = None
    """Duration of the measurement after which the broker that leads partition 0 is killed, such as 10s."""

    def workload(self, seed: int) -> Workload:
        """Return the load as a `Workload` for the runners."""
        return Workload.of(
            self,
            record_sizes=self.record_bytes,
            warmup_s=self.warmup,
            measured_s=self.measured,
            one_payload=self.payload == ONE,
            seed=seed,
        )

    def setup(self) -> Setup:
        """Return the conditions of a measurement besides its load."""
        return Setup(
            producers=self.producers,
            same_zone=self.zone == "same",
            stored_bytes=self.stored_bytes,
            min_insync_replicas=self.min_insync_replicas,
            broker_killed_s=self.broker_killed_after,
            placement=Placement(tuple(self.placement), self.consumer_zone),
        )


LOAD_KEYS: Final = frozenset(LoadSection.model_fields)


class ArtefactSection(Section):
    """The reason why the paper's figure shows how it was measured, and not how Kafka behaves."""

    kind: Annotated[Artefact, fields.one_of(Artefact)]
    """What the figure shows instead of Kafka's behaviour."""
    because: Text
    """The calculation or the fact from which this follows, in one sentence."""
    paper_value: Positive | None = None
    """The paper's figure."""
    explained_by: Positive | None = None
    """The value to expect if the paper's figure is an artefact.

    If the two differ by over 10 %, the figure is not called an artefact.
    """


class CaseSection(Section):
    """Settings that are added to those of the finding, and the paper's ratio for them."""

    at: SomeSettings | None = None
    """Settings of both rows."""
    of: SomeSettings | None = None
    """Further settings of the row whose metric is divided."""
    over: SomeSettings | None = None
    """Further settings of the row that it is divided by."""
    paper_ratio: Positive | None = None
    """The ratio in the paper."""


class FindingSection(Section):
    """A finding of a published benchmark, and the rows that confirm or refute it.

    Give `of` with `over` or `limit`, or `order`, or `along`.
    """

    id: Name
    """A short name that no other finding of the file has."""
    claim: Text
    """The finding, in one sentence."""
    source: Text
    """Page, section or table of the paper."""
    metric: MetricName
    """The metric that is compared."""
    of: SomeSettings | None = None
    """Settings of the row whose metric is divided. The setting `row` is a row's name."""
    over: SomeSettings | None = None
    """Settings of the row that it is divided by."""
    limit: Positive | None = None
    """A number that the metric is divided by, in place of a second row."""
    order: Annotated[list[SomeSettings], Field(max_length=100)] = Field(default_factory=list)
    """Settings of several rows. Each row is compared with the one before it in this list."""
    along: Text | None = None
    """A setting whose values are numbers. A line is fitted to the metric over this setting.

    The finding is about the line's value at the largest number, divided by its value at the smallest.
    """
    each: Annotated[list[CaseSection], Field(max_length=100)] = Field(default_factory=list)
    """Cases with settings that are added to `of`, `over` and `order`. The finding must hold in all of them."""
    expect: Annotated[Expectation, fields.one_of(Expectation)]
    """What the paper says of the first row compared with the second: it is greater, smaller or equal."""
    paper_ratio: Positive | None = None
    """The ratio in the paper, if there is one comparison."""
    tolerance: Annotated[float, fields.number(0, 10, above=True)] = 0.1
    """For equal: the largest relative difference that still counts as equal."""
    artefact: ArtefactSection | None = None
    """The reason why the paper's figure shows how it was measured, and not how Kafka behaves."""


class PaperSection(Section):
    """What the paper measured for a row."""

    row: SomeSettings
    """Settings of the row."""
    values: Numbers
    """The paper's values by metric."""
    source: Text
    """Page, section or table of the paper."""


class QuickSection(Section):
    """What `--quick` changes, so that the experiment takes minutes."""

    load: Annotated[Settings, fields.ValueReader(_settings, _OBJECT)] = Field(
        default_factory=lambda: {"warmup": "1s", "measured": "2s"}
    )
    """Settings of the load that replace those of the section load."""
    vary: Varied = Field(default_factory=dict)
    """Lists of values that replace those of the section vary."""
    exclude: Combinations = Field(default_factory=list)
    """Further combinations that are left out."""
    rounds: Annotated[int, fields.whole(1, MOST_ROUNDS)] = 5
    """Number of rounds."""
    max_bytes_per_trial: Bytes = 10_000_000_000
    """A measurement is stopped before it sends more than this: a number of bytes, or a text such as 10GB."""


class RaySection(Section):
    """The Ray cluster whose nodes run the producers and consumers. Without it, they run on this host."""

    ray_address: Text | None = None
    """host:port of your Ray cluster's head, or auto. Run the tuner on one of its nodes."""
    ray_code: Annotated[Code, fields.one_of(Code)] = Code.SHIP
    """ship: workers of your Ray cluster get the code of this process; installed: they run the tuner of their node."""
    ray_wait: Duration = DEFAULT_WAIT_S
    """How long to wait for nodes of your Ray cluster and free cores on them: seconds, or a text such as 5m."""


class ExperimentFile(Section):
    """An experiment: rows that are all measured in every round, and what a paper says of them."""

    schema_version: Annotated[int, fields.whole(1, 1)] = 1
    """Version of this format: 1."""
    experiment: Name | None = None
    """Name of the experiment, of its folder and of its runs in MLflow. It must not end in -quick. Default: the name of
    the file."""
    about: Text
    """What the experiment measures, in one sentence."""
    source: Text | None = None
    """The paper that describes the experiment."""
    differences: list[Text] = Field(default_factory=list)
    """How this experiment differs from the paper's."""
    target: TargetSection = TargetSection()
    client: Annotated[Client, study_client(), Field(json_schema_extra={"default": "librdkafka"})] = Field(
        default_factory=librdkafka
    )
    """The client that is measured: librdkafka, java, or {kind: java, version: "3.9.1"}."""
    config: Annotated[Settings, fields.ValueReader(lambda value: _settings(value) if value else {}, _OBJECT)] = Field(
        default_factory=dict
    )
    """Producer properties of all rows, which override the client's defaults."""
    load: LoadSection = LoadSection()
    vary: Varied = Field(default_factory=dict)
    """Settings with several values: each combination is a row. A setting is a key of load or a producer property."""
    searches: Searches = Field(default_factory=dict)
    """Studies that run first. A row with `search: NAME` and `goal: throughput` takes its config from one of them."""
    rows: Annotated[list[SomeSettings], Field(max_length=_MOST_ROWS)] = Field(default_factory=list)
    """Rows with their settings; `row` is the row's name. With vary, each row is combined with each combination."""
    exclude: Combinations = Field(default_factory=list)
    """Combinations that are left out, such as {acks: 0, linger.ms: [0, 5]}. A row is left out if it has, for each of
    these settings, the value or one of the values."""
    control: SomeSettings | None = None
    """Settings of the row measured first in each round, and again after control_every others. Default: the first."""
    control_every: Annotated[int, fields.whole(1, 1_000)] = 10
    """After how many other rows the control is measured again."""
    rounds: Annotated[int, fields.whole(1, MOST_ROUNDS)] = 5
    """Number of rounds. Each round measures every row once, in random order."""
    seed: Seed = 0
    """Seed of the random bytes in the records and of the order of the rows."""
    metrics: Annotated[list[MetricName], Field(min_length=1)] = Field(
        default_factory=lambda: ["mb_per_s", "records_per_s"]
    )
    """The metrics that the tables show."""
    quick: QuickSection = QuickSection()
    findings: Annotated[list[FindingSection], Field(max_length=100)] = Field(default_factory=list)
    """Statements of the paper that are checked."""
    paper_values: Annotated[list[PaperSection], Field(max_length=_MOST_ROWS)] = Field(default_factory=list)
    """What the paper measured for a row."""
    tracking: TrackingSection = TrackingSection()
    safety: SafetySection = SafetySection()
    executor: RaySection = RaySection()
