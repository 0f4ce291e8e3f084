"""The Python API, for notebooks and scripts. The command line and the service use it, too.

    import tuner

    study = tuner.run_study("overnight.yaml")          # or tuner.load_study("overnight")
    study.trials                                       # a pandas DataFrame
    best = tuner.recommend(study, record_bytes=1000, goal="throughput")
    print(best.config.values, best.gains["mb_per_s"])

Importing this module is quick, because each function imports the heavy libraries that it needs when it is called.
"""

import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tuner.model.facts import TOPIC_MAX_MESSAGE_BYTES
from tuner.model.study_files import REPORT_FILE, STUDY_FILE

if TYPE_CHECKING:
    import optuna
    import pandas as pd
    from optuna.storages import BaseStorage

    from runners.measurements.measurement import Measurement
    from search_spaces.configs.producer_config import ProducerConfig
    from tuner.execution.experiments.experiment_reporter import ExperimentReporter
    from tuner.execution.studies.study_progress import Reporter
    from tuner.model.experiment import ExperimentSpec
    from tuner.model.goals import Goal
    from tuner.model.spec import StudySpec
    from tuner.results.experiments.experiment_results import ExperimentResults
    from tuner.results.recommendations.recommendation import Recommendation
    from tuner.results.study_results import SizeResults, StudyResults
    from tuner.search.samplers import OwnSampler

_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True)
class Study:
    """The results of a study at the time when they were loaded.

    Attributes:
        results: All trials, fronts and confirmations, from which reports and recommendations are made.
    """

    results: "StudyResults"

    def __repr__(self) -> str:
        """Return `Study('overnight', record_sizes=('100', '1000'), trials=57, state='finished')`."""
        trials = sum(len(size.trials) for size in self.results.sizes)
        state = "finished" if self.results.finished else "unfinished"
        return f"Study({self.name!r}, record_sizes={self.record_sizes}, trials={trials}, state={state!r})"

    @property
    def name(self) -> str:
        """The study's name."""
        return self.results.name

    @property
    def folder(self) -> Path:
        """The folder with the study's files."""
        return self.results.folder

    @property
    def record_sizes(self) -> tuple[str, ...]:
        """The record sizes, and mixes of sizes, that the study measured."""
        return tuple(size.record_bytes for size in self.results.sizes)

    @cached_property
    def trials(self) -> "pd.DataFrame":
        """All trials, one per row; `tuner.present.trial_tables.frames.trials_frame` describes the columns."""
        from tuner.present.trial_tables.frames import trials_frame

        return trials_frame(self.results.sizes)

    def size(self, record_bytes: int | str | None = None) -> "SizeResults":
        """Return the results of one record size.

        Args:
            record_bytes: A size in bytes, as a number or a text, or a mix of sizes with weights such as
                `100:70,1000:30`. It may be left out if the study measured only one size.

        Raises:
            ValueError: The study did not measure this size, or measured several and `record_bytes` was left out.
        """
        found = self.results.selected_sizes(None if record_bytes is None else str(record_bytes))
        if len(found) != 1:
            there = ", ".join(self.record_sizes) or "none yet"
            raise ValueError(
                f"record_bytes may be left out if the study has one record size, but it has {there}; name one of them"
            )
        return found[0]


