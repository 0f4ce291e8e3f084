"""Studies with invented trials."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.helpers import trials
from tests.helpers.stored_studies import store_facts, study_text
from tuner.confirmation.plan import ConfirmationPlan
from tuner.model.facts import CONFIRMING, FINISHED_AT, STARTED_AT, STUDY_ID
from tuner.model.goals import Goal
from tuner.model.trial import Trial, TrialKind
from tuner.storage.sqlite import SqliteStore

BEGAN = datetime(2025, 3, 1, 22, 0, tzinfo=UTC)
BASELINE = (10.0, 20.0)


def trial(
    number: int,
    mb_per_s: float = BASELINE[0],
    p99_ms: float = BASELINE[1],
    *,
    size: str = "1000",
    **changes: Any,
) -> Trial:
    """Return a trial that meets every constraint. The linger.ms of a search trial is its number."""
    return trials.trial(
        number,
        mb_per_s,
        p99_ms,
        metrics={"records_per_s": mb_per_s * 1_000},
        record_bytes=size,
        verdict="broker",
        worker="local",
        started_at=(BEGAN + timedelta(seconds=30 * number)).isoformat(),
        duration_s=25.0,
        **changes,
    )


def baseline(number: int = 0, size: str = "1000") -> Trial:
    """Return a trial of the baseline."""
    return trial(number, size=size, kind=TrialKind.BASELINE)


def confirming(found: Trial, first: int, rounds: int = 5) -> Iterator[Trial]:
    """Yield rounds that measure a config in turn with the baseline, with slightly different values in each round."""
    for each in range(rounds):
        ours, theirs = first + 2 * each, first + 2 * each + 1
        wobble = 1 + each / 100
        mb_per_s, p99_ms = found.metrics["mb_per_s"] * wobble, found.metrics["latency_p99_ms"]
        yield trial(ours, mb_per_s, p99_ms, kind=TrialKind.CONFIRM, config=found.values, round=each)
        yield trial(theirs, kind=TrialKind.CONFIRM, config={}, round=each)


def plan(measured: Iterable[Trial]) -> dict[str, Any]:
    """Return the plan of a confirmation that has exactly these trials."""
    again = [each for each in measured if each.kind is TrialKind.CONFIRM]
    winner = next((each.fingerprint for each in again if each.values), None)
    winners = dict.fromkeys(Goal, (winner,)) if winner else {}
    rounds = len(again) // 2
    return ConfirmationPlan(baseline().fingerprint, winners, rounds=rounds, max_rounds=rounds).as_json()


def study(folder: Path, *measured: Trial, record_sizes: Sequence[str] = ("1000",), **facts: Any) -> SqliteStore:
    """Create a study with these trials. The caller closes the returned store.

    Args:
        folder: The study's folder, whose name is the name of the study.
        measured: The trials in the order in which they ended.
        record_sizes: The record sizes that are searched.
        facts: Facts that replace the usual ones.
    """
    store = SqliteStore(folder)
    own: dict[str, Any] = {
        CONFIRMING: {"1000": plan(measured)},
        STUDY_ID: f"id-of-{folder.name}",
        STARTED_AT: BEGAN.isoformat(),
        FINISHED_AT: None,
    }
    store_facts(store, study_text(folder.name, *record_sizes), record_sizes, {**own, **facts})
    for each in measured:
        store.append(each)
    return store
