"""A recommendation as JSON, and back: what `--format json` prints, what MLflow keeps, what the tracking path reads.

Its form is versioned; fields are added, never changed in meaning.
"""

from collections.abc import Mapping
from dataclasses import asdict
from dataclasses import fields as dataclass_fields
from typing import Any, Final

from objectives.ratios import Ratio
from search_spaces.errors import ConfigError
from search_spaces.java import translate_to_java
from tuner.model.errors import RecordDamaged
from tuner.model.spec import Goal
from tuner.model.trial import Kind, State, Trial
from tuner.present.changes import changes
from tuner.results.recommendation import Recommendation

SCHEMA_VERSION: Final = 1
RECORD_KIND: Final = "recommendation"


def recommendation_record(found: Recommendation) -> dict[str, Any]:
    """Everything about a recommendation, of JSON types only."""
    translation = translate_to_java(found.config)
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": RECORD_KIND,
        "study": found.study,
        "record_bytes": found.record_bytes,
        "goal": str(found.goal),
        "config": _config(found.trial),
        "guarantee": found.trial.guarantee,
        "is_baseline": found.is_baseline,
        "confirmed": found.confirmed,
        "proven": found.proven,
        "gains": {metric: ratio_record(ratio) for metric, ratio in found.gains.items()},
        "metrics": dict(found.metrics),
        "how": found.how,
        "warnings": list(found.warnings),
        "trial": _trial(found.trial),
        "baseline": {
            "config": _config(found.baseline),
            "guarantee": found.baseline.guarantee,
            "metrics": dict(found.baseline_metrics),
            "trial": _trial(found.baseline),
        },
        "changes": [asdict(change) for change in changes(found.trial.values, found.baseline.values)],
        "java": asdict(translation),
    }


def ratio_record(ratio: Ratio) -> dict[str, float | int]:
    """A gain with its interval."""
    return asdict(ratio)


def recommendation_of(record: Mapping[str, Any]) -> Recommendation:
    """The recommendation in what `recommendation_record` wrote.

    Raises:
        RecordDamaged: It is none, or of a newer release.
    """
    if record.get("kind") != RECORD_KIND or record.get("schema_version") != SCHEMA_VERSION:
        raise RecordDamaged(
            f"a recommendation must have kind {RECORD_KIND} and schema_version {SCHEMA_VERSION}, but has "
            f"{record.get('kind')!r} and {record.get('schema_version')!r}; upgrade kafka-tuner "
            "if a newer release wrote it"
        )
    try:
        baseline = record["baseline"]
        found = Recommendation(
            study=record["study"],
            record_bytes=record["record_bytes"],
            goal=Goal(record["goal"]),
            trial=_read_trial(record, record["record_bytes"]),
            baseline=_read_trial(baseline, record["record_bytes"]),
            gains={
                metric: Ratio(**{field.name: kept[field.name] for field in dataclass_fields(Ratio)})
                for metric, kept in record["gains"].items()
            },
            metrics=dict(record["metrics"]),
            baseline_metrics=dict(baseline["metrics"]),
            is_baseline=record["is_baseline"],
            how=record["how"],
            warnings=tuple(record["warnings"]),
            proven=record.get("proven", False),
        )
        found.trial.config()
    except (KeyError, TypeError, ValueError, AttributeError, ConfigError) as error:
        raise RecordDamaged(f"a recommendation must read back as it was written, but: {error!r}") from None
    return found


def _config(trial: Trial) -> dict[str, Any]:
    return {"client": trial.config().client, "fingerprint": trial.fingerprint, "values": dict(trial.values)}


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


def _read_trial(record: Mapping[str, Any], record_bytes: str) -> Trial:
    """The trial as far as the record keeps it."""
    kept, config = record["trial"], record["config"]
    return Trial(
        record_bytes=record_bytes,
        number=kept["number"],
        kind=Kind(kept["kind"]),
        state=State.COMPLETE,
        values=dict(config["values"]),
        fingerprint=config["fingerprint"],
        guarantee=record["guarantee"],
        metrics=dict(record["metrics"]),
        verdict=kept["verdict"],
        because=kept["because"],
        flagged=kept["flagged"],
        warnings=tuple(kept["warnings"]),
        worker=kept["worker"],
        started_at=kept["started_at"],
    )
