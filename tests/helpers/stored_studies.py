"""Studies for tests: trials computed by a formula, stored in a real results store."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from objectives.scoring import Objective
from runners.workload import RecordSizes
from search_spaces.client_facts.sizes import DEFAULT_MAX_MESSAGE_BYTES
from search_spaces.configs.producer_config import ProducerConfig
from tests.helpers.trials import OBJECTIVES
from tests.helpers.trials import trial as scored
from tuner.confirmation.plan import ConfirmationPlan
from tuner.confirmation.undone_changes import variants_of
from tuner.execution.studies.beginning import begin
from tuner.model.facts import (
    BROKER_VERSION,
    CLIENT_VERSION,
    CLUSTER,
    CLUSTER_IDS,
    CONFIRMING,
    FINISHED_AT,
    HOST,
    LOADS_RUN_ON,
    MACHINE,
    NAME,
    RATES,
    RESERVED_BYTES,
    STARTED_AT,
    STUDY_ID,
    TOPIC_MAX_MESSAGE_BYTES,
    TOPIC_SHAPE,
    TOTALS,
)
from tuner.model.goals import Goal
from tuner.model.progress import Progress
from tuner.model.spec import StudySpec, WorkloadSpec
from tuner.model.target import Target
from tuner.model.trial import State, Trial, TrialKind
from tuner.results.study_results import StudyResults, load_results
from tuner.storage.folder_files import write_progress
from tuner.storage.sqlite import SqliteStore

ENVIRONMENT: dict[str, Any] = {
    LOADS_RUN_ON: "this host",
    CLIENT_VERSION: "librdkafka 2.16.0",
    BROKER_VERSION: "unknown",
    HOST: {"processor": "Xeon", "cores": "2", "memory_gb": "8", "system": "Linux 6.1", "python": "3.11.2"},
    CLUSTER: {"kind": "existing", "brokers": "1", "cluster_id": "cluster-1"},
    MACHINE: {"name": "build-7", "id": "0123456789abcdef"},
    CLUSTER_IDS: ["cluster-1"],
}
FACTS: dict[str, Any] = {
    STUDY_ID: "0123",
    STARTED_AT: "2026-03-01T20:00:00+00:00",
    FINISHED_AT: "2026-03-02T06:00:00+00:00",
    RATES: {"1000": 20_000.0},
    RESERVED_BYTES: {"running": {}, "interrupted": 0},
    TOTALS: {"1000": 60},
    TOPIC_MAX_MESSAGE_BYTES: DEFAULT_MAX_MESSAGE_BYTES,
    TOPIC_SHAPE: {"partitions": 3, "replication": 1},
    **ENVIRONMENT,
}
"""Facts that the program stores after `begin`, and fixed values for some that `begin` stores."""
WINNER = {"linger.ms": "2", "compression.type": "lz4", "batch.size": "262144"}
CODECS = ("none", "lz4", "zstd", "gzip")

Change = Callable[[Trial], Trial]


def write_study(
    folder: Path,
    *,
    trials: int = 40,
    record_sizes: tuple[str, ...] = ("1000",),
    rounds: int = 3,
    change: Change = lambda trial: trial,
    facts: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    study_file: str | None = None,
) -> Path:
    """Write a study's folder.

    Args:
        folder: The folder to write; its name is the name of the study.
        trials: Trials per record size, including the baseline's; confirmation trials are added to these.
        record_sizes: The record sizes that were searched.
        rounds: Confirmation rounds; 0 for none.
        change: Applied to each trial before it is stored.
        facts: Facts that replace the usual ones.
        progress: The last progress report of the process that ran the study.
        study_file: Text of the study file; by default one with these record sizes.
    """
    kept = {NAME: "overnight", **(facts or {})}
    objectives = tuple(map(Objective, kept["objectives"])) if "objectives" in kept else OBJECTIVES
    text = study_text(str(kept[NAME]), *record_sizes) if study_file is None else study_file
    if rounds:
        base, winner = (ProducerConfig.parse(values).fingerprint for values in ({}, WINNER))
        plan = ConfirmationPlan(base, dict.fromkeys(Goal, (winner,)), rounds=rounds, max_rounds=rounds)
        kept = {CONFIRMING: {size: plan.as_json() for size in record_sizes}, **kept}
    store = SqliteStore(folder)
    with store._file.alone():  # one transaction, because each waits for the disk
        store_facts(store, text, record_sizes, kept)
        for place, size in enumerate(record_sizes):
            again = _confirming(size, trials, rounds, objectives)
            for trial in (*search_trials(size, trials, objectives, place), *again):
                store.append(change(trial))
    store.close()
    if progress is not None:
        write_progress(folder, progress)
    return folder


def store_facts(store: SqliteStore, study_file: str, record_sizes: Sequence[str], facts: Mapping[str, Any]) -> None:
    """Store the facts of a study in the forms in which the program stores them.

    Args:
        store: The store of the study.
        study_file: The text of the study file.
        record_sizes: The record sizes that are searched.
        facts: Facts that replace the usual ones.
    """
    sizes, name = tuple(map(RecordSizes.parse, record_sizes)), store.folder.name
    begin(StudySpec(name, WorkloadSpec(sizes), (Target("broker:9092"),)), study_file, store, print, searching=True)
    for fact, value in {**FACTS, **facts}.items():
        store.set_fact(fact, value)


def study_text(name: str, *record_sizes: str) -> str:
    """Return the text of a study file with this name and these record sizes."""
    return yaml.safe_dump({"study": name, "workload": {"record_bytes": list(record_sizes)}})


def study(folder: Path, **options: Any) -> StudyResults:
    """Return the results of a study that `write_study` wrote."""
    return load_results(write_study(folder, **options))


def taken_apart(folder: Path) -> StudyResults:
    """Return a study whose winner had undo rounds."""
    variants = variants_of(ProducerConfig.parse(WINNER), ProducerConfig.parse({})).values()
    store = SqliteStore(folder, create=False)
    number = 1_000
    for turn in range(2):
        for each in (WINNER, *(variant.values for variant in variants)):
            noise = (-1) ** number * 0.01
            store.append(trial_of("1000", number, each, OBJECTIVES, kind=TrialKind.UNDO, noise=noise, round_=turn))
            number += 1
    store.close()
    return load_results(folder)


def search_trials(size: str, trials: int, objectives: tuple[Objective, ...], seed: int = 0) -> list[Trial]:
    """Return the trials of a search: every tenth is the baseline."""
    rng = np.random.default_rng(seed)
    made = []
    for number in range(trials):
        if number % 10 == 0:
            made.append(
                trial_of(size, number, {}, objectives, kind=TrialKind.BASELINE, noise=float(rng.normal(0, 0.02)))
            )
            continue
        noise = float(rng.normal(0, 0.05))
        if number == 7:
            values, noise = WINNER, 0.25  # a lucky trial, as winners are
        else:
            values = {
                "linger.ms": f"{10 ** rng.uniform(-1, 2):.1f}",
                "compression.type": str(rng.choice(CODECS)),
                "batch.size": str(int(10 ** rng.uniform(4, 6))),
            }
            if rng.random() < 0.3:
                values["acks"] = "1"
        made.append(trial_of(size, number, values, objectives, noise=noise))
    return made


def trial_of(
    size: str,
    number: int,
    values: Mapping[str, str],
    objectives: tuple[Objective, ...],
    *,
    kind: TrialKind = TrialKind.SEARCH,
    noise: float = 0.0,
    round_: int | None = None,
) -> Trial:
    """Return one trial with numbers computed by a formula.

    Batches and codecs raise throughput, linger raises latency, and gzip with small batches can't hold the fixed rate.
    """
    config = ProducerConfig.parse(values)
    linger_ms, batch = config.linger_ms, config.max_batch_bytes
    codec = {"none": 1.0, "lz4": 1.5, "zstd": 1.35, "gzip": 0.7}[config.compression]
    acks = 1.05 if config.acks == 1 else 1.0
    mb_per_s = (
        60 * codec * acks * (0.4 + 0.6 * min(1.0, np.log10(max(batch, 10)) / 6)) * (1 + 0.15 * np.log1p(linger_ms))
    )
    mb_per_s *= 1 + noise
    p99_ms = (2 + linger_ms * 1.2 + 4 * 1e4 / batch) / acks * (1 - noise) / (1.3 if codec > 1 else 1.0)
    held = 0.8 if batch < 20_000 and config.compression == "gzip" else 1.0
    params: dict[str, int | float | str] = {}
    if kind is TrialKind.SEARCH:
        params = {"linger.ms": linger_ms, "compression.type": config.compression, "batch.size": batch}
    return scored(
        number,
        float(mb_per_s),
        float(p99_ms) if held == 1.0 else 800.0,
        kind=kind,
        config=values,
        objectives=objectives,
        metrics={
            "records_per_s": float(mb_per_s) * 1e6 / 1000,
            "wire_bytes_per_value_byte": 1.05 / codec,
            "latency_p50_ms": float(p99_ms) / 3,
            "latency_p999_ms": float(p99_ms) * 1.6,
            "held_rate_ratio": held,
        },
        record_bytes=size,
        params=params,
        verdict="broker",
        because="a thread of the broker needed a core 97% of the time",
        worker="local",
        started_at="2026-03-01T20:00:00+00:00",
        duration_s=30.0,
        load_s=25.0,
        value_bytes=mb_per_s * 1e6 * 13,
        round=round_,
    )


def failed(trial: Trial, error: str = "the broker did not answer") -> Trial:
    """Return the trial as if it had given no measurement."""
    return replace(
        trial, state=State.FAILED, metrics={}, objectives=(), violations={}, verdict="", because="", error=error
    )


def _confirming(size: str, after: int, rounds: int, objectives: tuple[Objective, ...]) -> list[Trial]:
    """Return the confirmation trials: the baseline and the winner in turn."""
    made: list[Trial] = []
    for turn in range(rounds):
        for values in ({}, WINNER):
            number, noise = after + len(made), 0.02 * (turn - 1) * (1 if values else -1)
            made.append(trial_of(size, number, values, objectives, kind=TrialKind.CONFIRM, noise=noise, round_=turn))
    return made
