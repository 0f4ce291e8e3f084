"""The plans of confirmations: what each confirmation measures, its identifier, and how plans are stored.

A record size may be confirmed several times: when its search ends, when the search was continued and ends again, and
whenever a user runs `tuner confirm`. Each confirmation has an identifier, which its `ConfirmationPlan` holds. With this
identifier, an interrupted confirmation is found again and continued. The result of a finished confirmation holds until
a later confirmation has completed its first rounds.
"""

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any, Final, Self

from objectives.claims import confirmation_error_rate
from objectives.ratios import ERROR_RATE
from objectives.scoring import Constraint
from tuner.model.facts import CONFIRMATIONS, CONFIRMING
from tuner.model.goals import ALLOW_LOSS, Goal
from tuner.model.spec import ConfirmSpec
from tuner.model.trial import Trial, TrialKind
from tuner.storage.bodies import undamaged
from tuner.storage.protocols import ResultsStore

SESSION_GAP_S: Final = 900.0
"""If two rounds start at least this many seconds apart, the second round is a session of its own."""
_LEAST_GAP_RATIO: Final = 0.9
"""The share of `SESSION_GAP_S` that is enough, because a burn-in run before a round may take longer than the others."""
_STORED_NAMES: Final = {"confirmation_id": "session", "nominee_repeats": "looks", "undo_rounds": "ablation_rounds"}
"""The keys of stored plans that differ from the names of the attributes, so that older plans can be read."""


@dataclass(frozen=True, slots=True)
class ConfirmationPlan:
    """The plan of a confirmation, which is stored when the confirmation begins.

    Attributes:
        baseline: The baseline's fingerprint.
        nominees: Fingerprints of the best configs of the search for each goal, the best first.
        beside: Fingerprints of further configs that each round measures, without testing whether they are better.
        first_round: The number of this confirmation's first round. Lower numbers belong to earlier confirmations.
        nominee_repeats: How often each nominee is measured again to choose the winner.
        rounds: The number of first rounds, which are always measured.
        max_rounds: The maximum number of rounds.
        width_ratio: The width of a gain's interval, as a share of the gain, that is narrow enough to stop measuring
            rounds.
        undo_rounds: The number of rounds that measure a proven winner with one change undone at a time.
        both_ways: Whether a config that seems worse than the baseline gets further rounds, too.
        decides_at: The gain at which the rounds end early; see `ConfirmSpec.decides_at`.
        constraints: The study's constraints, which the means of the repeated measurements must meet.
        confirmation_id: The identifier of the confirmation, such as `confirm 2` for the second `tuner confirm`.
        end_round: The number of the next confirmation's first round. None for the last confirmation.
        error_rate: The accepted probability that this confirmation claims a gain that is not real. All confirmations of
            the record size together keep `objectives.ratios.ERROR_RATE`; plans of earlier releases had all of it. Each
            record size of a study has a rate of its own, and so has each `tuner verify`, which is a new study. So with
            n record sizes or n verified files, the probability of at least one such claim is up to n times as high.
        allow_loss: How much a balanced config may lose in an objective; see `ConfirmSpec.allow_loss`.
        new_broker: Whether each round is measured on newly started brokers.
        gap_s: Seconds from the start of one round to the start of the next; 0 if there is no pause between rounds.
        left_out: Numbers of trials that do not count, because their round was interrupted and measured again.
    """

    baseline: str
    nominees: Mapping[Goal, tuple[str, ...]]
    first_round: int = 0
    nominee_repeats: int = 0
    rounds: int = 2
    max_rounds: int = 2
    width_ratio: float = 0.1
    undo_rounds: int = 0
    both_ways: bool = False
    decides_at: float | None = None
    constraints: tuple[Constraint, ...] = ()
    confirmation_id: str = ""
    end_round: int | None = None
    error_rate: float = ERROR_RATE
    allow_loss: float = ALLOW_LOSS
    new_broker: bool = False
    gap_s: float = 0.0
    beside: tuple[str, ...] = ()
    left_out: tuple[int, ...] = ()

    @property
    def rounds_have_burn_in(self) -> bool:
        """Whether each round begins with a burn-in run of its first config, after a start of the brokers or a pause."""
        return self.new_broker or self.gap_s > 0

    def in_sessions(self, trials: Iterable[Trial]) -> bool:
        """Return whether each round was a session of its own: on newly started brokers, or long after the one before.

        If so, the scatter of the rounds' ratios contains what differs between sessions. If not, a gain is only about
        the minutes in which the rounds were measured. Without new brokers, the rounds' real starting times decide, not
        the planned ones, because a study that was interrupted catches up.
        """
        if self.new_broker or not self.gap_s:
            return self.new_broker
        starts: dict[int, datetime.datetime] = {}
        for trial in self.trials_of(TrialKind.CONFIRM, trials):
            if trial.round is None or not trial.started_at:
                return False
            at = datetime.datetime.fromisoformat(trial.started_at)
            starts[trial.round] = min(at, starts.get(trial.round, at))
        in_order = [starts[number] for number in sorted(starts)]
        gaps_s = [(later - earlier).total_seconds() for earlier, later in pairwise(in_order)]
        return bool(gaps_s) and min(gaps_s) >= _LEAST_GAP_RATIO * SESSION_GAP_S

    @classmethod
    def of(
        cls,
        spec: ConfirmSpec,
        baseline: str,
        nominees: Mapping[Goal, tuple[str, ...]],
        trials: Iterable[Trial],
        *,
        constraints: Sequence[Constraint] = (),
        confirmation_id: str = "",
        earlier: Sequence["ConfirmationPlan"] = (),
    ) -> Self:
        """Return the plan of a confirmation that begins now.

        Args:
            spec: How to confirm.
            baseline: The baseline's fingerprint.
            nominees: Fingerprints of the best configs of the search for each goal.
            trials: The trials of the record size so far.
            constraints: The study's constraints.
            confirmation_id: The identifier of the confirmation.
            earlier: The plans of earlier confirmations of the record size. Each plan with a measured round has used up
                its part of the error probability, whichever goals it was for.
        """
        trials = list(trials)
        rounds = [trial for trial in trials if trial.kind is TrialKind.CONFIRM]
        number = 1 + sum(any(map(each.includes, rounds)) for each in earlier)
        past = [trial.round for trial in trials if trial.round is not None]
        return cls(
            baseline=baseline,
            nominees=dict(nominees),
            first_round=max(past, default=-1) + 1,
            nominee_repeats=spec.nominee_repeats,
            rounds=spec.rounds,
            max_rounds=max(spec.rounds, spec.max_rounds),
            width_ratio=spec.width_ratio,
            undo_rounds=spec.undo_rounds,
            both_ways=bool(spec.configs),
            decides_at=spec.decides_at,
            constraints=tuple(constraints),
            confirmation_id=confirmation_id,
            error_rate=confirmation_error_rate(number),
            allow_loss=spec.allow_loss,
            beside=tuple(config.fingerprint for config in spec.beside),
        )

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to measure, because the search found no better config for any goal to confirm."""
        return bool(self.nominees) and not any(self.nominees.values())

    def includes(self, trial: Trial) -> bool:
        """Return whether a trial was measured in a round of this confirmation, or as a repeat before its rounds."""
        return (
            trial.round is not None
            and self.first_round <= trial.round
            and (self.end_round is None or trial.round < self.end_round)
        )

    def may_be_colder(self, trial: Trial) -> bool:
        """Return whether a trial of this confirmation was measured on brokers that may be colder than in the search.

        This is so for rounds on newly started brokers. The values of such trials can be compared only with each other;
        they do not show drift since the search. If they meet a constraint, the config meets it. If they break it, the
        config may still meet it on warm brokers, so the values of the search decide.
        """
        return self.new_broker and trial.kind is TrialKind.CONFIRM and self.includes(trial)

    def trials_of(self, kind: TrialKind, trials: Iterable[Trial]) -> list[Trial]:
        """Return those of the given trials that were measured for this confirmation, are of one kind, and count."""
        return [trial for trial in self.counted(trials) if trial.kind is kind]

    def counted(self, trials: Iterable[Trial]) -> list[Trial]:
        """Return those of the given trials that were measured for this confirmation and count."""
        return [trial for trial in trials if self.includes(trial) and trial.number not in self.left_out]

    def as_json(self) -> dict[str, Any]:
        """Return the plan as a JSON object that `from_json` can read."""
        return {_STORED_NAMES.get(name, name): value for name, value in asdict(self).items()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the plan from a JSON object that `as_json` made."""
        stored_names = {name: _STORED_NAMES.get(name, name) for name in cls.__slots__}
        known = {name: data[stored] for name, stored in stored_names.items() if stored in data}
        known["nominees"] = {Goal(goal): tuple(each) for goal, each in known["nominees"].items()}
        known["constraints"] = tuple(Constraint(**each) for each in known.get("constraints", ()))
        for name in ("beside", "left_out"):
            known[name] = tuple(known.get(name, ()))
        return cls(**known)


