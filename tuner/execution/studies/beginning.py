"""Starts or resumes a study: checks that the stored trials fit its specification, and stores its settings."""

import uuid
from collections.abc import Mapping
from typing import Any, Final

from runners.reporting import Say
from tuner.confirmation.plan import ConfirmationPlan, confirm_command_ended, record_continued_search
from tuner.execution.environment import machine_name
from tuner.execution.mirroring import mlflow_experiment, tracking_fact
from tuner.execution.trial_keeper import utc_now
from tuner.model.facts import (
    ALLOWED_LOSS,
    CONSTRAINTS,
    FINISHED_AT,
    IDENTITY,
    LIMITS,
    METHOD,
    MLFLOW_EXPERIMENT,
    NAME,
    OBJECTIVES,
    RECORD_SIZES,
    SEED,
    STARTED_AT,
    STUDY_ID,
    TARGET,
    TRACKING,
    TRIALS_PER_SIZE,
)
from tuner.model.identity import check_unchanged, study_identity
from tuner.model.spec import Executor, StudySpec
from tuner.storage.protocols import ResultsStore


def begin(spec: StudySpec, study_text: str, store: ResultsStore, say: Say, *, searching: bool) -> None:
    """Check that the stored trials belong to this specification, and store the facts of the study, such as its seed.

    If the constraints have changed, the confirmation starts again from the beginning, because other configs may be the
    best under the new constraints.

    Raises:
        StudyChanged: The stored trials belong to a study with another specification.
    """
    facts, identity, limits = store.facts(), study_identity(spec), _limits(spec)
    is_new = not store.trials()
    if is_new:
        # A study without trials may still be changed, for example if its bootstrap address was mistyped.
        facts = {name: value for name, value in facts.items() if name in (STUDY_ID, STARTED_AT)}
    if IDENTITY in facts:
        check_unchanged(spec.name, identity, facts[IDENTITY])
    new: dict[str, Any] = {
        NAME: spec.name,
        RECORD_SIZES: list(dict.fromkeys([*facts.get(RECORD_SIZES, []), *limits["record_sizes"]])),
        OBJECTIVES: [objective.metric for objective in spec.objectives],
        CONSTRAINTS: [str(constraint) for constraint in spec.constraints],
        ALLOWED_LOSS: spec.confirm.allow_loss,
        TARGET: ", ".join(target.label for target in spec.targets),
        METHOD: spec.search.sampler or str(spec.search.method),
        SEED: spec.search.seed,
        TRIALS_PER_SIZE: spec.search.trials,
        TRACKING: tracking_fact(spec.tracking),
        FINISHED_AT: None,
        IDENTITY: identity,
        LIMITS: limits,
    }
    if is_new:
        # The name is never changed, because all MLflow runs of a study must be in one experiment.
        new[MLFLOW_EXPERIMENT] = mlflow_experiment(
            spec.targets, machine_name(), simulated=spec.executor is Executor.SIMULATED
        )
    if STUDY_ID not in facts:
        new = {STUDY_ID: uuid.uuid4().hex, STARTED_AT: utc_now().isoformat(timespec="seconds"), **new}
    before = facts.get(IDENTITY, {}).get("constraints", identity["constraints"])
    if judged_anew := sorted(before) != sorted(identity["constraints"]):
        say(
            f"{spec.name}: the constraints were {', '.join(before) or 'none'} and are now "
            f"{', '.join(identity['constraints']) or 'none'}; all trials are judged by the new constraints"
        )
    if searching and (judged_anew or _limits_changed(facts.get(LIMITS), limits)):
        record_continued_search(store)
    elif judged_anew:
        confirm_command_ended(store)
    if not searching:  # then the stored limits of the search, and the time when it finished, stay as they are
        new = {name: value for name, value in new.items() if name not in (LIMITS, FINISHED_AT)}
    for name, value in new.items():
        store.set_fact(name, value)
    store.set_study_file(study_text)


def is_finished(spec: StudySpec, facts: Mapping[str, Any]) -> bool:
    """Return whether the study was run to its end with this specification, and with the same limits as now."""
    unchanged = facts.get(IDENTITY) == study_identity(spec) and facts.get(LIMITS) == _limits(spec)
    return unchanged and bool(facts.get(FINISHED_AT))


def _limits_changed(before: Mapping[str, Any] | None, now: Mapping[str, Any]) -> bool:
    """Return whether the limits of the search or of the confirmation have changed since the last run."""
    return before is not None and any(
        before.get(name) != now.get(name) for name in ("trials", "hours", "until", "max_bytes", "repeats", "confirm")
    )


def _limits(spec: StudySpec) -> dict[str, Any]:
    """Return the settings of a study that may change when it is continued, such as its limits on time and bytes."""
    search = spec.search
    return {
        "record_sizes": [str(size) for size in spec.workload.record_sizes],
        "trials": search.trials,
        "hours": search.hours,
        "until": search.until,
        "max_bytes": search.max_bytes,
        # Left out by default, because studies that older releases stored do not have it.
        **({"repeats": search.repeats} if search.repeats > 1 else {}),
        "confirm": confirm_limits(spec),
    }


_NO_LIMITS: Final = frozenset(
    {"constraints", "session", "end_round", "error_rate", "allow_loss", "new_broker", "gap_s", "beside", "left_out"}
)
"""The fields of a plan that are left out of the limits: if they change, no further measurement is needed."""


def confirm_limits(spec: StudySpec) -> dict[str, Any]:
    """Return the settings of the confirmation, under the names that the results store uses."""
    plain = ConfirmationPlan.of(spec.confirm, "", {}, []).as_json() | {"nominated": spec.confirm.nominees}
    limits = {name: value for name, value in plain.items() if name not in _NO_LIMITS}
    # Settings that are not set are left out, because older releases stored studies without them.
    optional = {"new_broker": spec.confirm.new_broker, "spread_over_s": spec.confirm.spread_over_s}
    return limits | {name: value for name, value in optional.items() if value}
