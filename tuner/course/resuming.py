"""What a study that is resumed keeps of its earlier runs: its deadline."""

import datetime
from typing import Final

from tuner.course.budget import next_occurrence
from tuner.model.spec import StudySpec
from tuner.storage.protocols import ResultsStore

_DEADLINE: Final = "deadline"
"""The key under which the results store keeps the value of `search.until`, and the moment that it stands for."""


def deadline_of(
    spec: StudySpec, store: ResultsStore, now: datetime.datetime, *, searching: bool
) -> datetime.datetime | None:
    """Return the moment of `search.until`; None if there is none.

    The moment is chosen when the study begins and kept with it. So a study that is continued in the morning does not go
    on until the next morning. Another value of `until`, or a search after a finished one, chooses it anew. A
    confirmation that was asked for has no deadline that lies in the past.
    """
    until, facts = spec.search.until, store.facts()
    if until is None:
        return None
    if not searching:
        moment = next_occurrence(until, now)
        return moment if moment > now else None
    kept = facts.get(_DEADLINE, {})
    if kept.get("until") != until or facts.get("finished_at"):
        kept = {"until": until, "ends_at": next_occurrence(until, now).astimezone().isoformat()}
        store.set_fact(_DEADLINE, kept)
    return datetime.datetime.fromisoformat(kept["ends_at"]).astimezone()
