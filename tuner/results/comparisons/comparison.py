"""Compares two studies: how their settings differ, and which study found the better configs."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import log
from statistics import geometric_mean
from typing import Any, Final

from objectives.repeats import ASSUMED_NOISE_RATIO
from objectives.scoring import Objective
from tuner.model.document import document
from tuner.model.facts import BROKER_VERSION, CLIENT_VERSION, CLUSTER, HOST, IDENTITY, OBJECTIVES, RATES, TARGET
from tuner.model.goals import Goal, goal_metrics
from tuner.model.identity import section_of, setting_differences
from tuner.results.fronts import front_volume
from tuner.results.recommendations.by_goal import recommendations_by_goal
from tuner.results.recommendations.recommendation import Recommendation
from tuner.results.study_results import SizeResults, StudyResults

NOISE_RATIO: Final = ASSUMED_NOISE_RATIO
"""A difference between two studies that is no larger than this is taken for noise."""
_FACTS: Final = (
    (CLIENT_VERSION, "client version"),
    (BROKER_VERSION, "broker version"),
    (TARGET, "target"),
    (OBJECTIVES, "objectives"),
)
_FINGERPRINTS: Final = (HOST, CLUSTER)
_FACT_WORDS: Final = {
    "cores": "number of cores",
    "memory_gb": "memory in GB",
    "cluster_id": "id",
    "brokers": "number of brokers",
    "log": "place of the log",
}
"""What a value of a fingerprint is called, if not by its key."""
_SECTIONS: Final = frozenset({"workload", "baseline", "client", "durability"})
"""The sections of a study file whose differences are named."""
_UNKNOWN: Final = "unknown"


@dataclass(frozen=True, slots=True)
class GoalComparison:
    """The recommendations of two studies for one goal.

    Attributes:
        goal: The goal.
        metrics: The metrics that the goal is about in the first study.
        ours: The first study's recommendation; None if it has none.
        theirs: The second study's recommendation; None if it has none.
    """

    goal: Goal
    metrics: tuple[str, ...]
    ours: Recommendation | None
    theirs: Recommendation | None

    @property
    def times(self) -> float | None:
        """How many times better the second recommendation is than the first; None if that is unknown.

        For several metrics, this is the geometric mean of their ratios.
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
        return geometric_mean(gains)

    @property
    def winner(self) -> int | None:
        """The index of the better study, 0 or 1; None if the difference is no larger than the usual noise."""
        if self.times is None or abs(log(self.times)) <= log(1 + NOISE_RATIO):
            return None
        return int(self.times > 1)


@dataclass(frozen=True, slots=True)
class SizeComparison:
    """One record size that both studies searched.

    Attributes:
        record_bytes: The record size or mix.
        hypervolumes: The hypervolume of each study's front, in gains over the first study's baseline; None if unknown.
        goals: The goals for which at least one study has a recommendation.
    """

    record_bytes: str
    hypervolumes: tuple[float | None, float | None]
    goals: tuple[GoalComparison, ...]


@dataclass(frozen=True, slots=True)
class StudyComparison:
    """The comparison of two studies.

    Attributes:
        names: The names of the two studies; their folders if both have the same name.
        sizes: The record sizes that both studies searched.
        differences: How the settings of the studies differ, one sentence per difference. Each difference may be a
            reason for different results.
        simulated: Whether the numbers of at least one of the studies were computed by a model.
    """

    names: tuple[str, str]
    sizes: tuple[SizeComparison, ...]
    differences: tuple[str, ...]
    simulated: bool

    def as_json(self) -> dict[str, Any]:
        """Return the comparison as JSON types."""
        return document(
            "comparison",
            studies=list(self.names),
            simulated=self.simulated,
            differences=list(self.differences),
            sizes=[
                {
                    "record_bytes": size.record_bytes,
                    "hypervolumes_over_first_baseline": list(size.hypervolumes),
                    "goals": {str(each.goal): self._goal(each) for each in size.goals},
                }
                for size in self.sizes
            ],
        )

    def _goal(self, goal: GoalComparison) -> dict[str, Any]:
        return {
            "winner": None if goal.winner is None else self.names[goal.winner],
            "second_times_better": goal.times,
            "recommended": [_recommendation_json(goal.ours), _recommendation_json(goal.theirs)],
        }


