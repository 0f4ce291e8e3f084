"""The Python façade: what a notebook needs, and what the command line and the service are made of.

    import tuner

    study = tuner.run_study("overnight.yaml")          # or tuner.load_study("overnight")
    study.trials                                       # a pandas DataFrame
    best = tuner.recommend(study, record_bytes=1000, goal="throughput")
    print(best.config.values, best.gains["mb_per_s"])

Importing this is quick: heavy libraries are imported when something is called.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import optuna
    import pandas as pd
    from optuna.storages import BaseStorage

    from runners.measurement import Measurement
    from search_spaces.producer_config import ProducerConfig
    from search_spaces.space import SearchSpace
    from tuner.course.reporter import Reporter
    from tuner.model.spec import Goal, StudySpec
    from tuner.results.recommendation import Recommendation
    from tuner.results.study_results import SizeResults, StudyResults
    from tuner.search.samplers import OwnSampler

__all__ = ["Study", "bench", "front", "load_study", "optuna_study", "recommend", "run_study"]


@dataclass(frozen=True)
class Study:
    """A study that was run, as its record has it when it is loaded.

    Attributes:
        results: Everything found; what reports and recommendations are made from.
    """

    results: "StudyResults"

    @property
    def name(self) -> str:
        """Its name."""
        return self.results.name

    @property
    def folder(self) -> Path:
        """Where its files lie."""
        return self.results.folder

    @property
    def record_sizes(self) -> tuple[str, ...]:
        """The record sizes and mixes that it measured."""
        return tuple(size.record_bytes for size in self.results.sizes)

    @cached_property
    def trials(self) -> "pd.DataFrame":
        """All trials, a row each: see `tuner.present.frames.trials_frame` for the columns."""
        from tuner.present.frames import trials_frame

        return trials_frame(self.results.sizes)

    def size(self, record_bytes: int | str | None = None) -> "SizeResults":
        """The results of one record size.

        Args:
            record_bytes: As an int, as a text, or a mix as the study file has it; may be left out where there is one.

        Raises:
            ValueError: The study did not measure it, or has several and none was named.
        """
        there = ", ".join(self.record_sizes) or "none yet"
        if record_bytes is None and len(self.results.sizes) == 1:
            return self.results.sizes[0]
        found = None if record_bytes is None else self.results.size(_size_text(record_bytes))
        if found is None:
            raise ValueError(f"a record size must be one of the study's ({there}), but got {record_bytes}")
        return found


def run_study(
    study: "StudySpec | Mapping[str, Any] | str | Path",
    *,
    sampler: "OwnSampler | None" = None,
    reporter: "Reporter | None" = None,
    warn: Callable[[str], None] | None = None,
    mlflow: bool = True,
    searching: bool = True,
    folder: Path | None = None,
    text: str = "",
) -> Study:
    """Run a study to its end, or go on with it; then write its report.

    Args:
        study: A study file's path, its sections as a mapping, or a `StudySpec`.
        sampler: A sampler of Optuna's interface in place of `search.method`: an instance for all proposals, or a
            function that makes one from a seed for each, so that a study that was killed proposes what it would have.
        reporter: Told what happens; nobody by default.
        warn: Told what MLflow can't show yet; the reporter by default.
        mlflow: Whether MLflow mirrors it, where the study does not switch that off.
        searching: Whether to search; else what the search has found so far is confirmed anew.
        folder: Where its files lie; by default below `KAFKA_TUNER_STUDIES`, or `./studies`.
        text: With a `StudySpec`, the study file that is kept with the results.

    Raises:
        StudyFileError: The study can't be done as it is written; every problem is named.
        StudyChanged: The record of that name answers another question.
        StudyBusy: Another process is running this study.
        RunnerError: The target can't be used; the study can be gone on with.
        TooManyFailures: Trial after trial gave no measurement.
    """
    from tuner.course.reporter import SilentReporter
    from tuner.course.run import run_study as run
    from tuner.model.spec import StudySpec
    from tuner.present.report import write_all_artifacts
    from tuner.present.report.bundle import write_study
    from tuner.results.racing_savings import RacingSavings
    from tuner.storage.home import study_folder
    from tuner.study_file import drop_used_secrets, load_study, parse_study
    from tuner.tracking import Mirror

    told = reporter or SilentReporter()
    if isinstance(study, StudySpec):
        spec = study
    elif isinstance(study, Mapping):
        import yaml

        text = yaml.safe_dump(dict(study), sort_keys=False)
        spec = parse_study(text, name="study", folder=Path.cwd(), origin="the study", environ=os.environ)
    else:
        spec, text = load_study(Path(study))
    drop_used_secrets(text, os.environ)
    place = folder or study_folder(spec.name)
    tracking = replace(spec.tracking, enabled=spec.tracking.enabled and mlflow)
    mirror = None
    if tracking.enabled:
        mirror = Mirror(place, tracking, warn or told.say, extra_artifacts=write_all_artifacts)
    if sampler is not None:
        name = getattr(sampler, "__name__", type(sampler).__name__)
        spec = replace(spec, search=replace(spec.search, sampler=f"{name} of the user's"))
    results = run(spec, text, place, told, mirror, sampler=sampler, searching=searching)
    if savings := str(RacingSavings.of(trial for size in results.sizes for trial in size.trials)):
        told.say(savings)
    told.say("writing the report")
    write_study(results)
    return Study(results)


def load_study(study: str | Path, *, storage: str | None = None) -> Study:
    """Read a study that was run, or is running.

    Args:
        study: Its name, its folder, or its study file.
        storage: Address of a shared storage; by default KAFKA_TUNER_STORAGE, or folders here.

    Raises:
        StudyNotFound: There is none; the message names those that there are.
        StorageUnreachable: The shared storage does not answer.
    """
    from tuner.results.study_results import load_results
    from tuner.storage.home import find_study, storage_at

    kept = storage_at(storage)
    return Study(load_results(find_study(str(study), storage=kept), kept))


def recommend(
    study: "Study | str | Path", record_bytes: int | str | None = None, goal: "Goal | str | None" = None
) -> "Recommendation":
    """Which config to use for a record size, and what can be said of it.

    Args:
        study: A loaded one, or its name, folder or file.
        record_bytes: One that was not measured is answered from the nearest, with a warning. May be left out where the
            study has one size.
        goal: `throughput`, `latency` or `balanced`; by default the first for which something is better than the
            baseline.

    Raises:
        NoFeasibleConfig: No config keeps every constraint.
        ValueError: There is no such goal, or several record sizes and none was named.
    """
    from tuner.model.spec import Goal
    from tuner.results.recommendation import recommend_for

    loaded = _loaded(study)
    size = loaded.size().record_bytes if record_bytes is None else _size_text(record_bytes)
    return recommend_for(loaded.results, size, None if goal is None else Goal(goal))


def front(study: "Study | str | Path", record_bytes: int | str | None = None) -> "pd.DataFrame":
    """The trials of a record size's Pareto front, with the columns of `Study.trials`.

    Args:
        study: A loaded one, or its name, folder or file.
        record_bytes: May be left out where the study has one size.
    """
    from tuner.present.frames import trials_frame

    frame = trials_frame([_loaded(study).size(record_bytes)])
    return frame[frame["on_front"]].reset_index(drop=True)


def optuna_study(
    study: "Study | str | Path", record_bytes: int | str | None = None, *, storage: "BaseStorage | str | None" = None
) -> "optuna.Study":
    """The search of one record size as a study of Optuna's, for `optuna.visualization` and optuna-dashboard.

    Complete trials have their values, params and constraints; user attributes say config, kind, verdict and guarantee.

    Args:
        study: A loaded one, or its name, folder or file.
        record_bytes: May be left out where the study has one size.
        storage: Where it is put, one of Optuna's or its address; memory by default.

    Raises:
        NotThisStudy: The storage has another study of that name.
        OptunaStorageUnusable: There is no storage at the address, and none can be made.
        StudyFileError: The kept study file can't be read any more, as a variable in it is not set, say.
    """
    from tuner.search.export import export, open_storage

    loaded = _loaded(study)
    size = loaded.size(record_bytes)
    kept = open_storage(storage) if isinstance(storage, str) else storage
    return export(loaded.results, size, _space_of(loaded, size.record_bytes), kept)


def bench(
    config: "ProducerConfig | Mapping[str, Any] | str | Path | None" = None,
    *,
    record_bytes: int | str = 1000,
    bootstrap: str | None = None,
    rate_records_per_s: float | None = None,
    warmup_s: float = 3.0,
    measured_s: float = 10.0,
) -> "Measurement":
    """Measure one producer config.

    Args:
        config: Properties by Kafka's names, or a properties file; the client's defaults by default.
        record_bytes: A size, or a mix as a study file has it.
        bootstrap: The cluster's addresses; a broker is started for it by default.
        rate_records_per_s: A fixed rate, for latencies; as fast as acknowledgements allow by default, for capacity.
        warmup_s: Seconds of load before anything counts.
        measured_s: Seconds that count.

    Raises:
        ConfigError: The client would not take the config.
        TargetError: The cluster does not answer, or refuses.
    """
    from runners.workload import RecordSizes, Workload
    from tuner.course.open_target import open_target
    from tuner.model.target import Target

    load = Workload(
        RecordSizes.parse(_size_text(record_bytes)),
        warmup_s=warmup_s,
        measured_s=measured_s,
        rate_records_per_s=rate_records_per_s,
    )
    with open_target(Target(bootstrap=bootstrap)) as opened:
        return opened.runner().run(_config(config), load)


def _loaded(study: Study | str | Path) -> Study:
    return study if isinstance(study, Study) else load_study(study)


def _size_text(record_bytes: int | str) -> str:
    """A record size as records name it."""
    from runners.workload import RecordSizes

    return str(RecordSizes.parse(str(record_bytes)))


def _config(config: "ProducerConfig | Mapping[str, Any] | str | Path | None") -> "ProducerConfig":
    from search_spaces.producer_config import ProducerConfig
    from search_spaces.properties_file import read_properties

    if isinstance(config, ProducerConfig):
        return config
    if config is None or isinstance(config, Mapping):
        return ProducerConfig.parse(config or {})
    return ProducerConfig.parse(read_properties(Path(config)))


def _space_of(study: Study, record_bytes: str) -> "SearchSpace":
    """The search space of a record size, from the study file that was kept."""
    from collections import defaultdict

    from runners.clusters.topics import DEFAULT_MAX_MESSAGE_BYTES
    from runners.workload import RecordSizes
    from tuner.search.schedule import space_of
    from tuner.study_file import StudyFileError, parse_study

    results = study.results

    def parsed(environ: Mapping[str, str]) -> "StudySpec":
        origin = str(results.folder / "study.yaml")
        return parse_study(results.study_file, name=results.name, folder=Path.cwd(), origin=origin, environ=environ)

    try:
        spec = parsed(os.environ)
    except StudyFileError as error:
        # Secrets and addresses say nothing of the space: what is not set here may be anything.
        try:
            spec = parsed(defaultdict(lambda: "1", os.environ))
        except StudyFileError:
            raise error from None
    topic_max = results.facts.get("topic_max_message_bytes", DEFAULT_MAX_MESSAGE_BYTES)
    return space_of(spec, RecordSizes.parse(record_bytes), topic_max)
