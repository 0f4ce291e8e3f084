"""Runs an experiment: measures all its rows in each round, stores every measurement, and resumes after a kill.

An experiment uses the parts of a study: the bench, which applies limits, waits for lost brokers and repeats attempts;
the results store; the copy in MLflow; the lock on the cluster. A study asks a sampler for its next config, and an
experiment takes the next row.
"""

import datetime
import time
import uuid
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from objectives.row_metrics import row_metrics_of
from runners.errors import WorkloadRefused
from runners.host_processes.clean_up import remove_folders_of_dead
from runners.runner import Runner
from tuner.execution.environment import machine_name, topic_shape
from tuner.execution.experiments.experiment_reporter import ExperimentReporter
from tuner.execution.experiments.experiment_steps import ExperimentStep, burn_ins_before, steps_left, with_stored_rounds
from tuner.execution.experiments.reading_row import measure_reading
from tuner.execution.mirroring import Mirror, mlflow_experiment, tracking_fact
from tuner.execution.open_bench import BenchSpec, counts, open_bench, removed_if_unmeasured
from tuner.execution.open_target import OpenTarget
from tuner.execution.trial_keeper import TrialKeeper, utc_now
from tuner.execution.trials.bench import Bench
from tuner.execution.trials.early_end import ToTheEnd, WhenSteady
from tuner.execution.trials.trial_from_measurements import trial_of
from tuner.execution.trials.trial_job import StartedTrial, TrialJob
from tuner.execution.trials.trial_target import ClusterTarget
from tuner.model.experiment import ROW_BURN_IN_S, ExperimentSpec
from tuner.model.facts import (
    EXPERIMENT,
    FINISHED_AT,
    FOUND_CONFIGS,
    IDENTITY,
    LIMITS,
    MLFLOW_EXPERIMENT,
    NAME,
    RECORD_SIZES,
    STARTED_AT,
    STUDY_ID,
    TARGET,
    TOPIC_SHAPE,
    TRACKING,
)
from tuner.model.identity import check_same_rows, experiment_identity
from tuner.model.progress import Progress, StudyState
from tuner.model.row import Row
from tuner.model.trial import PACED, SATURATED, Proposal, Trial, TrialKind
from tuner.storage.locations import storage_at
from tuner.storage.protocols import ResultsStore

_TOO_MANY: Final = "an experiment ends after {} measurements in a row have failed"
_BURN_IN_OF_TRIAL_RATIO: Final = 0.5
"""The burn-in of a row may send this share of `safety.max_bytes_per_trial`."""


def measure_experiment(
    spec: ExperimentSpec,
    text: str,
    folder: Path,
    reporter: ExperimentReporter,
    mirror: Mirror | None = None,
    *,
    simulated: Runner | None = None,
    mix_environments: bool = False,
) -> None:
    """Measure an experiment to its end; an experiment that already has measurements is continued.

    Args:
        spec: The specification of the experiment, with the configs that its searches recommended.
        text: The text of the experiment file, which is kept with the results.
        folder: The folder of the experiment's files.
        reporter: Shows the user the progress.
        mirror: Copies the results to another place, such as MLflow; None for no copy.
        simulated: A runner that computes the measurements without a cluster; None to measure on a cluster.
        mix_environments: Whether to continue an experiment that was started on another host, with another version of
            the client, or on another cluster.

    Raises:
        StudyChanged: The stored measurements belong to an experiment with other rows, or to a study.
        StudyBusy: Another process is running this experiment.
        RunnerError: The cluster can't be used, or we stopped to protect it. Run the experiment again to continue it.
        TooManyFailures: Too many measurements in a row failed. Run the experiment again to continue it.
    """
    spec.check_zones()
    with ExitStack() as stack:
        stack.callback(remove_folders_of_dead)
        storage = storage_at()
        stack.enter_context(removed_if_unmeasured(storage, folder, spec.name, reporter.say, measured=counts))
        store = stack.enter_context(storage.drive(folder, spec.name, reporter.say))
        wanted_rounds, spec = spec.rounds, with_stored_rounds(spec, store.trials())
        if spec.rounds > wanted_rounds:
            reporter.say(
                f"round {spec.rounds} of {spec.name} was begun, so all {spec.rounds} rounds are measured, "
                f"not {wanted_rounds}"
            )
        _begin(spec, text, store)
        if not steps_left(spec, store.trials()):
            reporter.say(f"{spec.name} is finished; `tuner experiment report {spec.name}` shows it")
            return
        wanted = _bench_spec(spec, folder, simulated)
        keeper = TrialKeeper(store, mirror, spec.safety.max_failures_in_a_row, _TOO_MANY, len(store.trials()))
        with keeper.telling_end():
            opening = open_bench(wanted, store, reporter.say, mirror, mix_environments=mix_environments)
            bench = stack.enter_context(opening)
            RowLoop(spec, keeper, bench, reporter).run()