def compare(ours: StudyResults, theirs: StudyResults) -> StudyComparison:
    """Compare the recommendations and fronts of two studies.

    The configs of the two studies were not measured alternately, so small differences mean nothing.
    """
    pairs = [(one, other) for one in ours.sizes if (other := theirs.size(one.record_bytes)) is not None]
    return StudyComparison(
        names=(ours.name, theirs.name) if ours.name != theirs.name else (str(ours.folder), str(theirs.folder)),
        sizes=tuple(_compare_size(ours, one, theirs, other) for one, other in pairs),
        differences=tuple(_differences(ours, theirs)),
        simulated=ours.simulated or theirs.simulated,
    )


def _compare_size(
    ours: StudyResults, our_size: SizeResults, theirs: StudyResults, their_size: SizeResults
) -> SizeComparison:
    our_recommendations = recommendations_by_goal(ours, our_size)
    their_recommendations = recommendations_by_goal(theirs, their_size)
    goals = tuple(
        GoalComparison(
            goal,
            goal_metrics(goal, our_size.objectives),
            our_recommendations.get(goal),
            their_recommendations.get(goal),
        )
        for goal in Goal
        if goal in our_recommendations or goal in their_recommendations
    )
    volumes = [
        front_volume(
            [[size.metrics_of(trial).get(each.metric) for each in size.objectives] for trial in size.front_trials],
            size.objectives,
            our_size.baseline_metrics,
        )
        if size.baseline_metrics
        else None
        for size in (our_size, their_size)
    ]
    same = our_size.objectives == their_size.objectives
    return SizeComparison(our_size.record_bytes, (volumes[0], volumes[1] if same else None), goals)


def _differences(ours: StudyResults, theirs: StudyResults) -> list[str]:
    sentences = [
        f"the studies differ in {label}: {_text(ours.facts.get(name))} and {_text(theirs.facts.get(name))}"
        for name, label in _FACTS
        if ours.facts.get(name) != theirs.facts.get(name)
    ]
    for name in _FINGERPRINTS:
        sentences += _differing_facts(f"the {name}'s ", *(_in_words(study.facts.get(name)) for study in (ours, theirs)))
    # The rate of a record size that only one of the two searched is no difference.
    one, other = (study.facts.get(RATES) or {} for study in (ours, theirs))
    sentences += [
        f"the studies differ in the fixed rate of {size} B records: {one[size]:,.1f} and {other[size]:,.1f} records/s"
        for size in one
        if size in other and one[size] != other[size]
    ]
    one, other = (study.facts.get(IDENTITY) or {} for study in (ours, theirs))
    sentences += [
        f"the studies differ in {key}: {value} and {other_value}"
        for key, (value, other_value) in setting_differences(one, other).items()
        if section_of(key) in _SECTIONS
    ]
    sentences += _differing_facts("", *({"constraints": asked.get("constraints")} for asked in (one, other)))
    sizes = [size.record_bytes for size in (*ours.sizes, *theirs.sizes)]
    only = [record_bytes for record_bytes in sizes if sizes.count(record_bytes) == 1]
    return sentences + ([f"only one of the two studies searched {', '.join(only)} B records"] if only else [])


def _in_words(fingerprint: Mapping[str, Any] | None) -> dict[str, Any]:
    return {_FACT_WORDS.get(key, key): value for key, value in (fingerprint or {}).items()}


def _differing_facts(owner: str, ours: Mapping[str, Any] | None, theirs: Mapping[str, Any] | None) -> list[str]:
    one, other = ours or {}, theirs or {}
    return [
        f"the studies differ in {owner}{key}: {_text(one.get(key, _UNKNOWN))} and {_text(other.get(key, _UNKNOWN))}"
        for key in sorted({*one, *other})
        if one.get(key) != other.get(key)
    ]


def _text(value: object) -> str:
    """Return a value of a study as text: a list as its parts, or `none` if it is empty."""
    if value is None:
        return _UNKNOWN
    return (", ".join(map(str, value)) or "none") if isinstance(value, list) else str(value)


def _recommendation_json(recommendation: Recommendation | None) -> dict[str, Any] | None:
    if recommendation is None:
        return None
    return {
        "trial": recommendation.trial.number,
        "is_baseline": recommendation.is_baseline,
        "confirmed": recommendation.confirmed,
        "metrics": dict(recommendation.metrics),
        "gains_over_own_baseline": {metric: asdict(ratio) for metric, ratio in recommendation.gains.items()},
        "guarantee": recommendation.trial.guarantee,
        "values": dict(recommendation.trial.values),
    }
