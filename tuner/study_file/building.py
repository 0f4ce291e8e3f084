"""From the sections of a study file to the study: files are read, and what must go together is checked."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from objectives.outcome import OUTCOME_METRICS
from search_spaces.catalogue import Value, load_catalogue
from search_spaces.connection import ConnectionConfig
from search_spaces.errors import ConfigError, EmptySpace, InvalidKnob, NothingToSearch, RuleBroken
from search_spaces.producer_config import DURABILITY, ProducerConfig
from search_spaces.record_size import check_record
from search_spaces.roles import is_secret
from search_spaces.rules import RULES
from search_spaces.space import SearchSpace
from tuner.model.spec import ConfirmSpec, Executor, SafetySpec, SearchSpec, StudySpec, TrackingSpec, WorkloadSpec
from tuner.model.target import Target
from tuner.study_file.errors import KeyPath, Problems, Refusal
from tuner.study_file.properties import Files, reads_local_files
from tuner.study_file.sections import Section, StudyFile, TargetSection, WorkloadSection

# Source: the default of max.message.bytes in Apache Kafka's topic configs.
_KAFKA_MAX_MESSAGE_BYTES: Final = 1_048_588


@dataclass(frozen=True, slots=True)
class Builder:
    """Builds one study.

    Attributes:
        file: Its sections.
        name: Its name, when the file gives none.
        files: Reads the files that it names.
        problems: Collects what is wrong.
        searched: Whether the study is to search; else what only a search needs may be missing.
    """

    file: StudyFile
    name: str
    files: Files
    problems: Problems
    searched: bool = True

    def study(self) -> StudySpec:
        """The study.

        Raises:
            StudyFileError: Something does not go together, or a file can't be read.
        """
        self._check_search()
        self._check_paced()
        targets = targets_of(self.file, self.files)
        self._check_replication(targets)
        baseline = self._baseline()
        self._check_record_sizes(baseline)
        self._check_executor()
        self._check_acknowledged(baseline)
        self.problems.stop_if_any()
        self._check_space(baseline)
        self.problems.stop_if_any()
        file = self.file
        asked = file.objectives
        return StudySpec(
            name=file.study.name or self.name,
            workload=_workload(file.workload),
            targets=targets,
            baseline=baseline,
            space=file.space,
            floor=DURABILITY[file.durability],
            objectives=asked.objectives,
            constraints=tuple(dict.fromkeys((*asked.constraints, *file.constraints))),
            search=SearchSpec(**{**_values(file.search), "trials": self._trials()}),
            confirm=ConfirmSpec(**{**_values(file.confirm), "goals": tuple(file.confirm.goals)}),
            tracking=TrackingSpec(**_values(file.tracking)),
            safety=SafetySpec(
                max_bytes_per_trial=file.safety.max_bytes_per_trial,
                min_free_disk_bytes=file.safety.min_free_disk,
                max_failures_in_a_row=file.safety.max_failures_in_a_row,
                broker_wait_s=file.safety.broker_wait,
            ),
            executor=file.executor.kind,
            ray_address=file.executor.ray_address,
            ray_code=file.executor.ray_code,
            ray_wait_s=file.executor.ray_wait,
            placement=tuple(file.executor.placement),
        )

    def _trials(self) -> int | None:
        """As many as asked for; where only another limit was given, as many as that allows."""
        search = self.file.search
        limited = search.hours is not None or search.until is not None or search.max_bytes is not None
        return None if limited and "trials" not in search.model_fields_set else search.trials

    def _check_search(self) -> None:
        search = self.file.search
        if search.trials is None and search.hours is None and search.until is None and search.max_bytes is None:
            self.problems.add(("search", "trials"), "a study ends: give trials, hours, until or max_bytes")

    def _check_paced(self) -> None:
        paced = self.file.workload.paced
        if paced.rate_records_per_s is not None and "rate_ratio" in paced.model_fields_set:
            self.problems.add(
                ("workload", "paced", "rate_ratio"),
                "the rate is given as rate_records_per_s or as rate_ratio, not as both",
            )

    def _check_executor(self) -> None:
        executor = self.file.executor
        if executor.ray_address is not None and executor.kind is not Executor.RAY:
            self.problems.add(("executor", "ray_address"), "only `kind: ray` has an address; leave one of them out")
        elif executor.ray_address is not None and executor.ray_address.startswith("ray://"):
            self.problems.add(
                ("executor", "ray_address"),
                "this is host:port of the head, or auto, and we run on a node of the cluster: Ray's own client can't "
                "take streams of results",
            )
        if executor.placement and executor.kind is not Executor.RAY:
            self.problems.add(("executor", "placement"), "only `kind: ray` has zones; leave one of them out")
        if len(executor.placement) > self.file.workload.producers:
            self.problems.add(
                ("executor", "placement"),
                "each zone that is named has a producer: raise workload.producers, or name fewer",
            )

    def _check_replication(self, targets: tuple[Target, ...]) -> None:
        replication = self.file.workload.replication
        for target in targets:
            brokers = 1 if target.container else target.brokers
            if target.bootstrap is None and replication > brokers:
                rule = "there are as many brokers as replicas, at least"
                self.problems.add(("workload", "replication"), f"{rule}; raise target.brokers or lower this")

    def _check_record_sizes(self, baseline: ProducerConfig) -> None:
        workload = self.file.workload
        seen: set[object] = set()
        for position, sizes in enumerate(workload.record_bytes):
            place = ("workload", "record_bytes", position)
            if sizes.shares in seen:
                self.problems.add(place, "each record size stands once: leave this one out")
            seen.add(sizes.shares)
            try:
                check_record(baseline, sizes.largest_bytes, workload.key_bytes or None)
            except RuleBroken as error:
                self.problems.add(
                    place, f"the baseline can't send this: {self.problems.words(error, place, ('baseline',))}"
                )

    def _check_acknowledged(self, baseline: ProducerConfig) -> None:
        """Whether the baseline has what the study optimises: without acknowledgements there is no latency."""
        asked = [each.metric for each in self.file.objectives.objectives]
        latencies = [metric for metric in asked if OUTCOME_METRICS[metric].needs_acknowledgement]
        if not self.searched or baseline.acks != 0 or not latencies:
            return
        rule = f"the objective {latencies[0]} needs a baseline that waits for acknowledgements"
        advice = "set objectives: throughput, or a baseline with acks=1 or all"
        given, place = self.file.baseline, ("baseline",)
        if isinstance(given, str):
            self.problems.add(place, f"{rule}, but {self.problems.written.get(place, given)} has acks=0; {advice}")
            return
        name = next(name for name in given if load_catalogue().find(name).name == "acks")
        self.problems.refuse((*place, name), Refusal(rule, advice), given[name])

    def _check_space(self, baseline: ProducerConfig) -> None:
        """Whether there is something to search; the topic's own limit is judged when there is a topic."""
        workload = self.file.workload
        for sizes in workload.record_bytes:
            try:
                space = SearchSpace.of(
                    sizes.largest_bytes,
                    baseline,
                    key_bytes=workload.key_bytes,
                    partitions=workload.partitions,
                    changes=self.file.space,
                    floor=DURABILITY[self.file.durability],
                    topic_max_message_bytes=_KAFKA_MAX_MESSAGE_BYTES + sizes.largest_bytes + workload.key_bytes,
                )
                if self.searched and not space.has_choice:
                    raise NothingToSearch
            except ConfigError as error:
                knob = error.knob if isinstance(error, InvalidKnob | EmptySpace) else ""
                place: KeyPath = ("space", knob) if knob in self.file.space else ("space",)
                self.problems.add(place, self.problems.words(error, ("space",), ("baseline",)))

    def _baseline(self) -> ProducerConfig:
        given = self.file.baseline
        place = ("baseline",)
        values: Mapping[str, Value] = {}
        try:
            values = self.files.properties(given, place) if isinstance(given, str) else given
            return ProducerConfig.parse(values)
        except ConfigError as error:
            if isinstance(given, str):
                self.problems.add(place, self.files.words(given, place, error))
            else:
                self.problems.add(_blamed(error, place, values), self.problems.words(error, place))
        return ProducerConfig.parse({})


