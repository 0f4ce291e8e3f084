"""Which confirmation is under way: the search's own, or one that `tuner confirm` asked for.

A record size may be confirmed several times: when its search ends, again after the search was gone on with, and as
often as a user asks. Each has an identifier, kept with its `ConfirmationPlan`, so that what was interrupted is gone
on with, and what was finished stands until a later one has its rounds.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from tuner.confirmation.plan import ConfirmationPlan
from tuner.storage.protocols import ResultsStore

CONFIRMING: Final = "confirming"
"""Name of the fact that holds the `ConfirmationPlan`s of each record size, in their order."""
_SESSIONS: Final = "confirm_sessions"


def plans_in(facts: Mapping[str, Any], size: str) -> tuple[ConfirmationPlan, ...]:
    """A record size's confirmations, the oldest first, each with the rounds that are its own."""
    kept = facts.get(CONFIRMING, {}).get(size, [])
    # One alone, as records of before had it.
    plans = [ConfirmationPlan.from_json(each) for each in ([kept] if isinstance(kept, Mapping) else kept)]
    ends: list[int | None] = [*(plan.first_round for plan in plans), None]
    return tuple(replace(plan, end_round=end) for plan, end in zip(plans, ends[1:], strict=True))


def plan_of(store: ResultsStore, size: str, confirmation_id: str) -> ConfirmationPlan | None:
    """The plan of a confirmation for a record size; None before it has begun there."""
    plans = plans_in(store.facts(), size)
    return plans[-1] if plans and plans[-1].confirmation_id == confirmation_id else None


def add_plan(store: ResultsStore, size: str, plan: ConfirmationPlan) -> None:
    """Keep the plan of a confirmation that begins."""
    facts = store.facts()
    kept = [each.as_json() for each in plans_in(facts, size)]
    store.set_fact(CONFIRMING, {**facts.get(CONFIRMING, {}), size: [*kept, plan.as_json()]})


def has_begun(store: ResultsStore, size: str, confirmation_id: str) -> bool:
    """Whether a confirmation has begun for a record size, whatever came after it."""
    return any(plan.confirmation_id == confirmation_id for plan in plans_in(store.facts(), size))


def searchs_own(store: ResultsStore) -> str:
    """Identifies the confirmation that belongs to the search that is, or was last, under way."""
    searches = store.facts().get(_SESSIONS, {}).get("searches", 0)
    return f"search {searches}" if searches else ""


def search_again(store: ResultsStore) -> None:
    """Let the search be gone on with; what it finds is confirmed anew."""
    kept = store.facts().get(_SESSIONS, {})
    store.set_fact(_SESSIONS, {**kept, "searches": kept.get("searches", 0) + 1})


def asked_for(store: ResultsStore, options: Mapping[str, Any]) -> str:
    """Identifies what `tuner confirm` runs: a new confirmation, or an interrupted one that had the same options."""
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