def run_study(
    study: "StudySpec | Mapping[str, Any] | str | Path",
    *,
    sampler: "OwnSampler | None" = None,
    reporter: "Reporter | None" = None,
    warn: Callable[[str], None] | None = None,
    mlflow: bool = True,
    searching: bool = True,
    folder: Path | str | None = None,
    text: str = "",
    mix_environments: bool = False,
) -> Study:
    """Run a study to its end, or resume it, and write its report.

    Args:
        study: The path of a study file, its sections as a mapping, or a `StudySpec`.
        sampler: An Optuna sampler to use instead of `search.method`. An instance proposes all configs. A function that
            takes a seed and returns a sampler is called before each proposal, so that a killed study proposes the same
            configs when it resumes.
        reporter: Receives the progress of the study; by default no progress is shown.
        warn: Called with a warning if MLflow does not show the whole study yet. By default the reporter shows it, or
            the logger `tuner.api` if there is no reporter.
        mlflow: Whether to write the study to MLflow, too. A study that switches MLflow off is never written there.
        searching: Whether to search. If False, the best configs of the earlier search are confirmed again.
        folder: The study's folder; by default below `KAFKA_TUNER_STUDIES`, or else below `./studies`.
        text: The text of the study file, which is kept with the results; used only if `study` is a `StudySpec`.
        mix_environments: Whether to resume a study whose trials were measured on another host, with another version of
            the client, or on another cluster. The report then says so.

    Raises:
        StudyFileError: The study file is wrong; the message names every problem.
        LimitTooLow: The study is new, and a limit leaves too little time or too few bytes. The message names the lowest
            limit that is allowed.
        StudyChanged: The results under this name were measured with other settings or in another environment.
        DeadlinePassed: The time of `search.until` has passed.
        StudyBusy: Another process is running this study.
        RunnerError: The Kafka cluster can't be used. Call the function again to resume the study.
        TooManyFailures: Too many trials in a row gave no measurement.
        TypeError: `sampler` is neither a sampler nor a function that returns one.
    """
    from tuner.execution.budgets.least_limits import check_limits
    from tuner.execution.studies.run import measure_study
    from tuner.execution.studies.study_progress import SilentReporter
    from tuner.present.report import write_all_artifacts
    from tuner.present.report.bundle import write_study
    from tuner.results.racing_savings import RacingSavings
    from tuner.search.samplers import check_own_sampler
    from tuner.storage.locations import storage_at, study_folder
    from tuner.study_file import drop_used_secrets
    from tuner.tracking import MlflowMirror

    warn = warn or (_LOG.warning if reporter is None else reporter.say)
    reporter = reporter or SilentReporter()
    spec, text = _spec_of(study, text)
    drop_used_secrets(text, spec.targets, os.environ)
    study_path = study_folder(spec.name) if folder is None else Path(folder)
    if searching and not storage_at().has(study_path):
        check_limits(spec)
    mirror = None
    if spec.tracking.enabled and mlflow:
        mirror = MlflowMirror(study_path, spec.tracking, warn, extra_artifacts=write_all_artifacts)
    if sampler is not None:
        check_own_sampler(sampler)
        name = getattr(sampler, "__name__", type(sampler).__name__)
        spec = replace(spec, search=replace(spec.search, sampler=f"{name} of the user's"))
    results = measure_study(
        spec,
        text,
        study_path,
        reporter,
        mirror,
        sampler=sampler,
        searching=searching,
        mix_environments=mix_environments,
    )
    if savings := str(RacingSavings.of(trial for size in results.sizes for trial in size.trials)):
        reporter.say(savings)
    reporter.say("writing the report")
    write_study(results)
    return Study(results)


def _spec_of(study: "StudySpec | Mapping[str, Any] | str | Path", text: str) -> "tuple[StudySpec, str]":
    """Return the specification of a study and the text of its file. The arguments are those of `run_study`."""
    from tuner.model.spec import StudySpec
    from tuner.study_file import parse_study, read_study_file, text_of_sections

    if isinstance(study, StudySpec):
        return study, text
    if isinstance(study, Mapping):
        text = text_of_sections(study, origin="the study")
        return parse_study(text, name="study", folder=Path.cwd(), origin="the study"), text
    return read_study_file(Path(study))