def _blamed(error: ConfigError, place: KeyPath, values: Mapping[str, Value]) -> KeyPath:
    """The first property that a broken rule is about; else the whole."""
    if isinstance(error, RuleBroken):
        knobs = next((rule.knobs for rule in RULES if rule.name == error.rule), ())
        return next(((*place, name) for name in values if name in knobs), place)
    return place


def _workload(section: WorkloadSection) -> WorkloadSpec:
    return WorkloadSpec(
        record_sizes=tuple(section.record_bytes),
        key_bytes=section.key_bytes,
        compressibility_ratio=section.compressibility_ratio,
        partitions=section.partitions,
        replication=section.replication,
        producers=section.producers,
        saturate=section.saturate.spec(),
        paced=section.paced.spec(),
        rate_records_per_s=section.paced.rate_records_per_s,
        rate_ratio=section.paced.rate_ratio,
        seed=section.seed,
    )


def _values(section: Section) -> dict[str, Any]:
    return {name: getattr(section, name) for name in type(section).model_fields}


def targets_of(file: StudyFile, files: Files) -> tuple[Target, ...]:
    """The targets of a study, one or more; what is wrong with them is noted.

    Args:
        file: Its sections.
        files: Reads the files that it names.
    """
    if file.targets is None:
        return (target_of(file.target, ("target",), files),)
    if "target" in file.model_fields_set:
        files.problems.add(("targets",), "give target for one cluster or targets for several, not both")
    targets = tuple(target_of(each, ("targets", position), files) for position, each in enumerate(file.targets))
    addresses = [target.bootstrap for target in targets]
    for position, address in enumerate(addresses):
        if address is not None and address in addresses[:position]:
            files.problems.add(
                ("targets", position, "bootstrap"), "each cluster stands once: trials must not disturb each other"
            )
    return targets


