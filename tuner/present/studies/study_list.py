"""The list of studies: one line for each, with its state, its trials and its best proven gain."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

from objectives.ratios import Ratio
from runners.reporting import in_bytes
from tuner.model.facts import CLIENT_VERSION, FINISHED_AT, LIMITS, RECORD_SIZES, STARTED_AT, TARGET
from tuner.model.progress import Progress, StudyState, is_alive
from tuner.model.trial import Trial, TrialKind
from tuner.present.number_text import aligned, gain, metric_name
from tuner.present.tables import csv_of

UNREADABLE: Final = "unreadable"
"""The state of a study whose results can't be read."""
_SIMULATED: Final = "simulated"
_HEADINGS: Final = ("study", "record size", "state", "trials", "best gain", "target", "updated")


@dataclass(frozen=True, slots=True)
class BestGain:
    """The largest proven gain of all configs that a study recommends.

    Attributes:
        metric: The metric of the gain.
        record_bytes: The record size or mix for which the config is recommended.
        ratio: The gain over the baseline, from measurements in turn.
    """

    metric: str
    record_bytes: str
    ratio: Ratio

    def __str__(self) -> str:
        """Return `throughput 1.32 (1.25 to 1.40), 1000 B`."""
        return f"{metric_name(self.metric)} {gain(self.ratio)}, {in_bytes(self.record_bytes)}"


@dataclass(frozen=True, slots=True)
class ListedStudy:
    """A study or an experiment in the list.

    Attributes:
        name: The study's name.
        state: The state of the study.
        target: The cluster that is measured; `simulated` if a model computes the results.
        record_sizes: The record sizes and mixes of the study.
        trials_done: Number of baseline and search trials that have ended.
        trials_planned: Planned number of these trials; None if only time or bytes limit the search.
        best_gain: The largest proven gain; None if none is proven.
        updated_at: Time of the study's end in UTC, ISO 8601; before the end, the time of its last progress report or
            of its start.
        kind: `study` or `experiment`.
    """

    name: str
    state: str
    target: str = ""
    record_sizes: tuple[str, ...] = ()
    trials_done: int = 0
    trials_planned: int | None = None
    best_gain: BestGain | None = None
    updated_at: str = ""
    kind: str = "study"

    def as_json(self) -> dict[str, Any]:
        """Return the study as a JSON object."""
        return {**asdict(self), "record_sizes": list(self.record_sizes)}


def listed_study(
    name: str, facts: Mapping[str, Any], status: Mapping[str, Any] | None, state: str | None = None
) -> ListedStudy:
    """Return a study as the list shows it.

    Args:
        name: The study's name.
        facts: What is stored about the study as a whole.
        status: The study's status, in the form of `Status.as_json`; None if it has no results yet.
        state: The state to show; by default that of `status`.
    """
    sizes = status["sizes"] if status is not None else []
    planned = [size["total"] for size in sizes]
    progress = status["updated_at"] if status is not None else ""
    return ListedStudy(
        name=name,
        state=state or (str(status["state"]) if status is not None else UNREADABLE),
        target=_target(facts),
        record_sizes=tuple(facts.get(RECORD_SIZES) or ()),
        trials_done=sum(size["done"] for size in sizes),
        trials_planned=sum(planned) if planned and None not in planned else None,
        best_gain=max(_proven(sizes), key=lambda found: found.ratio.value, default=None),
        updated_at=facts.get(FINISHED_AT) or progress or facts.get(STARTED_AT) or "",
    )


def listed_experiment(
    name: str, facts: Mapping[str, Any], progress: Progress | None, trials: Iterable[Trial]
) -> ListedStudy:
    """Return an experiment as the list shows it.

    Args:
        name: The experiment's name.
        facts: What is stored about the experiment as a whole.
        progress: The last progress report; None if the experiment has not started to measure.
        trials: The experiment's measurements, and its burn-in runs, which are not counted.
    """
    state = None if progress is None else progress.state
    if progress is not None and progress.running and not is_alive(progress):
        state = StudyState.INTERRUPTED
    return ListedStudy(
        name=name,
        state=str(state or ""),
        target=_target(facts),
        record_sizes=tuple(facts.get(RECORD_SIZES) or ()),
        trials_done=sum(trial.kind is TrialKind.MEASUREMENT for trial in trials),
        trials_planned=facts.get(LIMITS, {}).get("measurements"),
        updated_at=facts.get(FINISHED_AT) or (progress and progress.updated_at) or facts.get(STARTED_AT) or "",
        kind="experiment",
    )


def _target(facts: Mapping[str, Any]) -> str:
    """Return the cluster that is measured; `simulated` if a model computes the results."""
    return _SIMULATED if facts.get(CLIENT_VERSION) == _SIMULATED else str(facts.get(TARGET) or "")


def _proven(sizes: Sequence[Mapping[str, Any]]) -> Iterator[BestGain]:
    for size in sizes:
        for recommended in size["recommended"]:
            for metric, kept in recommended["gains"].items():
                ratio = Ratio(**kept)
                if ratio.low > 1.0:
                    yield BestGain(metric, size["record_bytes"], ratio)


def newest_first(studies: Sequence[ListedStudy]) -> list[ListedStudy]:
    """Return the studies by the time of their last update, the newest first."""
    return sorted(studies, key=lambda each: _time(each.updated_at) if each.updated_at else 0.0, reverse=True)


def study_lines(studies: Sequence[ListedStudy]) -> list[str]:
    """Return the list as the lines of a table for people. Times are those of this host's time zone."""
    rows = [
        (
            each.name if each.kind == "study" else f"{each.name} ({each.kind})",
            ", ".join(map(in_bytes, each.record_sizes)),
            each.state,
            f"{each.trials_done}" + ("" if each.trials_planned is None else f" of {each.trials_planned}"),
            "-" if each.best_gain is None else str(each.best_gain),
            each.target,
            f"{datetime.fromtimestamp(_time(each.updated_at)):%Y-%m-%d %H:%M}" if each.updated_at else "-",
        )
        for each in studies
    ]
    return aligned([_HEADINGS, *rows], right=False)


def study_csv(studies: Sequence[ListedStudy]) -> str:
    """Return the list as CSV. Several record sizes of a study stand in one column, with blanks between them."""
    gains = ("best_gain", "best_gain_low", "best_gain_high", "best_gain_metric", "best_gain_record_bytes")
    columns = ("name", "kind", "state", "target", "record_sizes", "trials_done", "trials_planned", *gains, "updated_at")
    rows = []
    for study in studies:
        best = study.best_gain
        ratio = (best.ratio.value, best.ratio.low, best.ratio.high) if best else (None,) * 3
        of = (best.metric, best.record_bytes) if best else (None, None)
        trials = (study.trials_done, study.trials_planned)
        sizes = " ".join(study.record_sizes)
        row = (study.name, study.kind, study.state, study.target, sizes, *trials, *ratio, *of, study.updated_at)
        rows.append(dict(zip(columns, row, strict=True)))
    return csv_of(rows, columns)


def _time(at: str) -> float:
    return datetime.fromisoformat(at).timestamp()
