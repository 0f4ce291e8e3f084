"""An explanation as JSON: what `tuner explain --json` prints. Fields are added, never changed in meaning."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from tuner.confirmation.effects import Effect
from tuner.model.trial import Trial
from tuner.present.changes import changes
from tuner.present.export.record import ratio_record
from tuner.present.why import why_sections
from tuner.results.explanation import Closest, Explanation

SCHEMA_VERSION: Final = 1


def explanations_record(study: str, explanations: Sequence[Explanation]) -> dict[str, Any]:
    """Several explanations of one study, of JSON types only."""
    records = [explanation_record(each) for each in explanations]
    return {"schema_version": SCHEMA_VERSION, "kind": "explanations", "study": study, "explanations": records}


def explanation_record(why: Explanation) -> dict[str, Any]:
    """Everything about an explanation, of JSON types only."""
    found = why.found
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "explanation",
        "study": found.study,
        "record_bytes": found.record_bytes,
        "goal": str(found.goal),
        "is_baseline": found.is_baseline,
        "confirmed": found.confirmed,
        "trial": _trial(found.trial),
        "baseline": _trial(found.baseline),
        "gains": {metric: ratio_record(gain) for metric, gain in found.gains.items()},
        "changes": [asdict(change) for change in changes(found.trial.values, found.baseline.values)],
        "ablation_rounds": why.effects.rounds,
        "effects": [_effect(each) for each in why.effects.each],
        "product": {metric: ratio_record(gain) for metric, gain in why.effects.product.items()},
        "closest": _closest(why.closest) if why.closest else None,
        "importance": {name: dict(shares) for name, shares in why.importance.items()},
        "sections": [asdict(section) for section in why_sections(why)],
    }


def _effect(effect: Effect) -> Mapping[str, Any]:
    variant = effect.undoing.variant
    return {
        "knobs": list(effect.knobs),
        "measured": effect.measured,
        "shows": effect.shows,
        "gains": {metric: ratio_record(gain) for metric, gain in effect.gains.items()},
        "misses_without": list(effect.misses),
        "because": effect.undoing.because,
        "variant": variant.fingerprint if variant else None,
    }


def _closest(closest: Closest) -> Mapping[str, Any]:
    return {
        "trial": _trial(closest.trial),
        "gains": {metric: ratio_record(gain) for metric, gain in closest.gains.items()},
        "times_baseline_in_one_trial": closest.times,
        "but": closest.but,
    }


def _trial(trial: Trial) -> Mapping[str, Any]:
    return {
        "number": trial.number,
        "fingerprint": trial.fingerprint,
        "values": dict(trial.values),
        "verdict": trial.verdict,
        "because": trial.because,
    }