def _begin(spec: ExperimentSpec, text: str, store: ResultsStore) -> None:
    """Check that the stored measurements are of this experiment's rows, and store the facts of the experiment.

    Raises:
        StudyChanged: The measurements are of other rows, or belong to a study.
    """
    facts, identity = store.facts(), experiment_identity(spec)
    if store.trials():
        check_same_rows(spec, facts)
    new: dict[str, Any] = {
        NAME: spec.name,
        EXPERIMENT: True,
        TARGET: spec.target.label,
        RECORD_SIZES: list(dict.fromkeys(str(row.workload.record_sizes) for row in spec.rows)),
        TRACKING: tracking_fact(spec.tracking),
        IDENTITY: identity,
        LIMITS: {"rounds": spec.rounds, "measurements": spec.measurements},
        **({FINISHED_AT: None} if steps_left(spec, store.trials()) else {}),
        FOUND_CONFIGS: {row.name: dict(row.config.values) for row in spec.rows if row.best_of is not None},
    }
    if STUDY_ID not in facts:
        new |= {
            STUDY_ID: uuid.uuid4().hex,
            STARTED_AT: utc_now().isoformat(timespec="seconds"),
            MLFLOW_EXPERIMENT: mlflow_experiment([spec.target], machine_name()),
        }
    for name, value in new.items():
        store.set_fact(name, value)
    store.set_study_file(text)


def _bench_spec(spec: ExperimentSpec, folder: Path, simulated: Runner | None) -> BenchSpec:
    """Return the clusters, clients and workers with which an experiment measures."""
    ray = spec.ray.cluster([spec.target]) if simulated is None else None
    setups = [row.setup for row in spec.rows if row.setup.producers]
    most_replicated = max(spec.rows, key=lambda row: row.workload.replication)
    return BenchSpec(
        name=spec.name,
        folder=folder,
        targets=(spec.target,),
        clients=list(dict.fromkeys(row.config.client for row in spec.rows)),
        most_replicas=(most_replicated.workload.replication, f"replication of the row {most_replicated.name!r}"),
        least_warmup_s=min(row.workload.warmup_s for row in spec.rows),
        broker_wait_s=spec.safety.broker_wait_s,
        topic_facts=partial(_topic_facts, spec),
        simulated=simulated,
        on_ray=ray is not None,
        ray=ray,
        ray_jobs=list(dict.fromkeys((each.placement, each.producers) for each in setups)),
    )


def _topic_facts(spec: ExperimentSpec, target: OpenTarget | None) -> dict[str, Any]:
    """Return the partitions and the replication of the topics, if the rows do not set them."""
    if target is None or (spec.target.topic is None and spec.target.like is None):
        return {}
    with target.topic_for_run()(spec.rows[0].workload) as topic:
        return {TOPIC_SHAPE: topic_shape(topic)}


