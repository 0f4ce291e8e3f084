"""What a study that is resumed keeps of its earlier runs: its deadline, and the environment that it was measured in."""

import datetime
from collections.abc import Callable, Mapping
from typing import Any

from runners.reporting import counted
from tuner.course.budget import Budget, next_occurrence
from tuner.model.errors import StudyChanged
from tuner.model.facts import DEADLINE, FINISHED_AT, MIXED
from tuner.model.identity import environment_changes
from tuner.model.spec import StudySpec
from tuner.storage.protocols import ResultsStore


def deadline_of(
    spec: StudySpec, store: ResultsStore, now: datetime.datetime, *, searching: bool
) -> datetime.datetime | None:
    """Return the moment of `search.until`; None if there is none.

    The moment is chosen when the study begins, and is stored. So a study that is continued in the morning does not go
    on until the next morning. A new moment is chosen if `until` has changed, or if the search continues after it had
    finished. A confirmation that the user asks for ignores a deadline that lies in the past.
    """
    until, facts = spec.search.until, store.facts()
    if until is None:
        return None
    if not searching:
        moment = next_occurrence(until, now)
        return moment if moment > now else None
    kept = facts.get(DEADLINE, {})
    if kept.get("until") != until or facts.get(FINISHED_AT):
        kept = {"until": until, "ends_at": next_occurrence(until, now).astimezone().isoformat()}
        store.set_fact(DEADLINE, kept)
    return datetime.datetime.fromisoformat(kept["ends_at"]).astimezone()


def check_new(spec: StudySpec, is_new: Callable[[], bool], now: Callable[[], datetime.datetime]) -> None:
    """Refuse a new study whose deadline has passed, before anything of it is stored.

    Args:
        spec: The specification of the study.
        is_new: Returns whether nothing is stored about the study yet.
        now: Returns the current local time.

    Raises:
        DeadlinePassed: The study is new, and the moment of `search.until` has passed.
    """
    until = spec.search.until
    if until is not None and (moment := next_occurrence(until, now())) <= now() and is_new():
        Budget(spec.search, (), deadline=moment, now=now).check_deadline()


def check_environment(name: str, store: ResultsStore, facts: Mapping[str, Any], *, loads_here: bool, mix: bool) -> None:
    """Check that the stored trials were measured on this host, with this client and on this cluster.

    Args:
        name: The name of the study or experiment.
        store: The results store.
        facts: The facts about the environment of this run.
        loads_here: Whether this host runs the loads.
        mix: Whether to continue nevertheless, and store how the environment has changed.

    Raises:
        StudyChanged: The environment has changed.
    """
    on_record, stored = store.facts(), len(store.trials())
    changes = environment_changes(facts, on_record, loads_here=loads_here) if stored else []
    if changes and not mix:
        raise StudyChanged(
            f"all trials of {name} must be measured in the same environment, but {'; '.join(changes)}; give the "
            "study another name to start anew, or --mix-environments to go on with trials that can't be compared well"
        )
    if changes:
        told = f"after {counted(stored, 'trial')}, {'; '.join(changes)}"
        store.set_fact(MIXED, [*on_record.get(MIXED, []), told])