def run_experiment(
    experiment: "ExperimentSpec | str | Path",
    *,
    quick: bool = False,
    reporter: "ExperimentReporter | None" = None,
    study_reporter: "Reporter | None" = None,
    warn: Callable[[str], None] | None = None,
    mlflow: bool = True,
    text: str = "",
    mix_environments: bool = False,
) -> "ExperimentResults":
    """Run an experiment to its end, or resume it, and write its report. Its searches run first.

    Args:
        experiment: The name of an experiment that comes with the tuner, the path of an experiment file, or an
            `ExperimentSpec`.
        quick: Whether to run the short version of the experiment; not used if `experiment` is an `ExperimentSpec`.
        reporter: Receives the progress of the rows; by default no progress is shown.
        study_reporter: Receives the progress of the searches.
        warn: Called with a warning if MLflow does not show all measurements yet. By default the reporter shows it, or
            the logger `tuner.api` if there is no reporter.
        mlflow: Whether to write the experiment to MLflow, too.
        text: The text of the experiment file, which is kept with the results. It is required if `experiment` is an
            `ExperimentSpec`, and otherwise not used.
        mix_environments: Whether to resume an experiment that was started on another host, with another version of the
            client, or on another cluster.

    Raises:
        StudyFileError: The experiment file is wrong; the message names every problem.
        StudyChanged: The results under this name were measured with other rows or in another environment.
        StudyBusy: Another process is running this experiment.
        NoFeasibleConfig: A search found no config for a row.
        RunnerError: The Kafka cluster can't be used. Call the function again to resume the experiment.
        TooManyFailures: Too many measurements in a row failed.
        ValueError: `experiment` is an `ExperimentSpec`, but `text` is empty.
    """
    from tuner.execution.experiments.experiment import measure_experiment
    from tuner.execution.experiments.experiment_reporter import SilentExperimentReporter
    from tuner.experiment_file import read_experiment
    from tuner.model.experiment import ExperimentSpec
    from tuner.present.report.bundle import write_experiment
    from tuner.results.experiments.experiment_results import load_experiment
    from tuner.storage.locations import study_folder
    from tuner.study_file import drop_used_secrets
    from tuner.tracking import MlflowMirror

    warn = warn or (_LOG.warning if reporter is None else reporter.say)
    reporter = reporter or SilentExperimentReporter()
    spec = experiment
    if not isinstance(spec, ExperimentSpec):
        spec, text = read_experiment(str(spec), quick=quick)
    elif not text:
        raise ValueError("an ExperimentSpec needs the text of its file, which is kept with the results")
    drop_used_secrets(text, [spec.target], os.environ)
    spec = run_searches(spec, reporter=study_reporter, warn=warn, mlflow=mlflow, mix_environments=mix_environments)
    folder = study_folder(spec.name)
    mirrored = spec.tracking.enabled and mlflow
    mirror = MlflowMirror(folder, spec.tracking, warn) if mirrored else None
    measure_experiment(spec, text, folder, reporter, mirror, mix_environments=mix_environments)
    results = load_experiment(folder)
    write_experiment(results, folder / REPORT_FILE)
    return results


def run_searches(
    experiment: "ExperimentSpec",
    *,
    reporter: "Reporter | None" = None,
    warn: Callable[[str], None] | None = None,
    mlflow: bool = True,
    mix_environments: bool = False,
) -> "ExperimentSpec":
    """Run or resume the searches of an experiment, and return the experiment with the configs that they recommend.

    The arguments and errors are those of `run_study`. The returned experiment has no searches any more. If a row of the
    experiment was measured already, the searches do not run again, and the rows keep their configs.

    Raises:
        NoFeasibleConfig: A search recommends no config for a row.
        StudyChanged: The stored measurements belong to an experiment with other rows, or to a study.
        RayUnfit: A row names zones of a Ray cluster, but the experiment names no Ray cluster.
    """
    from tuner.execution.experiments.work_left import check_rows_unchanged
    from tuner.results.experiments.experiment_results import searched_configs
    from tuner.results.recommendations.recommend import recommend
    from tuner.storage.locations import study_folder

    experiment.check_zones()
    check_rows_unchanged(experiment, study_folder(experiment.name))
    if known := searched_configs(experiment, study_folder(experiment.name)):
        return replace(experiment.with_configs(known), searches=())
    studies = {
        search.name: run_study(
            search.study,
            text=search.text,
            reporter=reporter,
            warn=warn,
            mlflow=mlflow,
            mix_environments=mix_environments,
        ).results
        for search in experiment.searches
    }
    searched = [(row, row.best_of) for row in experiment.rows if row.best_of is not None and studies]
    configs = {
        row.name: recommend(studies[best_of.search], str(row.workload.record_sizes), best_of.goal).config.values
        for row, best_of in searched
    }
    return replace(experiment.with_configs(configs), searches=())


