"""The source of predictions: the measurements of a study or an experiment, and a config to start a what-if from."""

from dataclasses import dataclass, replace
from pathlib import Path

from runners.performance_model.constants import ClusterConstants
from runners.workload import RecordSizes, Workload
from search_spaces.configs.producer_config import ProducerConfig
from tuner.model.errors import NoFeasibleConfig, NotAStudy
from tuner.model.facts import IDENTITY, TOPIC_SHAPE
from tuner.prediction.calibration import Calibration, calibrate
from tuner.prediction.fitted_constants import similar_host
from tuner.prediction.observations import Observation, is_described, observations_of_experiment, observations_of_study
from tuner.results.experiments.experiment_results import ExperimentResults, load_experiment
from tuner.results.recommendations.recommend import recommend
from tuner.results.study_load import assumed_shape, study_producers, study_workload
from tuner.results.study_results import SizeResults, StudyResults, load_results, mixed_environments, unfinished


@dataclass(frozen=True, slots=True)
class PredictionSource:
    """The measurements of a study or an experiment, and the config whose settings a question changes.

    Attributes:
        name: Name of the study or experiment.
        observations: Its measurements.
        start: The constants that the fit begins with.
        config: The config with which a what-if begins. For a study, it is the recommended config, or else the baseline.
            For an experiment, it is the control, or else the first row that the model describes.
        config_name: The name of this config: `recommended`, `baseline`, or the name of its row.
        workload: The load of that config, at the rate at which latencies were measured if there is one.
        producers: Number of producers that shared the load.
        simulated: Whether nothing was measured on Kafka.
        warnings: What makes predictions less reliable, as sentences: for example, that nothing was measured.
        users_cluster: Whether the cluster is one of the user's, and not one that the tuner started.
    """

    name: str
    observations: tuple[Observation, ...]
    start: ClusterConstants
    config: ProducerConfig
    config_name: str
    workload: Workload
    producers: int
    simulated: bool = False
    warnings: tuple[str, ...] = ()
    users_cluster: bool = False

    def calibrated(self) -> Calibration:
        """Return the performance model, fitted to the measurements."""
        return calibrate(self.observations, self.start)


def read_source(folder: Path, record_bytes: str | None = None) -> PredictionSource:
    """Read a study or an experiment for predictions.

    Args:
        folder: The folder of the study or experiment.
        record_bytes: The record size or mix whose config is returned; None for the first. If the study did not measure
            it, the one with the nearest mean is taken.

    Raises:
        NothingToFit: It has no measurements, or none that the model describes.
        WorkloadRefused: `record_bytes` is no record size.
        StudyNotFound: The folder holds no study and no experiment.
        ResultsDamaged: Its results can't be read.
    """
    try:
        study = load_results(folder)
    except NotAStudy:
        return source_of_experiment(load_experiment(folder))
    return source_of_study(study, record_bytes)


def source_of_study(study: StudyResults, record_bytes: str | None) -> PredictionSource:
    """Return the source of predictions from a study.

    Args:
        study: The study.
        record_bytes: As for `read_source`.

    Raises:
        NothingToFit: It has no measurements, or none that the model describes.
        WorkloadRefused: `record_bytes` is no record size.
    """
    observations = tuple(observations_of_study(study))
    size = _nearest(study, record_bytes)
    config, config_name = _recommended(study, size)
    target, *_ = study.facts.get(IDENTITY, {}).get("target") or [{}]
    users_cluster = target.get("bootstrap") is not None
    return PredictionSource(
        name=study.name,
        observations=observations,
        start=similar_host(config.client, shared=not users_cluster),
        config=config,
        config_name=config_name,
        workload=study_workload(study, size.record_bytes, size.rate_records_per_s),
        producers=study_producers(study),
        simulated=study.simulated,
        warnings=(*study.warnings, *filter(None, [assumed_shape(study)])),
        users_cluster=users_cluster,
    )


def _nearest(study: StudyResults, record_bytes: str | None) -> SizeResults:
    """Return the results of the measured record size whose mean is nearest to a size; those of the first for None."""
    measured = [size for size in study.sizes if size.baseline is not None] or list(study.sizes)
    if record_bytes is None:
        return measured[0]
    wanted = RecordSizes.parse(record_bytes)

    def distance(size: SizeResults) -> tuple[float, bool]:
        sizes = RecordSizes.parse(size.record_bytes)
        return abs(sizes.mean_bytes - wanted.mean_bytes), sizes != wanted

    return min(measured, key=distance)


def _recommended(study: StudyResults, size: SizeResults) -> tuple[ProducerConfig, str]:
    """Return the config that the study recommends for a record size, and what to call it."""
    try:
        found = recommend(study, size.record_bytes)
    except NoFeasibleConfig:
        first = size.baseline or size.trials[0]
        return first.config(), "baseline"
    return found.trial.config(), "baseline" if found.is_baseline else "recommended"


def source_of_experiment(experiment: ExperimentResults) -> PredictionSource:
    """Return the source of predictions from an experiment.

    Raises:
        NothingToFit: It has no measurements that the model describes.
    """
    observations = tuple(observations_of_experiment(experiment))
    rows = [each.row for each in (experiment.control, *experiment.rows)]
    row = next(each for each in rows if each.setup.producers and is_described(each, experiment))
    rates = {each.workload.rate_records_per_s for each in observations} - {None}
    workload = replace(row.workload, **experiment.facts.get(TOPIC_SHAPE, {}))
    if workload.rate_records_per_s is None and len(rates) == 1:
        workload = replace(workload, rate_records_per_s=rates.pop())
    return PredictionSource(
        name=experiment.spec.name,
        observations=observations,
        start=similar_host(row.config.client, shared=experiment.spec.target.bootstrap is None),
        config=row.config,
        config_name=row.name,
        workload=workload,
        producers=row.setup.producers,
        warnings=(*mixed_environments(experiment.facts), *unfinished(experiment.spec.name, experiment.facts)),
        users_cluster=experiment.spec.target.bootstrap is not None,
    )
