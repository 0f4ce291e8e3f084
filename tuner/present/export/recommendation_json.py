"""Recommendations and explanations as JSON, and recommendations read back from JSON.

`tuner recommend --format json` and `tuner explain --json` print this JSON, and MLflow stores it. The formats have
versions. New fields may be added, but no field changes its meaning.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from dataclasses import fields as dataclass_fields
from typing import Any, Final

from objectives.ratios import Ratio
from search_spaces.errors import ConfigError
from search_spaces.translation.to_java import for_java
from tuner.confirmation.effects import Effect
from tuner.model.document import document
from tuner.model.errors import ResultsDamaged
from tuner.model.goals import Goal
from tuner.model.trial import State, Trial, TrialKind
from tuner.present.changed_properties import changes
from tuner.present.export.pasted import pasted_values
from tuner.present.recommendations.explanation_words import explanation_sections
from tuner.present.recommendations.recommendation_words import gain_sentences, not_advice, scatter_note
from tuner.results.recommendations.explanation import ClosestConfig, Explanation
from tuner.results.recommendations.recommendation import Recommendation, SideEffect, SideEffectKind

SCHEMA_VERSION: Final = 2
RECORD_KIND: Final = "recommendation"


def recommendation_json(recommendation: Recommendation) -> dict[str, Any]:
    """Return a JSON object that holds everything about a recommendation."""
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": RECORD_KIND,
        "study": recommendation.study,
        "record_bytes": recommendation.record_bytes,
        "goal": str(recommendation.goal),
        "objectives": list(recommendation.objectives),
        "config": _config(recommendation.trial),
        "to_paste": pasted_values(recommendation),
        "guarantee": recommendation.trial.guarantee,
        "is_baseline": recommendation.is_baseline,
        "confirmed": recommendation.confirmed,
        "proven": recommendation.proven,
        "measured_again": recommendation.measured_again,
        "gains": gains_json(recommendation.gains),
        "side_effects": {
            metric: {"kind": str(effect.kind), **asdict(effect.ratio)}
            for metric, effect in recommendation.side_effects.items()
        },
        "alternatives": {str(goal): recommendation_json(other) for goal, other in recommendation.alternatives.items()},
        "unproven": list(map(str, recommendation.unproven)),
        "asked": list(recommendation.asked),
        "in_words": [
            each
            for each in (*gain_sentences(recommendation), scatter_note(recommendation), not_advice(recommendation))
            if each
        ],
        "metrics": dict(recommendation.metrics),
        "how": recommendation.how,
        "warnings": list(recommendation.warnings),
        "trial": _trial(recommendation.trial),
        "baseline": {
            "config": _config(recommendation.baseline),
            "guarantee": recommendation.baseline.guarantee,
            "metrics": dict(recommendation.baseline_metrics),
            "trial": _trial(recommendation.baseline),
        },
        "changes": [asdict(change) for change in changes(recommendation.trial, recommendation.baseline.values)],
        "java": asdict(for_java(recommendation.config)),
    }


def study_json(name: str, folder: str | None, recommendations: Sequence[Recommendation]) -> dict[str, Any]:
    """Return the recommendations of a study, one per record size, as one JSON document.

    The folder is None if it is on another host.
    """
    return document(
        "study",
        name=name,
        folder=folder,
        recommendations=[recommendation_json(each) for each in recommendations],
    )


def gains_json(gains: Mapping[str, Ratio]) -> dict[str, dict[str, float | int]]:
    """Return a JSON object that holds each gain with its interval, by metric."""
    return {metric: asdict(ratio) for metric, ratio in gains.items()}


def recommendation_of(stored: Mapping[str, Any]) -> Recommendation:
    """Read a recommendation from the JSON that `recommendation_json` made.

    Raises:
        ResultsDamaged: The JSON does not hold a recommendation, or a newer release wrote it.
    """
    if stored.get("kind") != RECORD_KIND or stored.get("schema_version") != SCHEMA_VERSION:
        raise ResultsDamaged(
            f"a recommendation must have kind {RECORD_KIND} and schema_version {SCHEMA_VERSION}, but has "
            f"{stored.get('kind')!r} and {stored.get('schema_version')!r}; upgrade kafka-tuner "
            "if a newer release wrote it, and run tuner sync if an older one did"
        )
    try:
        baseline = stored["baseline"]
        recommendation = Recommendation(
            study=stored["study"],
            record_bytes=stored["record_bytes"],
            goal=Goal(stored["goal"]),
            trial=_read_trial(stored, stored["record_bytes"]),
            baseline=_read_trial(baseline, stored["record_bytes"]),
            gains={metric: _ratio(kept) for metric, kept in stored["gains"].items()},
            metrics=dict(stored["metrics"]),
            baseline_metrics=dict(baseline["metrics"]),
            is_baseline=stored["is_baseline"],
            how=stored["how"],
            warnings=tuple(stored["warnings"]),
            proven=stored.get("proven", False),
            measured_again=stored.get("measured_again", stored["confirmed"]),
            objectives=tuple(stored.get("objectives", ())),
            side_effects={
                metric: SideEffect(_ratio(kept), SideEffectKind(kept["kind"]))
                for metric, kept in stored.get("side_effects", {}).items()
            },
            alternatives={
                Goal(goal): recommendation_of(other) for goal, other in stored.get("alternatives", {}).items()
            },
            unproven=tuple(map(Goal, stored.get("unproven", ()))),
            asked=tuple(stored.get("asked", ())),
        )
        recommendation.trial.config()
    except (KeyError, TypeError, ValueError, AttributeError, ConfigError) as error:
        raise ResultsDamaged(
            f"a field of the stored recommendation is missing or has a wrong value ({error!r}); run tuner sync to "
            "write the recommendation again"
        ) from None
    return recommendation


def _ratio(kept: Mapping[str, Any]) -> Ratio:
    return Ratio(**{field.name: kept[field.name] for field in dataclass_fields(Ratio)})


def _config(trial: Trial) -> dict[str, Any]:
    return {"client": trial.client, "fingerprint": trial.fingerprint, "values": dict(trial.values)}


def _trial(trial: Trial) -> dict[str, Any]:
    return {
        "number": trial.number,
        "kind": str(trial.kind),
        "verdict": trial.verdict,
        "because": trial.because,
        "flagged": trial.flagged,
        "warnings": list(trial.warnings),
        "worker": trial.worker,
        "started_at": trial.started_at,
    }


def _read_trial(stored: Mapping[str, Any], record_bytes: str) -> Trial:
    """Read the trial of a config from the JSON that `recommendation_json` made.

    Missing fields get their default values.
    """
    kept, config = stored["trial"], stored["config"]
    return Trial(
        record_bytes=record_bytes,
        number=kept["number"],
        kind=TrialKind(kept["kind"]),
        state=State.COMPLETE,
        values=dict(config["values"]),
        fingerprint=config["fingerprint"],
        guarantee=stored["guarantee"],
        client=config.get("client", "librdkafka"),
        metrics=dict(stored["metrics"]),
        verdict=kept["verdict"],
        because=kept["because"],
        flagged=kept["flagged"],
        warnings=tuple(kept["warnings"]),
        worker=kept["worker"],
        started_at=kept["started_at"],
    )


def explanations_json(study: str, explanations: Sequence[Explanation]) -> dict[str, Any]:
    """Return a JSON object that holds several explanations of one study."""
    return document(
        "explanations",
        study=study,
        explanations=[_explanation_json(each) for each in explanations],
    )


def _explanation_json(why: Explanation) -> dict[str, Any]:
    """Return a JSON object that holds everything about an explanation."""
    recommendation = why.recommendation
    return document(
        "explanation",
        study=recommendation.study,
        record_bytes=recommendation.record_bytes,
        goal=str(recommendation.goal),
        is_baseline=recommendation.is_baseline,
        confirmed=recommendation.confirmed,
        trial=_trial_in_short(recommendation.trial),
        baseline=_trial_in_short(recommendation.baseline),
        gains=gains_json(recommendation.gains),
        changes=[asdict(change) for change in changes(recommendation.trial, recommendation.baseline.values)],
        undo_rounds=why.effects.rounds,
        effects=[_effect(each) for each in why.effects.each],
        product=gains_json(why.effects.product),
        closest=_closest(why.closest) if why.closest else None,
        importance={name: dict(shares) for name, shares in why.importance.items()},
        sections=[asdict(section) for section in explanation_sections(why)],
    )


def _effect(effect: Effect) -> Mapping[str, Any]:
    variant = effect.undone.variant
    return {
        "knobs": list(effect.knobs),
        "measured": effect.measured,
        "shows": effect.is_clear,
        "gains": gains_json(effect.gains),
        "misses_without": list(effect.misses),
        "because": effect.undone.because,
        "variant": variant.fingerprint if variant else None,
    }


def _closest(closest: ClosestConfig) -> Mapping[str, Any]:
    return {
        "trial": _trial_in_short(closest.trial),
        "gains": gains_json(closest.gains),
        "times_baseline_in_search": closest.times,
        "but": closest.why_not,
    }


def _trial_in_short(trial: Trial) -> Mapping[str, Any]:
    return {
        "number": trial.number,
        "fingerprint": trial.fingerprint,
        "values": dict(trial.values),
        "verdict": trial.verdict,
        "because": trial.because,
    }