def target_of(section: TargetSection, place: KeyPath, files: Files) -> Target:
    """One of them; what is wrong with it is noted.

    Args:
        section: What the file says of it.
        place: Where it says so.
        files: Reads the files that it names.
    """
    if section.bootstrap is None:
        for key in ("command_config", "properties", "topic", "like"):
            if getattr(section, key):
                files.problems.add((*place, key), "this is about a cluster of yours: give its address as bootstrap")
        if section.container is not None and section.brokers is not None:
            files.problems.add((*place, "brokers"), "a container runs one broker: leave brokers or container out")
        return Target(container=section.container, brokers=section.brokers or 1)
    for key in ("container", "brokers"):
        if getattr(section, key) is not None:
            files.problems.add((*place, key), "this is for brokers of our own, and bootstrap names a running cluster")
    if section.topic is not None and section.like is not None:
        files.problems.add((*place, "like"), "topic is written to as it is, so like can't be given with it")
    connection = {**_command_config(section, place, files), **_connection(section, place, files)}
    return Target(bootstrap=section.bootstrap, connection=connection, topic=section.topic, like=section.like)


def _command_config(section: TargetSection, place: KeyPath, files: Files) -> dict[str, str]:
    if section.command_config is None:
        return {}
    place = (*place, "command_config")
    try:
        values = ConnectionConfig.parse(files.properties(section.command_config, place)).values
    except ConfigError as error:
        files.problems.add(place, files.words(section.command_config, place, error))
        return {}
    values.pop("bootstrap.servers", None)
    return values


def _connection(section: TargetSection, place: KeyPath, files: Files) -> dict[str, str]:
    for name in section.properties:
        here = (*place, "properties", name)
        if is_secret(name) and here not in files.problems.written:
            files.problems.add(
                here,
                "a secret is not kept in a study file: write ${NAME} of the environment, or use command_config",
            )
        if files.folder is None and reads_local_files(name):
            files.problems.add(here, "no local file may be named here; give the content itself (ssl.ca.pem, say)")
    try:
        return ConnectionConfig.parse(section.properties).values
    except ConfigError as error:
        files.problems.add((*place, "properties"), files.problems.words(error, (*place, "properties")))
        return {}