def load_experiment(experiment: str | Path, *, storage: str | None = None) -> "ExperimentResults":
    """Read the results of an experiment. It may still be running.

    Args:
        experiment: The experiment's name or its folder.
        storage: Address of a shared storage; by default KAFKA_TUNER_STORAGE, or else the studies folder on this host.

    Raises:
        StudyNotFound: There is no such experiment; the message names the studies that exist.
        RequestRefused: The name or folder is that of a study.
        StorageUnreachable: The shared storage does not answer.
    """
    from tuner.results.experiments.experiment_results import load_experiment as load
    from tuner.storage.locations import find_study, storage_at

    studies = storage_at(storage)
    return load(find_study(str(experiment), studies, what="experiment"), studies)


def load_study(study: str | Path, *, storage: str | None = None) -> Study:
    """Read the results of a study. It may still be running.

    Args:
        study: The study's name, its folder, or its study file.
        storage: Address of a shared storage; by default KAFKA_TUNER_STORAGE, or else the studies folder on this host.

    Raises:
        StudyNotFound: There is no such study; the message names the studies that exist.
        StudyFileError: The study file can't be read, or is not valid YAML.
        StorageUnreachable: The shared storage does not answer.
    """
    from tuner.results.study_results import load_results
    from tuner.storage.locations import find_study, storage_at

    studies = storage_at(storage)
    return Study(load_results(find_study(str(study), storage=studies), studies))


def recommend(
    study: "Study | str | Path",
    record_bytes: int | str | None = None,
    goal: "Goal | str | None" = None,
    *,
    allow_loss: float | None = None,
) -> "Recommendation":
    """Recommend a config for a record size.

    Args:
        study: A loaded study, or a study's name, folder or file.
        record_bytes: The record size. For a size that was not measured, the recommendation is that of the nearest
            measured size, with a warning. The argument may be left out if the study measured only one size.
        goal: `throughput`, `latency` or `balanced`. By default the goal is `balanced` if a config is proven better for
            it; otherwise it is the goal of the proven config with the greatest mean gain.
        allow_loss: How much worse than the baseline a balanced config may be in an objective, from 0 to 1; 0.1 is 10 %.
            A metric outside the goal is called "not worse" or "at most N % worse" if its loss is at most this share. By
            default `confirm.allow_loss` of the study.

    Raises:
        NoFeasibleConfig: No config meets every constraint.
        ValueError: The goal does not exist, `record_bytes` was left out and the study measured several sizes, or
            `allow_loss` is not between 0 and 1.
    """
    from tuner.model.goals import Goal
    from tuner.results.recommendations.recommend import recommend
    from tuner.results.recommendations.recommendation import Conditions

    if allow_loss is not None and not 0 <= allow_loss <= 1:
        raise ValueError(f"allow_loss must be from 0 to 1, but got {allow_loss}; 0.1 allows a loss of 10 %")
    loaded = _loaded(study)
    size = loaded.size().record_bytes if record_bytes is None else _size_text(record_bytes)
    return recommend(loaded.results, size, None if goal is None else Goal(goal), Conditions(allow_loss=allow_loss))


def front(study: "Study | str | Path", record_bytes: int | str | None = None) -> "pd.DataFrame":
    """Return the trials on the Pareto front of a record size, with the columns of `Study.trials`.

    Args:
        study: A loaded study, or a study's name, folder or file.
        record_bytes: The record size; it may be left out if the study measured only one size.

    Raises:
        ValueError: The study did not measure this size, or measured several and `record_bytes` was left out.
    """
    from tuner.present.trial_tables.frames import trials_frame

    frame = trials_frame([_loaded(study).size(record_bytes)])
    return frame[frame["on_front"]].reset_index(drop=True)


