"""Keeps in memory the results of the studies that recent queries needed."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from cachetools import LRUCache

from tuner.model.errors import ProblemKind, StudyNotFound
from tuner.model.facts import EXPERIMENT, STUDY_ID
from tuner.model.trial import SEARCHING_KINDS
from tuner.results.study_results import SizeResults, StudyResults, results_of
from tuner.service.problems import Problem
from tuner.storage.protocols import ResultsStore, Storage

if TYPE_CHECKING:
    from tuner.prediction.calibration import Calibration
    from tuner.prediction.prediction_source import PredictionSource

_KEPT_TRIALS: Final = 6_000
_KEPT_EXTENTS: Final = 10_000
_KEPT_CALIBRATIONS: Final = 100


@dataclass(frozen=True, slots=True)
class _Extent:
    """The sequence number of a study's last trial, the number of its trials, and the number of its search trials."""

    last: int = 0
    trials: int = 0
    search_trials: int = 0


class ResultsCache:
    """The results of the studies in one folder. They are read again only if they have changed.

    Args:
        storage: The storage that holds the studies' results.
        root: The folder of the studies on this host.
    """

    def __init__(self, storage: Storage, root: Path) -> None:
        self._storage = storage
        self._root = root
        self._kept: LRUCache[str, tuple[object, StudyResults]] = LRUCache(_KEPT_TRIALS, getsizeof=_size_in_cache)
        """The results of the most recently read studies, each with the value that `stamp` returned for the study."""
        self._extents: LRUCache[tuple[str, Any], _Extent] = LRUCache(_KEPT_EXTENTS)
        self._calibrations: LRUCache[str, tuple[object, Calibration]] = LRUCache(_KEPT_CALIBRATIONS)

    def open_store(self, study: str) -> ResultsStore:
        """Open the stored results of a study for reading. The caller closes them.

        Raises:
            StudyNotFound: There is no such study.
        """
        return self._storage.read(self._root / study)

    def results(self, study: str, store: ResultsStore) -> StudyResults:
        """Return the study's present results. They are read again only if they have changed since the last call."""
        # The stamp is computed before the results are read. If a trial is written in between, the results are read once
        # more than necessary, but a change is never missed.
        stamp = self.stamp(study, store)
        kept_stamp, results = self._kept.get(study, (None, None))
        if results is None or kept_stamp != stamp:
            results = results_of(store, self._root / study)
            self._kept[study] = (stamp, results)
        return results

    def source(self, study: str, store: ResultsStore, record_bytes: str | None) -> "PredictionSource":
        """Return the data of a study or an experiment from which predictions are computed.

        Args:
            study: The name of the study or experiment.
            store: Its stored results.
            record_bytes: As for `tuner.prediction.prediction_source.read_source`.

        Raises:
            NothingToFit: It has no measurements, or the model describes none of them.
            WorkloadRefused: `record_bytes` is not a record size.
        """
        # Imported here, because they import scipy.
        from tuner.prediction.prediction_source import source_of_experiment, source_of_study
        from tuner.results.experiments.experiment_results import experiment_results

        if EXPERIMENT in store.facts():
            return source_of_experiment(experiment_results(store, self._root / study))
        return source_of_study(self.results(study, store), record_bytes)

    def calibration(self, study: str, store: ResultsStore, source: "PredictionSource") -> "Calibration":
        """Return the constants of the performance model, fitted to the present results of the study."""
        stamp = self.stamp(study, store)
        kept_stamp, calibration = self._calibrations.get(study, (None, None))
        if calibration is None or kept_stamp != stamp:
            calibration = source.calibrated()
            self._calibrations[study] = (stamp, calibration)
        return calibration

    def other_results(self, study: str) -> StudyResults:
        """Return the present results of another study, for a comparison with the study of the query.

        Raises:
            Problem: There is no such study.
        """
        try:
            with closing(self.open_store(study)) as store:
                return self.results(study, store)
        except StudyNotFound:
            raise no_study(study) from None

    def stamp(self, study: str, store: ResultsStore) -> object:
        """Return a value that changes whenever the study's results change."""
        facts = store.facts()
        return self.extent(study, store, facts).last, sorted(facts.items())

    def extent(self, study: str, store: ResultsStore, facts: Mapping[str, Any]) -> _Extent:
        """Return how many trials the study has, and the sequence number of its last trial.

        Read only the trials that were added since the last call.
        """
        key = (study, facts.get(STUDY_ID))
        before = self._extents.get(key, _Extent())
        new = store.trials(before.last)
        if not new:
            return before
        searched = sum(trial.kind in SEARCHING_KINDS for _, trial in new)
        extent = _Extent(new[-1][0], before.trials + len(new), before.search_trials + searched)
        self._extents[key] = extent
        return extent


def no_study(name: str) -> Problem:
    """Return the problem for a study that does not exist or has no results yet."""
    return Problem(ProblemKind.NOT_FOUND, f"there is no study {name}, or it has no results yet")


def selected_sizes(results: StudyResults, record_bytes: str | None) -> tuple[SizeResults, ...]:
    """Return the results of one record size; of all record sizes of the study if `record_bytes` is None.

    Raises:
        Problem: The study did not measure this record size.
    """
    try:
        return results.selected_sizes(record_bytes)
    except ValueError as error:
        raise Problem(ProblemKind.NOT_FOUND, str(error)) from None


def _size_in_cache(entry: tuple[object, StudyResults]) -> int:
    """Return the size of a study's results in the cache: their number of trials, but at most the cache's size."""
    return min(sum(len(size.trials) for size in entry[1].sizes), _KEPT_TRIALS)
