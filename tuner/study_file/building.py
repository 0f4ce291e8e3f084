"""Turns checked sections into a `StudySpec`: reads the files that they name, and checks that settings fit together."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from objectives.metrics import OF_CONSUMERS, OUTCOME_METRICS
from runners.errors import WorkloadRefused
from runners.pools.placement import Placement
from runners.reporting import counted
from search_spaces.client import Client
from search_spaces.client_facts.sizes import DEFAULT_MAX_MESSAGE_BYTES
from search_spaces.configs.guarantee import DURABILITY
from search_spaces.configs.producer_config import ProducerConfig, check_record
from search_spaces.errors import ConfigError, EmptySpace, InvalidKnob, NothingToSearch, RuleBroken
from search_spaces.properties.catalogue import Value
from tuner.model.errors import RequestRefused
from tuner.model.spec import (
    ConfirmSpec,
    Executor,
    Method,
    NewBroker,
    RaySpec,
    SearchSpec,
    StudySpec,
    WorkloadSpec,
    check_rounds,
)
from tuner.model.target import Target
from tuner.study_file.errors import KeyPath, Problems, Refusal
from tuner.study_file.properties import Files
from tuner.study_file.sections import ConfirmSection, Section, StudyFile, WorkloadSection
from tuner.study_file.targets import check_ray_address, targets_of


@dataclass(frozen=True, slots=True)
class StudyBuilder:
    """Builds the `StudySpec` of one study file.

    Attributes:
        file: The sections of the study file.
        name: Name of the study if the file gives none.
        files: Reads the files that the study file names.
        problems: Collects the problems that are found.
        searched: Whether the study is to search. If not, the settings that only a search needs may be missing.
    """

    file: StudyFile
    name: str
    files: Files
    problems: Problems
    searched: bool = True

    def study(self) -> StudySpec:
        """Check that all settings fit together, and return the study.

        Raises:
            StudyFileError: Settings contradict each other, or a file can't be read.
        """
        self._check_search()
        self._check_paced()
        targets = targets_of(self.file, self.files)
        self._check_replication(targets)
        baseline, notes = self._baseline()
        self._check_record_sizes(baseline)
        self._check_executor()
        self._check_rounds()
        self._check_sessions(targets)
        self._check_acknowledged(baseline)
        self._check_consumers(baseline, targets)
        self._check_load()
        self.problems.stop_if_any()
        file = self.file
        objectives, constraints = file.objectives
        spec = StudySpec(
            name=file.study.name or self.name,
            workload=_workload(file.workload),
            targets=targets,
            baseline=baseline,
            baseline_notes=notes,
            space=file.space,
            floor=DURABILITY[file.durability],
            objectives=objectives,
            constraints=tuple(dict.fromkeys((*constraints, *file.constraints))),
            search=SearchSpec(**{**_values(file.search), "trials": self._trials()}),
            confirm=_confirm(file.confirm),
            tracking=file.tracking.spec(),
            safety=file.safety.spec(),
            executor=file.executor.kind,
            ray=RaySpec(file.executor.ray_address, file.executor.ray_code, file.executor.ray_wait),
            placement=Placement(tuple(file.executor.placement), file.executor.consumer_zone),
        )
        self._check_space(spec)
        self.problems.stop_if_any()
        return spec

    def _trials(self) -> int | None:
        """Return the number of trials; None if the file sets only other limits, or if the grid is the limit."""
        search = self.file.search
        limited = search.hours is not None or search.until is not None or search.max_bytes is not None
        limited = limited or search.method is Method.GRID
        return None if limited and "trials" not in search.model_fields_set else search.trials

    def _check_search(self) -> None:
        search = self.file.search
        limits = (search.trials, search.hours, search.until, search.max_bytes)
        if search.method is not Method.GRID and all(limit is None for limit in limits):
            self.problems.add(("search", "trials"), "a study needs a limit; give trials, hours, until or max_bytes")
        if search.method is not Method.GRID and search.repeats > 1:
            self.problems.add(
                ("search", "repeats"), f"only method grid repeats its configs, but the method is {search.method}"
            )

    def _check_paced(self) -> None:
        paced = self.file.workload.paced
        if paced.rate_records_per_s is not None and "rate_ratio" in paced.model_fields_set:
            self.problems.add(
                ("workload", "paced", "rate_ratio"),
                "rate_records_per_s and rate_ratio exclude each other; leave one of them out",
            )

    def _check_executor(self) -> None:
        executor = self.file.executor
        if executor.kind is Executor.RAY:
            check_ray_address(executor.ray_address, self.problems)
        else:
            for key in ("ray_address", "placement", "consumer_zone"):
                if getattr(executor, key):
                    self.problems.add(("executor", key), f"{key} needs `kind: ray`; change the kind or leave {key} out")
        if executor.consumer_zone is not None and not self.file.workload.consumers:
            self.problems.add(
                ("executor", "consumer_zone"),
                "there are no consumers to run there; set workload.consumers or leave consumer_zone out",
            )
        if len(executor.placement) > self.file.workload.producers:
            self.problems.add(
                ("executor", "placement"),
                "each zone needs at least one producer; raise workload.producers or name fewer zones",
            )

    def _check_rounds(self) -> None:
        """Check that the maximum number of rounds is not below the minimum, if the file gives both."""
        confirm = self.file.confirm
        if {"rounds", "max_rounds"} <= confirm.model_fields_set:
            try:
                check_rounds(confirm.rounds, confirm.max_rounds)
            except RequestRefused as error:
                self.problems.add(("confirm", "max_rounds"), str(error))

    def _check_sessions(self, targets: tuple[Target, ...]) -> None:
        own = all(target.bootstrap is None for target in targets)
        if self.file.confirm.new_broker is NewBroker.EACH_ROUND and not own:
            self.problems.add(
                ("confirm", "new_broker"),
                "`new_broker: each round` needs brokers that the tuner starts, but bootstrap names a running cluster; "
                "leave new_broker out, or give spread_over to measure the rounds at different hours",
            )

    def _check_replication(self, targets: tuple[Target, ...]) -> None:
        replication = self.file.workload.replication
        for target in targets:
            brokers = 1 if target.container else target.brokers
            if target.bootstrap is None and replication > brokers:
                rule = f"replication must be at most the number of brokers, but got {replication} with "
                raised = "leave container out and raise target.brokers" if target.container else "raise target.brokers"
                self.problems.add(
                    ("workload", "replication"), f"{rule}{counted(brokers, 'broker')}; lower replication, or {raised}"
                )

    def _check_record_sizes(self, baseline: ProducerConfig) -> None:
        workload = self.file.workload
        earlier_sizes: set[object] = set()
        for position, sizes in enumerate(workload.record_bytes):
            key_path = ("workload", "record_bytes", position)
            if sizes.shares in earlier_sizes:
                self.problems.add(key_path, f"this record size is listed twice: {sizes}; leave it out here")
            earlier_sizes.add(sizes.shares)
            try:
                check_record(baseline, sizes.largest_bytes, workload.key_bytes or None)
            except RuleBroken as error:
                words = self.problems.words(error, key_path, ("baseline",))
                self.problems.add(key_path, f"the baseline can't send records of this size: {words}")

    def _check_load(self) -> None:
        """Check the keys of the records, and that the model of a simulated cluster can describe the load."""
        section = self.file.workload
        try:
            _workload(section).saturating(section.record_bytes[0])
        except WorkloadRefused as error:
            self.problems.add(("workload", "different_keys"), str(error))
        if self.file.executor.kind is Executor.SIMULATED:
            if section.paced.peak_ratio != 1:
                self.problems.add(("workload", "paced", "peak_ratio"), "must be 1: a simulated cluster has no bursts")
            if section.different_keys is not None:
                self.problems.add(("workload", "different_keys"), "must be left out: a simulated cluster has no keys")

    def _check_acknowledged(self, baseline: ProducerConfig) -> None:
        """Check that the baseline does not use acks=0 if the study optimises a latency, which acks=0 can't show."""
        objectives, _ = self.file.objectives
        latencies = [each.metric for each in objectives if OUTCOME_METRICS[each.metric].needs_acknowledgement]
        if not self.searched or baseline.acks != 0 or not latencies:
            return
        rule = f"the objective {latencies[0]} needs a baseline that waits for acknowledgements"
        advice = "set `objectives: throughput`, or use a baseline with acks=1 or acks=all"
        baseline_in_file, key_path = self.file.baseline, ("baseline",)
        if isinstance(baseline_in_file, str):
            self.problems.add(
                key_path, f"{rule}, but {self.problems.written.get(key_path, baseline_in_file)} has acks=0; {advice}"
            )
            return
        name = next(name for name in baseline_in_file if baseline.client.catalogue.find(name).name == "acks")
        self.problems.refuse((*key_path, name), Refusal(rule, advice), baseline_in_file[name])

    def _check_consumers(self, baseline: ProducerConfig, targets: tuple[Target, ...]) -> None:
        """Check that there are consumers for the metrics that need them, and that they can measure."""
        workload, key_path = self.file.workload, ("workload", "consumers")
        objectives, constraints = self.file.objectives
        metrics = [each.metric for each in objectives]
        metrics += [each.metric for each in (*constraints, *self.file.constraints)]
        needy = next((name for name in metrics if name.startswith(OF_CONSUMERS)), None)
        if needy is not None and not workload.consumers:
            self.problems.add(key_path, f"the metric {needy} needs consumers; set `consumers: 1`")
        if not workload.consumers:
            return
        # The partitions of the user's own topic, or of a topic like it, are counted when the consumers begin to read.
        makes_topic = all(target.topic is None and target.like is None for target in targets)
        if makes_topic and workload.consumers > workload.partitions:
            self.problems.add(
                key_path,
                f"each consumer needs a partition of its own, but there are {workload.consumers} consumers and "
                f"{counted(workload.partitions, 'partition')}; raise partitions, or lower consumers",
            )
        if self.file.executor.kind is Executor.SIMULATED:
            self.problems.add(key_path, "a simulated cluster has no consumers; leave consumers out")
        if baseline.acks == 0:
            self.problems.add(
                key_path,
                "with acks=0 the producer learns no offsets, so end-to-end latency is unknown; leave consumers out",
            )

    def _check_space(self, spec: StudySpec) -> None:
        """Check that the search has at least one knob to change, for each record size.

        The topic's max.message.bytes is not known yet. Knobs are checked against it later, when the topic exists.
        """
        for size in spec.workload.record_sizes:
            try:
                spec.space_of(size, DEFAULT_MAX_MESSAGE_BYTES + size.largest_bytes + spec.workload.key_bytes)
            except ConfigError as error:
                if isinstance(error, NothingToSearch) and not self.searched:
                    continue  # the user gives the configs, so no knob has to be searched
                knob = error.knob if isinstance(error, InvalidKnob | EmptySpace) else ""
                key_path: KeyPath = ("space", knob) if knob in self.file.space else ("space",)
                self.problems.add(key_path, self.problems.words(error, ("space",), ("baseline",)))

    def _baseline(self) -> tuple[ProducerConfig, tuple[str, ...]]:
        """Return the baseline, and sentences for the user about the file from which it was read."""
        baseline, key_path, client = self.file.baseline, ("baseline",), self.file.client
        try:
            if not isinstance(baseline, str):
                return ProducerConfig.parse(baseline, client), ()
            file = self.files.producer(baseline, key_path, self.file.baseline_client, client)
            if self.searched:  # otherwise, the user names the configs
                file.check_floor(self.file.durability, DURABILITY[self.file.durability])
            return file.config, file.notes
        except ConfigError as error:
            if isinstance(baseline, str):
                self.problems.add(key_path, self.files.words(baseline, key_path, error))
            else:
                place = _key_path_of_error(client, error, key_path, baseline)
                self.problems.add(place, self.problems.words(error, key_path))
        return ProducerConfig.parse({}, client), ()


