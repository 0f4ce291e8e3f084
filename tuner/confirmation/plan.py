"""What is confirmed, and which confirmation is under way: the search's own, or one that `tuner confirm` asked for.

A record size may be confirmed several times: when its search ends, again after the search was gone on with, and as
often as a user asks. Each has an identifier, kept with its `ConfirmationPlan`, so that what was interrupted is gone
on with, and what was finished stands until a later one has its rounds.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Self

from objectives.scoring import Constraint
from tuner.model.spec import ConfirmSpec, Goal
from tuner.model.trial import Trial
from tuner.storage.protocols import ResultsStore

CONFIRMING: Final = "confirming"
"""Name of the fact that holds the `ConfirmationPlan`s of each record size, in their order."""
_SESSIONS: Final = "confirm_sessions"
_ID_ON_RECORD: Final = "session"
"""The name under which records keep `ConfirmationPlan.confirmation_id`."""


@dataclass(frozen=True, slots=True)
class ConfirmationPlan:
    """What is confirmed, and how: kept with the record when a confirmation begins.

    Attributes:
        baseline: Its fingerprint.
        nominees: Fingerprints of the best configs for each goal, the best first.
        first_round: The first of its rounds; those before are of earlier confirmations.
        looks: Second looks at each nominee.
        rounds: Rounds that there are in any case.
        max_rounds: The most rounds.
        width_ratio: An interval as narrow as this, relative to its value, needs no further rounds.
        ablation_rounds: Rounds of the ablation.
        both_ways: Whether a config that is worse is of interest too, so that it gets as many rounds.
        constraints: Of the study, to be kept by the means of what is measured again.
        confirmation_id: Identifies it; see this module's beginning.
        end_round: The first round that is of a later confirmation; None for the last one.
    """

    baseline: str
    nominees: Mapping[Goal, tuple[str, ...]]
    first_round: int = 0
    looks: int = 0
    rounds: int = 2
    max_rounds: int = 2
    width_ratio: float = 0.1
    ablation_rounds: int = 0
    both_ways: bool = False
    constraints: tuple[Constraint, ...] = ()
    confirmation_id: str = ""
    end_round: int | None = None

    @classmethod
    def of(
        cls,
        spec: ConfirmSpec,
        baseline: str,
        nominees: Mapping[Goal, tuple[str, ...]],
        trials: Iterable[Trial],
        constraints: Sequence[Constraint] = (),
        confirmation_id: str = "",
    ) -> Self:
        """The plan of a confirmation that begins now."""
        past = [trial.round for trial in trials if trial.round is not None]
        return cls(
            baseline=baseline,
            nominees=dict(nominees),
            first_round=max(past, default=-1) + 1,
            looks=spec.looks,
            rounds=spec.rounds,
            max_rounds=max(spec.rounds, spec.max_rounds),
            width_ratio=spec.width_ratio,
            ablation_rounds=spec.ablation_rounds,
            both_ways=bool(spec.configs),
            constraints=tuple(constraints),
            confirmation_id=confirmation_id,
        )

    def as_json(self) -> dict[str, Any]:
        """Of JSON types only; `from_json` reads it."""
        plain = asdict(self)
        plain[_ID_ON_RECORD] = plain.pop("confirmation_id")
        return plain

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The plan that `as_json` wrote."""
        known = {name: data[name] for name in cls.__slots__ if name in data}
        known["nominees"] = {Goal(goal): tuple(each) for goal, each in known["nominees"].items()}
        known["constraints"] = tuple(Constraint(**each) for each in known.get("constraints", ()))
        return cls(**known, confirmation_id=data.get(_ID_ON_RECORD, ""))


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
