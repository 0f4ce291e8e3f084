"""Two studies side by side: what differs between their set-ups, and which found the better configs."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import exp, log
from typing import Any, Final

from objectives.scoring import Objective
from tuner.model.goals import goal_metrics
from tuner.model.spec import Goal
from tuner.results.by_goal import recommendations
from tuner.results.recommendation import Recommendation
from tuner.results.study_results import SizeResults, StudyResults, front_volume

SCHEMA_VERSION: Final = 1
NOISE_RATIO: Final = 0.05
"""Short windows on a shared machine vary by so much between repeats: less is no difference."""
_FACTS: Final = (
    ("client_version", "client version"),
    ("broker_version", "broker version"),
    ("target", "target"),
    ("objectives", "objectives"),
    ("rates", "fixed rates"),
)
_FINGERPRINTS: Final = ("host", "cluster")
_ASKED: Final = ("baseline", "constraints", "durability")
_UNKNOWN: Final = "not known"


@dataclass(frozen=True, slots=True)
class GoalComparison:
    """The two recommendations for a goal.

    Attributes:
        goal: What they are best at.
        metrics: The numbers that the goal is about in the first study.
        ours: The first study's.
        theirs: The second's.
    """

    goal: Goal
    metrics: tuple[str, ...]
    ours: Recommendation | None
    theirs: Recommendation | None

    @property
    def times(self) -> float | None:
        """How many times better the second is than the first; None where that can't be told.

        By the geometric mean over the goal's numbers.
        """
        if self.ours is None or self.theirs is None:
            return None
        gains = [
            Objective(name).gain(self.theirs.metrics[name], self.ours.metrics[name])
            for name in self.metrics
            if name in self.ours.metrics and name in self.theirs.metrics
        ]
        if not gains or min(gains) <= 0:
            return None
        return exp(sum(map(log, gains)) / len(gains))

    @property
    def winner(self) -> int | None:
        """0 or 1; None where they differ by no more than repeats of one config do."""
        if self.times is None or abs(log(self.times)) <= log(1 + NOISE_RATIO):
            return None
        return int(self.times > 1)


@dataclass(frozen=True, slots=True)
class SizeComparison:
    """One record size that both studies searched.

    Attributes:
        record_bytes: The size or mix.
        hypervolumes: Of both fronts, in gains over the first study's baseline; None where that can't be told.
        goals: By goal.
    """

    record_bytes: str
    hypervolumes: tuple[float | None, float | None]
    goals: tuple[GoalComparison, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two studies side by side.

    Attributes:
        names: To call them by; told apart where both have one name.
        sizes: The record sizes that both searched.
        differences: What differs between their set-ups, one sentence each: numbers then differ for that reason too.
    """

    names: tuple[str, str]
    sizes: tuple[SizeComparison, ...]
    differences: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Of JSON types only."""
        return {
            "schema_version": SCHEMA_VERSION,
            "kind": "comparison",
            "studies": list(self.names),
            "differences": list(self.differences),
            "sizes": [
                {
                    "record_bytes": size.record_bytes,
                    "hypervolumes_over_first_baseline": list(size.hypervolumes),
                    "goals": {str(each.goal): self._goal(each) for each in size.goals},
                }
                for size in self.sizes
            ],
        }

    def _goal(self, each: GoalComparison) -> dict[str, Any]:
        return {
            "winner": None if each.winner is None else self.names[each.winner],
            "second_times_better": each.times,
            "recommended": [_brief(each.ours), _brief(each.theirs)],
        }


def compare(ours: StudyResults, theirs: StudyResults) -> Comparison:
    """Compare two studies by their numbers, which were not measured in turn: small differences mean nothing."""
    pairs = [(one, other) for one in ours.sizes if (other := theirs.size(one.record_bytes)) is not None]
    return Comparison(
        names=(ours.name, theirs.name) if ours.name != theirs.name else (str(ours.folder), str(theirs.folder)),
        sizes=tuple(_compare_size(ours, one, theirs, other) for one, other in pairs),
        differences=tuple(_differences(ours, theirs)),
    )


def _compare_size(ours: StudyResults, one: SizeResults, theirs: StudyResults, other: SizeResults) -> SizeComparison:
    mine, their = recommendations(ours, one), recommendations(theirs, other)
    goals = tuple(
        GoalComparison(goal, goal_metrics(goal, one.objectives), mine.get(goal), their.get(goal))
        for goal in Goal
        if goal in mine or goal in their
    )
    volumes = [
        front_volume([trial.objectives for trial in size.front_trials], size.objectives, one.baseline_metrics)
        for size in (one, other)
    ]
    same = one.objectives == other.objectives
    return SizeComparison(one.record_bytes, (volumes[0], volumes[1] if same else None), goals)


def _differences(ours: StudyResults, theirs: StudyResults) -> list[str]:
    found = [
        f"the {label} differs: {ours.facts.get(name)!s} and {theirs.facts.get(name)!s}"
        for name, label in _FACTS
        if ours.facts.get(name) != theirs.facts.get(name)
    ]
    for name in _FINGERPRINTS:
        found += _between(name, ours.facts.get(name), theirs.facts.get(name))
    one, other = (study.facts.get("question") or {} for study in (ours, theirs))
    found += _between("workload", one.get("workload"), other.get("workload"))
    found += _between("question", *({name: asked.get(name) for name in _ASKED} for asked in (one, other)))
    sizes = [size.record_bytes for size in (*ours.sizes, *theirs.sizes)]
    only = [record_bytes for record_bytes in sizes if sizes.count(record_bytes) == 1]
    return found + ([f"only one of them searched {', '.join(only)} B records"] if only else [])


def _between(what: str, ours: Mapping[str, Any] | None, theirs: Mapping[str, Any] | None) -> list[str]:
    one, other = ours or {}, theirs or {}
    return [
        f"the {what} differs in {key}: {one.get(key, _UNKNOWN)} and {other.get(key, _UNKNOWN)}"
        for key in sorted({*one, *other})
        if one.get(key) != other.get(key)
    ]


def _brief(found: Recommendation | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "trial": found.trial.number,
        "is_baseline": found.is_baseline,
        "confirmed": found.confirmed,
        "metrics": dict(found.metrics),
        "gains_over_own_baseline": {metric: asdict(ratio) for metric, ratio in found.gains.items()},
        "guarantee": found.trial.guarantee,
        "values": dict(found.trial.values),
    }
