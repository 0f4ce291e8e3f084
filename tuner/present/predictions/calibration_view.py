"""The constants of the performance model that an experiment has calibrated, as text and JSON."""

from collections.abc import Iterator
from math import exp, sqrt
from typing import Any

from objectives.row_metrics import ROW_METRICS
from runners.reporting import percent
from tuner.model.document import document
from tuner.prediction.calibration import Calibration
from tuner.prediction.fitted_constants import PRIOR_SD_LOG
from tuner.prediction.intervals import QUANTILE
from tuner.present.number_text import aligned, number
from tuner.present.predictions.prediction_view import determined, fitted_to


def calibration_lines(name: str, calibration: Calibration) -> list[str]:
    """Return what an experiment has calibrated, as lines of text."""
    rows = [["constant", "value", "95 % interval"]]
    for constant, value, low, high in _constants(calibration):
        if constant not in calibration.undetermined:
            rows.append([constant, number(value), f"{number(low)} to {number(high)}"])
    scatter = [f"{ROW_METRICS[metric].label} {percent(sd)}" for metric, sd in calibration.scatter.items()]
    return [
        f"{fitted_to(calibration.observations, name)}; standard deviation of the measurements from the model: "
        f"{', '.join(scatter)}",
        *(["", *aligned(rows)] if len(rows) > 1 else []),
        "",
        determined(calibration),
        *([f"not determined: {', '.join(calibration.undetermined)}"] if calibration.undetermined else []),
        f"next: tuner predict {name} -X linger.ms=20",
    ]


def calibration_json(name: str, calibration: Calibration) -> dict[str, Any]:
    """Return what an experiment has calibrated, as JSON types."""
    return document(
        "calibration",
        experiment=name,
        means=len(calibration.observations),
        scatter=dict(calibration.scatter),
        constants={
            constant: {
                "value": value,
                "low": low,
                "high": high,
                "determined": constant not in calibration.undetermined,
            }
            for constant, value, low, high in _constants(calibration)
        },
    )


def _constants(calibration: Calibration) -> Iterator[tuple[str, float, float, float]]:
    """Yield each fitted constant with its value and the ends of its 95 % interval."""
    for index, name in enumerate(PRIOR_SD_LOG):
        value, sd = getattr(calibration.constants, name), sqrt(calibration.covariance[index, index])
        yield name, value, value * exp(-QUANTILE * sd), value * exp(QUANTILE * sd)
