"""Which confirmation is under way: the search's own, or one that `tuner confirm` asked for.

A record size may be confirmed several times: when its search ends, again after the search was gone on with, and as
often as a user asks. Each has a session's name, kept with its `Choice`, so that what was interrupted is gone on with
and what was finished stands until a later one has its rounds.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from tuner.confirmation.plan import Choice
from tuner.storage.protocols import ResultsStore

CONFIRMING: Final = "confirming"
"""Name of the fact that holds the `Choice`s of each record size, in their order."""
_SESSIONS: Final = "confirm_sessions"


def choices_in(facts: Mapping[str, Any], size: str) -> tuple[Choice, ...]:
    """A record size's confirmations, the oldest first, each with the rounds that are its own."""
    kept = facts.get(CONFIRMING, {}).get(size, [])
    # One alone, as records of before had it.
    choices = [Choice.from_json(each) for each in ([kept] if isinstance(kept, Mapping) else kept)]
    ends: list[int | None] = [*(choice.first_round for choice in choices), None]
    return tuple(replace(choice, end_round=end) for choice, end in zip(choices, ends[1:], strict=True))


def choice_of(store: ResultsStore, size: str, session: str) -> Choice | None:
    """What a session confirms for a record size; None before it has begun there."""
    choices = choices_in(store.facts(), size)
    return choices[-1] if choices and choices[-1].session == session else None


def add_choice(store: ResultsStore, size: str, choice: Choice) -> None:
    """Keep what a session begins to confirm."""
    facts = store.facts()
    kept = [each.as_json() for each in choices_in(facts, size)]
    store.set_fact(CONFIRMING, {**facts.get(CONFIRMING, {}), size: [*kept, choice.as_json()]})


def has_begun(store: ResultsStore, size: str, session: str) -> bool:
    """Whether a session has chosen what it confirms for a record size, whatever came after it."""
    return any(choice.session == session for choice in choices_in(store.facts(), size))


def searchs_own(store: ResultsStore) -> str:
    """The session of the search that is, or was last, under way."""
    searches = store.facts().get(_SESSIONS, {}).get("searches", 0)
    return f"search {searches}" if searches else ""


def search_again(store: ResultsStore) -> None:
    """Let the search be gone on with; what it finds is confirmed anew."""
    kept = store.facts().get(_SESSIONS, {})
    store.set_fact(_SESSIONS, {**kept, "searches": kept.get("searches", 0) + 1})


def asked_for(store: ResultsStore, options: Mapping[str, Any]) -> str:
    """The session of `tuner confirm`: a new one, or that which was interrupted and had the same options."""
    kept = store.facts().get(_SESSIONS, {})
    goes_on = kept.get("open") and kept.get("options") == options
    number = kept.get("confirms", 0) + (0 if goes_on else 1)
    store.set_fact(_SESSIONS, {**kept, "confirms": number, "options": dict(options), "open": True})
    return f"confirm {number}"


def ended(store: ResultsStore) -> None:
    """`tuner confirm` has come to its end."""
    kept = store.facts().get(_SESSIONS, {})
    if kept.get("open"):
        store.set_fact(_SESSIONS, {**kept, "open": False})