def optuna_study(
    study: "Study | str | Path", record_bytes: int | str | None = None, *, storage: "BaseStorage | str | None" = None
) -> "optuna.Study":
    """Return the search of one record size as an Optuna study, for `optuna.visualization` and optuna-dashboard.

    Complete trials have values, parameters and constraints. Their user attributes include the config, the kind of
    trial, the verdict and the guarantee.

    Args:
        study: A loaded study, or a study's name, folder or file.
        record_bytes: The record size; it may be left out if the study measured only one size.
        storage: The Optuna storage to write to, or its address; by default the Optuna study is kept in memory.

    Raises:
        NotThisStudy: The storage holds a different study of the same name.
        OptunaStorageUnusable: The address is wrong, or the file there can't be opened or created.
        StorageUnreachable: The database server does not answer, or refuses the tuner.
        StudyFileError: The study file that was kept with the results can't be read any more, for example because an
            environment variable in it is not set.
    """
    from runners.workload import RecordSizes
    from search_spaces.client_facts.sizes import DEFAULT_MAX_MESSAGE_BYTES
    from tuner.search.optuna_export import export, open_storage
    from tuner.study_file import parse_stored_study

    loaded = _loaded(study)
    size = loaded.size(record_bytes)
    opened = open_storage(storage) if isinstance(storage, str) else storage
    spec = parse_stored_study(loaded.results.study_file, name=loaded.name, origin=str(loaded.folder / STUDY_FILE))
    topic_max = loaded.results.facts.get(TOPIC_MAX_MESSAGE_BYTES, DEFAULT_MAX_MESSAGE_BYTES)
    space = spec.space_of(RecordSizes.parse(size.record_bytes), topic_max)
    return export(loaded.results, size, space, opened)


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
        config: Producer properties, or the path of a properties file; by default the client's defaults.
        record_bytes: A size in bytes, or a mix of sizes with weights such as `100:70,1000:30`.
        bootstrap: Addresses of the cluster; by default a broker is started for the measurement and removed after it.
        rate_records_per_s: A fixed rate, to measure latency. By default records are sent as fast as the client takes
            them, to measure throughput.
        warmup_s: Seconds of load before the measurement.
        measured_s: Seconds of load that are measured.

    Raises:
        ConfigError: The client does not accept the config.
        TargetError: The cluster does not answer, or refuses access.
        ValueError: An address of the cluster has no port.
    """
    from runners.workload import RecordSizes, Workload
    from tuner.execution.open_target import open_alone
    from tuner.model.target import Target, check_addresses
    from tuner.present.console import say

    load = Workload(
        RecordSizes.parse(_size_text(record_bytes)),
        warmup_s=warmup_s,
        measured_s=measured_s,
        rate_records_per_s=rate_records_per_s,
    )
    target = Target(bootstrap=None if bootstrap is None else check_addresses(bootstrap))
    measured = _config(config)
    with open_alone(target, "tuner.bench", say, client=measured.client) as opened:
        return opened.runner().run(measured, load)


def _loaded(study: Study | str | Path) -> Study:
    return study if isinstance(study, Study) else load_study(study)


def _size_text(record_bytes: int | str) -> str:
    """Return the text by which results name a record size or mix, such as `1000` or `100:70,1000:30`."""
    from runners.workload import RecordSizes

    return str(RecordSizes.parse(str(record_bytes)))


def _config(config: "ProducerConfig | Mapping[str, Any] | str | Path | None") -> "ProducerConfig":
    from search_spaces.configs.producer_config import ProducerConfig
    from search_spaces.files.producer_file import read_producer_file
    from search_spaces.files.properties_file import named_source

    if isinstance(config, ProducerConfig):
        return config
    if config is None or isinstance(config, Mapping):
        return ProducerConfig.parse(config or {})
    with named_source(Path(config).name):
        return read_producer_file(Path(config)).config
