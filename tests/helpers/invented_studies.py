"""Studies with invented trials."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from search_spaces.guarantee import Guarantee
from search_spaces.producer_config import ProducerConfig
from tests.helpers.stored_studies import study_text
from tuner.confirmation.plan import ConfirmationPlan
from tuner.model.facts import CONFIRMING
from tuner.model.spec import Goal
from tuner.model.trial import Kind, State, Trial
from tuner.storage.files import STUDY_FILE
from tuner.storage.sqlite import SqliteStore

BEGAN = datetime(2025, 3, 1, 22, 0, tzinfo=UTC)
OBJECTIVES = ["mb_per_s", "latency_p99_ms"]
BASELINE = (10.0, 20.0)


def trial(
    number: int,
    mb_per_s: float = BASELINE[0],
    p99_ms: float = BASELINE[1],
    *,
    size: str = "1000",
    kind: Kind = Kind.SEARCH,
    **changes: Any,
) -> Trial:
    """Return a trial that keeps every constraint. The linger.ms of a search trial is its number."""
    config = ProducerConfig.parse({"linger.ms": number} if kind is Kind.SEARCH else {})
    good: dict[str, Any] = {
        "record_bytes": size,
        "number": number,
        "kind": kind,
        "state": State.COMPLETE,
        "values": config.values,
        "fingerprint": config.fingerprint,
        "guarantee": str(Guarantee.of(config)),
        "metrics": {
            "mb_per_s": mb_per_s,
            "records_per_s": mb_per_s * 1_000,
            "latency_p99_ms": p99_ms,
            "delivered_ratio": 1.0,
        },
        "objectives": (mb_per_s, p99_ms),
        "violations": {"delivered_ratio >= 1": 0.0},
        "verdict": "broker",
        "worker": "local",
        "started_at": (BEGAN + timedelta(seconds=30 * number)).isoformat(),
        "duration_s": 25.0,
    }
    return Trial(**{**good, **changes})


def baseline(number: int = 0, size: str = "1000") -> Trial:
    """Return a trial of the baseline."""
    return trial(number, size=size, kind=Kind.BASELINE)


def failed(number: int) -> Trial:
    """Return a trial without a measurement."""
    return trial(number, state=State.FAILED, metrics={}, objectives=(), violations={}, error="a worker was lost")


def confirming(found: Trial, first: int, rounds: int = 5) -> Iterator[Trial]:
    """Yield rounds that measure a config in turn with the baseline, with slightly different values in each round."""
    for each in range(rounds):
        ours, theirs = first + 2 * each, first + 2 * each + 1
        wobble = 1 + each / 100
        mb_per_s, p99_ms = found.metrics["mb_per_s"] * wobble, found.metrics["latency_p99_ms"]
        same: dict[str, Any] = {"values": found.values, "fingerprint": found.fingerprint}
        yield trial(ours, mb_per_s, p99_ms, kind=Kind.CONFIRM, round=each, **same)
        yield trial(theirs, kind=Kind.CONFIRM, round=each)


def plan(trials: Iterable[Trial]) -> dict[str, Any]:
    """Return the plan of a confirmation that has exactly these trials."""
    again = [each for each in trials if each.kind is Kind.CONFIRM]
    winner = next((each.fingerprint for each in again if each.values), None)
    winners = dict.fromkeys(Goal, (winner,)) if winner else {}
    rounds = len(again) // 2
    return ConfirmationPlan(baseline().fingerprint, winners, rounds=rounds, max_rounds=rounds).as_json()


def study(folder: Path, *trials: Trial, **facts: Any) -> SqliteStore:
    """Create a study with these trials. The caller closes the returned store.

    Args:
        folder: The study's folder, whose name is the name of the study.
        trials: The trials in the order in which they ended.
        facts: Facts that replace the usual ones.
    """
    store = SqliteStore(folder)
    (folder / STUDY_FILE).write_text(study_text(folder.name, "1000"), encoding="utf-8")
    usual: dict[str, Any] = {
        CONFIRMING: {"1000": plan(trials)},
        "study_id": f"id-of-{folder.name}",
        "name": folder.name,
        "target": "embedded",
        "record_sizes": ["1000"],
        "objectives": OBJECTIVES,
        "rates": {"1000": 3_000.0},
        "method": "bayesian",
        "seed": 7,
        "started_at": BEGAN.isoformat(),
        "finished_at": None,
        "client_version": "2.16.0",
        "broker_version": "4.3.1",
        "host": {"cpus": 2, "fingerprint": "host-1"},
        "cluster": {"brokers": 1, "fingerprint": "cluster-1"},
        "tracking": {"uri": None, "experiment": None, "enabled": True},
    }
    for name, value in {**usual, **facts}.items():
        store.set_fact(name, value)
    for each in trials:
        store.append(each)
    return store