def _key_path_of_error(client: Client, error: ConfigError, key_path: KeyPath, values: Mapping[str, Value]) -> KeyPath:
    """Return the key path of the property that caused an error, or `key_path` (the whole section) if none is known."""
    if isinstance(error, RuleBroken):
        knobs = next((rule.knobs for rule in client.rules if rule.name == error.rule), ())
        return next(((*key_path, name) for name in values if name in knobs), key_path)
    return key_path


def _workload(section: WorkloadSection) -> WorkloadSpec:
    values = {**_values(section), "saturate": section.saturate.spec(), "paced": section.paced.spec()}
    del values["record_bytes"]
    return WorkloadSpec(
        record_sizes=tuple(section.record_bytes),
        rate_records_per_s=section.paced.rate_records_per_s,
        rate_ratio=section.paced.rate_ratio,
        peak_ratio=section.paced.peak_ratio,
        **values,
    )


def _confirm(section: ConfirmSection) -> ConfirmSpec:
    values = {**_values(section), "goals": tuple(section.goals), "spread_over_s": section.spread_over}
    del values["spread_over"]
    if "max_rounds" in section.model_fields_set and "rounds" not in section.model_fields_set:
        values["rounds"] = min(section.rounds, section.max_rounds)
    return ConfirmSpec(**values)


def _values(section: Section) -> dict[str, Any]:
    return {name: getattr(section, name) for name in type(section).model_fields}
