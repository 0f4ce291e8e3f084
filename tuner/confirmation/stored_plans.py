"""Reads and stores the plans and the identifiers of a study's confirmations."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from tuner.confirmation.plan import ConfirmationPlan, plans_in
from tuner.model.facts import CONFIRMATIONS, CONFIRMING
from tuner.storage.protocols import ResultsStore


def plan_of(store: ResultsStore, size: str, confirmation_id: str) -> ConfirmationPlan | None:
    """Return the plan of a confirmation for a record size; None if this size has not been confirmed yet."""
    plans = plans_in(store.facts(), size)
    return plans[-1] if plans and plans[-1].confirmation_id == confirmation_id else None


def add_plan(store: ResultsStore, size: str, plan: ConfirmationPlan) -> None:
    """Store the plan of a new confirmation."""
    facts = store.facts()
    kept = [each.as_json() for each in plans_in(facts, size)]
    store.set_fact(CONFIRMING, {**facts.get(CONFIRMING, {}), size: [*kept, plan.as_json()]})


def leave_out(store: ResultsStore, size: str, plan: ConfirmationPlan, numbers: Iterable[int]) -> ConfirmationPlan:
    """Store that trials of the newest confirmation do not count, and return its changed plan.

    Args:
        store: The results store.
        size: The record size or mix.
        plan: The plan of its newest confirmation.
        numbers: The numbers of the trials.
    """
    changed = replace(plan, left_out=(*plan.left_out, *numbers))
    facts = store.facts()
    *earlier, _ = (each.as_json() for each in plans_in(facts, size))
    store.set_fact(CONFIRMING, {**facts[CONFIRMING], size: [*earlier, changed.as_json()]})
    return changed


def has_begun(store: ResultsStore, size: str, confirmation_id: str) -> bool:
    """Return whether a confirmation has begun for a record size, even if later confirmations have followed."""
    return any(plan.confirmation_id == confirmation_id for plan in plans_in(store.facts(), size))


def confirmation_of_search(store: ResultsStore) -> str:
    """Return the identifier of the confirmation that follows the search.

    The identifier is empty at first. Each time the search is continued, it changes: to `search 1`, then `search 2`.
    """
    searches = store.facts().get(CONFIRMATIONS, {}).get("searches", 0)
    return f"search {searches}" if searches else ""


def record_continued_search(store: ResultsStore) -> None:
    """Record that the search is continued, so that its results get a confirmation with a new identifier."""
    kept = store.facts().get(CONFIRMATIONS, {})
    store.set_fact(CONFIRMATIONS, {**kept, "searches": kept.get("searches", 0) + 1})


def confirmation_of_command(store: ResultsStore, options: Mapping[str, Any]) -> str:
    """Return the identifier for the confirmation of a `tuner confirm` command.

    If the last `tuner confirm` was interrupted and had the same options, this command continues it, with the same
    identifier. Otherwise, the identifier is new.
    """
    kept = store.facts().get(CONFIRMATIONS, {})
    goes_on = kept.get("open") and kept.get("options") == options
    number = kept.get("confirms", 0) + (0 if goes_on else 1)
    store.set_fact(CONFIRMATIONS, {**kept, "confirms": number, "options": dict(options), "open": True})
    return f"confirm {number}"


def confirm_command_ended(store: ResultsStore) -> None:
    """Record that `tuner confirm` has ended, so that the next one is a new confirmation."""
    kept = store.facts().get(CONFIRMATIONS, {})
    if kept.get("open"):
        store.set_fact(CONFIRMATIONS, {**kept, "open": False})