@dataclass(slots=True)
class RowLoop:
    """Makes the measurements of an experiment that are still missing.

    Attributes:
        spec: The specification of the experiment.
        keeper: Stores the measurements in the results store.
        bench: Measures the rows that have producers.
        reporter: Shows the user the progress of the experiment.
    """

    spec: ExperimentSpec
    keeper: TrialKeeper
    bench: Bench
    reporter: ExperimentReporter

    def run(self) -> None:
        """Make the missing measurements, and store that the experiment is finished."""
        left = steps_left(self.spec, self.keeper.store.trials())
        control, *others = burn_ins_before(self.spec, left)
        burn_ins = [ExperimentStep(row, None, 0, self.spec.measurements) for row in (control, *others)]
        steps = [*burn_ins, *left]
        for index, step in enumerate(steps):
            if index == 0:
                until = "until its throughput shows no trend" if control.setup.producers else "once"
                self.reporter.say(f"measuring {control.name} {until}; this does not count")
            elif index == 1 and others:
                self.reporter.say(
                    f"measuring the others for up to {ROW_BURN_IN_S:.0f} s each; this does not count, because brokers "
                    "are slow at first with a config that is new to them"
                )
            self._measure(step, left_s=sum(each.row.planned_s for each in steps[index:]))
        self.keeper.store.set_fact(FINISHED_AT, utc_now().isoformat(timespec="seconds"))

    def _measure(self, step: ExperimentStep, left_s: float) -> None:
        """Measure a row, and store the result.

        Raises:
            SafetyStop: We stopped to protect the cluster.
            TargetError: The cluster can't be used.
            TooManyFailures: Too many measurements in a row failed.
        """
        row, burns_in, safety = step.row, step.round is None, self.spec.safety
        size = row.workload.record_sizes
        number = sum(trial.record_bytes == str(size) for _, trial in self.keeper.store.trials())
        kind = TrialKind.BURN_IN if burns_in else TrialKind.MEASUREMENT
        started = StartedTrial(
            size, number, kind, Proposal(row.config), utc_now(), time.monotonic(), step.round, row.name
        )
        self._tell_step(step, left_s)
        if not row.setup.producers:
            trial, attachments, error = measure_reading(self._opened(row), row, started, safety)
            self._keep(step, trial, attachments, error)
            return
        workload = row.workload
        phase = SATURATED if workload.rate_records_per_s is None else PACED
        job = TrialJob(
            started,
            ((phase, workload),),
            max_bytes=safety.max_bytes_per_trial,
            min_free_disk_bytes=safety.min_free_disk_bytes,
            on_window=lambda _, window: self.reporter.window(step, window),
            ends=WhenSteady(_BURN_IN_OF_TRIAL_RATIO * safety.max_bytes_per_trial) if burns_in else ToTheEnd(),
            setup=row.setup,
        )
        self.bench.submit(job)
        outcome = self.bench.next_done()
        trial, attachments = trial_of(outcome, (), (), None, time.monotonic())
        if (seen := outcome.measurements.get(phase)) is not None and not burns_in:
            trial = replace(trial, metrics=row_metrics_of(seen))
        self._keep(step, trial, attachments, outcome.error)

    def _keep(
        self, step: ExperimentStep, trial: Trial, attachments: Mapping[str, Any], error: BaseException | None
    ) -> None:
        """Store and show a measurement, and raise an error if it ends the experiment."""
        self.keeper.keep(trial, attachments)
        self.reporter.measured(step, trial)
        self.keeper.check(trial, error)

    def _opened(self, row: Row) -> OpenTarget:
        """Return the open target as the row's clients see it."""
        target = self.bench.targets[0]
        if not isinstance(target, ClusterTarget):
            raise WorkloadRefused(
                "consumers need a real cluster, because a simulated one has no records to read; leave consumers out"
            )
        return target.opened.in_same_zone() if row.setup.same_zone else target.opened

    def _tell_step(self, step: ExperimentStep, left_s: float) -> None:
        ends_at = utc_now() + datetime.timedelta(seconds=left_s)
        where = (
            "burn-in" if step.round is None else f"round {step.round + 1}, measurement {step.number} of {step.total}"
        )
        self.keeper.tell(
            Progress(
                StudyState.RUNNING,
                record_bytes=str(step.row.workload.record_sizes),
                trial=step.number,
                kind=TrialKind.BURN_IN if step.round is None else TrialKind.MEASUREMENT,
                trials=step.total,
                message=f"{where}: {step.row.name}",
                ends_at=ends_at.isoformat(timespec="seconds"),
            )
        )