def plans_in(facts: Mapping[str, Any], size: str) -> tuple[ConfirmationPlan, ...]:
    """Return the plans of all confirmations of a record size, the oldest first.

    The `end_round` of each plan is the first round of the next plan.
    """
    kept = facts.get(CONFIRMING, {}).get(size, [])
    # Earlier releases stored a single plan instead of a list.
    with undamaged(f"the fact {CONFIRMING!r} about {size} B in the study's results"):
        plans = [ConfirmationPlan.from_json(each) for each in ([kept] if isinstance(kept, Mapping) else kept)]
    ends: list[int | None] = [*(plan.first_round for plan in plans), None]
    return tuple(replace(plan, end_round=end) for plan, end in zip(plans, ends[1:], strict=True))


def plan_of(store: ResultsStore, size: str, confirmation_id: str) -> ConfirmationPlan | None:
    """Return the plan of a confirmation for a record size; None if it has not begun, or a later one has."""
    plans = plans_in(store.facts(), size)
    return plans[-1] if plans and plans[-1].confirmation_id == confirmation_id else None


def add_plan(store: ResultsStore, size: str, plan: ConfirmationPlan) -> None:
    """Store the plan of a new confirmation."""
    facts = store.facts()
    kept = [each.as_json() for each in plans_in(facts, size)]
    store.set_fact(CONFIRMING, {**facts.get(CONFIRMING, {}), size: [*kept, plan.as_json()]})


def leave_out(store: ResultsStore, size: str, plan: ConfirmationPlan, numbers: Iterable[int]) -> ConfirmationPlan:
    """Store that trials of the newest confirmation do not count, and return its changed plan."""
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
