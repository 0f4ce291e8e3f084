"""What the rounds of baseline and winners in turn say: ratios, and whether a winner is really better."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

import numpy as np

from objectives.metrics import Direction
from objectives.outcome import OUTCOME_METRICS
from objectives.ratios import Ratio, ratio_of
from tuner.study.trial import Kind, State, Trial

SHOWN: Final = ("mb_per_s", "latency_p99_ms")


@dataclass(frozen=True, slots=True)
class Confirmation:
    """One config against the baseline, measured in the same rounds.

    Attributes:
        fingerprint: Of the config.
        gains: By metric, how many times better than the baseline: above 1 is better, whatever the direction.
        values: By metric, the mean over rounds.
        baseline: By metric, the baseline's mean over the same rounds.
        balance: Geometric mean of the gains of all `SHOWN` metrics there are.
    """

    fingerprint: str
    gains: Mapping[str, Ratio]
    values: Mapping[str, float]
    baseline: Mapping[str, float]
    balance: Ratio

    def better(self, metric: str) -> bool:
        """Whether the gain's whole interval lies above 1."""
        gain = self.gains.get(metric)
        return gain is not None and gain.low > 1.0


def confirmations_of(trials: Sequence[Trial], baseline_fingerprint: str) -> tuple[Confirmation, ...]:
    """What the confirming trials among `trials` say; a config needs two rounds to have an interval.

    Only rounds in which both the config and the baseline were measured count.
    """
    rounds: dict[str, dict[int, Trial]] = {}
    for trial in trials:
        if trial.kind is Kind.CONFIRM and trial.state is State.COMPLETE and trial.round is not None:
            rounds.setdefault(trial.fingerprint, {})[trial.round] = trial
    baseline = rounds.pop(baseline_fingerprint, {})
    found = []
    for fingerprint, ours in rounds.items():
        shared = sorted(ours.keys() & baseline.keys())
        if len(shared) >= 2:
            found.append(_confirmation(fingerprint, [ours[n] for n in shared], [baseline[n] for n in shared]))
    return tuple(found)


def _confirmation(fingerprint: str, ours: Sequence[Trial], theirs: Sequence[Trial]) -> Confirmation:
    gains = {}
    logs = np.zeros(len(ours))
    for metric in SHOWN:
        if not all(trial.metrics.get(metric, 0.0) > 0 for trial in (*ours, *theirs)):
            continue
        mine, other = [trial.metrics[metric] for trial in ours], [trial.metrics[metric] for trial in theirs]
        maximise = OUTCOME_METRICS[metric].direction is Direction.MAXIMIZE
        better, worse = (mine, other) if maximise else (other, mine)
        gains[metric] = ratio_of(better, worse)
        logs += np.log(better) - np.log(worse)
    balance = ratio_of(list(np.exp(logs / max(1, len(gains)))), [1.0] * len(ours))
    return Confirmation(fingerprint, gains, _means(ours), _means(theirs), balance)


def _means(trials: Sequence[Trial]) -> dict[str, float]:
    """The mean of every number that all trials have."""
    shared = set.intersection(*(set(trial.metrics) for trial in trials))
    return {name: fmean(trial.metrics[name] for trial in trials) for name in sorted(shared)}
