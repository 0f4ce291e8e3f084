"""The measurements of studies and experiments, in the form in which the performance model is fitted to them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import geometric_mean
from typing import Final

from runners.performance_model.settings import Settings
from runners.workload import Workload
from search_spaces.configs.producer_config import ProducerConfig
from tuner.model.errors import NothingToFit
from tuner.model.facts import TOPIC_SHAPE
from tuner.model.row import Row
from tuner.model.trial import State, Trial, TrialKind
from tuner.prediction.predicted_metrics import BATCHES, CONSUMERS, CPU, FULL_SPEED_METRICS, LATENCIES
from tuner.results.experiments.experiment_results import ExperimentResults
from tuner.results.study_load import study_producers, study_workload
from tuner.results.study_results import StudyResults

_STEADY_HELD_RATIO: Final = 0.98
"""The least share of the fixed rate that a trial must hold for its latencies to be used.

Below it, the queue grows, and the latency shows only how long the load lasted. This is stricter than the constraint of
a study (`LEAST_HELD_RATIO`): the model describes only queues that do not grow, and a single trial with a growing queue
would distort the constants.
"""


@dataclass(frozen=True, slots=True)
class Observation:
    """The measured values of one config under one load.

    Attributes:
        config: The config.
        workload: The load.
        values: The measured values by metric, all above 0; for a config that was measured several times, the geometric
            means.
        producers: Number of producers that shared the load.
        measurements: How many measurements the values are means of. The more there are, the less noise the values have.
    """

    config: ProducerConfig
    workload: Workload
    values: Mapping[str, float]
    producers: int = 1
    measurements: int = 1

    @property
    def settings(self) -> Settings:
        """The producers' settings, as the performance model takes them."""
        return Settings.of(self.config, self.workload, self.producers)


def observations_of_study(study: StudyResults) -> list[Observation]:
    """Return the measured values of a study: for each config, those under its saturating and its paced load.

    Two kinds of trials are left out: burn-in runs, because the brokers were still cold, and trials that were stopped
    early.

    Raises:
        NothingToFit: The study has no such trials, or they have no metric to which the model is fitted.
    """
    producers = study_producers(study)
    observations = [
        each
        for size in study.sizes
        for each in observations_from_trials(
            size.trials, study_workload(study, size.record_bytes, size.rate_records_per_s), producers
        )
    ]
    if not _has_fitted_metric(observations):
        raise NothingToFit(f"a prediction needs measured trials, but {study.name} has none yet")
    return observations


def observations_from_trials(trials: Iterable[Trial], load: Workload, producers: int = 1) -> list[Observation]:
    """Return the measured values of the trials of a record size, as `observations_of_study` does.

    Args:
        trials: The trials.
        load: Their load at the fixed rate; without a rate if nothing was measured at a rate.
        producers: How many producers each trial had.
    """
    by_config: dict[str, list[Trial]] = defaultdict(list)
    for trial in trials:
        if is_usable_for_calibration(trial):
            by_config[trial.fingerprint].append(trial)
    saturating, observations = replace(load, rate_records_per_s=None), []
    for repeats in by_config.values():
        config = repeats[0].config()
        if values := _means(repeats, (*FULL_SPEED_METRICS, BATCHES, *CPU)):
            observations.append(Observation(config, saturating, values, producers, len(repeats)))
        held = list(filter(_held, repeats))
        if load.rate_records_per_s and (values := _means(held, (*LATENCIES, *CONSUMERS))):
            observations.append(Observation(config, load, values, producers, len(held)))
    return observations


def is_usable_for_calibration(trial: Trial) -> bool:
    """Return whether the performance model can be fitted to a trial: it is complete, and the brokers were warm."""
    return trial.kind is not TrialKind.BURN_IN and trial.state is State.COMPLETE and not trial.stopped_early


def observations_of_experiment(experiment: ExperimentResults) -> list[Observation]:
    """Return the measured values of the rows of an experiment. Rows that the model does not describe are left out.

    Raises:
        NothingToFit: There is no measured row that the model describes.
    """
    observations = []
    for row in experiment.rows:
        saturating = row.row.workload.rate_records_per_s is None
        metrics = (*FULL_SPEED_METRICS, BATCHES, *CPU) if saturating else (*LATENCIES, BATCHES)
        usable = [trial for trial in row.trials if trial.state is State.COMPLETE and (saturating or _held(trial))]
        if is_described(row.row, experiment) and (values := _means(usable, metrics)):
            load = replace(row.row.workload, **experiment.facts.get(TOPIC_SHAPE, {}))
            observations.append(Observation(row.row.config, load, values, row.row.setup.producers, len(usable)))
    if not any(trial.state is State.COMPLETE for row in experiment.rows for trial in row.trials):
        raise NothingToFit(
            f"a prediction needs measured rows, but {experiment.spec.name} has none yet; name another study or "
            "experiment"
        )
    if not _has_fitted_metric(observations):
        raise NothingToFit(
            "a prediction needs rows in the control's zone, without consumers, bursts, killed brokers or a single "
            f"payload, but {experiment.spec.name} has none yet"
        )
    return observations


def _has_fitted_metric(observations: Iterable[Observation]) -> bool:
    """Return whether any observation has a metric to which the model is fitted."""
    return any({*FULL_SPEED_METRICS, *LATENCIES} & each.values.keys() for each in observations)


def _held(trial: Trial) -> bool:
    return trial.metrics.get("held_rate_ratio", 0.0) >= _STEADY_HELD_RATIO


def is_described(row: Row, experiment: ExperimentResults) -> bool:
    """Return whether the model can describe a row: producers alone in the control's zone, and no broker is killed."""
    load, setup, usual = row.workload, row.setup, experiment.control.row.setup
    same_place = (setup.same_zone, setup.placement) == (usual.same_zone, usual.placement)
    even = not load.consumers and not load.one_payload and load.peak_ratio == 1
    return even and same_place and setup.broker_killed_s is None


def _means(trials: Sequence[Trial], metrics: Sequence[str]) -> dict[str, float]:
    """Return the geometric mean of each metric over the trials that have it."""
    values = {name: [trial.metrics[name] for trial in trials if trial.metrics.get(name, 0.0) > 0] for name in metrics}
    return {name: geometric_mean(known) for name, known in values.items() if known}
