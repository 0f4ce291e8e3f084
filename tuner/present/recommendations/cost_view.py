"""The costs of configs, as text and JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from tuner.model.document import document
from tuner.present.number_text import aligned, number
from tuner.results.cost import Cost
from tuner.results.recommendations.recommendation import Recommendation
from tuner.study_file.prices import Prices

Costs = Mapping[str, Cost]
"""The costs of one record size by config: `baseline` and, if another config is recommended, `recommended`."""
_PARTS: Final[Mapping[str, str]] = {"broker_cpu": "brokers' CPU", "network": "network", "disk": "disk"}
_PRICES: Final[Mapping[str, str]] = {"broker_cpu": "core_hour", "network": "network_gb", "disk": "disk_gb_month"}
"""The unit price of each part."""


def cost_lines(recommended: Sequence[tuple[Recommendation, Costs]], prices: Prices) -> list[str]:
    """Return the costs of each record size as lines of text: a row for each part, a column for each config."""
    lines = []
    for recommendation, costs in recommended:
        unit = f" ({prices.currency})" if prices.currency else ""
        rows = [[f"{recommendation.record_bytes} B, for 1 TB of values{unit}", *costs]]
        for part, label in _PARTS.items():
            kept = f" (retention_days: {prices.retention_days:g})" if part == "disk" else ""
            rows.append([label + kept, *(number(getattr(each, part)) for each in costs.values())])
        rows.append(["together", *(number(each.total) for each in costs.values())])
        lines += [*aligned(rows), *_remarks(recommendation, costs, prices), ""]
    return lines[:-1]


def _remarks(recommendation: Recommendation, costs: Costs, prices: Prices) -> list[str]:
    missing: dict[str, list[str]] = {}
    remarks = []
    for part, label in _PARTS.items():
        lacking = [name for name, each in costs.items() if getattr(each, part) is None]
        if len(lacking) == len(costs):
            why = "not measured" if getattr(prices, _PRICES[part]) is not None else "no price given"
            missing.setdefault(why, []).append(label)
        elif lacking:
            remarks.append(f"{label}: not measured for the {lacking[0]} config, so the two totals can't be compared")
    comparable = not remarks
    remarks += [f"{why}, so not counted: {', '.join(labels)}" for why, labels in missing.items()]
    before, after = costs["baseline"].total, costs["recommended"].total if "recommended" in costs else None
    if recommendation.is_baseline:
        remarks.append("the baseline is recommended, so there is nothing to compare")
    elif comparable and before and after is not None:
        remarks.append(f"the recommended config costs {after / before:.2f} times as much as the baseline")
    return remarks


def cost_json(study: str, recommended: Sequence[tuple[Recommendation, Costs]], prices: Prices) -> dict[str, Any]:
    """Return the costs of each record size as JSON types; a cost is null if it was not measured or has no price."""
    return document(
        "costs",
        study=study,
        currency=prices.currency,
        retention_days=prices.retention_days,
        sizes=[
            {
                "record_bytes": recommendation.record_bytes,
                "warnings": list(recommendation.warnings),
                "per_tb": {name: {**asdict(each), "total": each.total} for name, each in costs.items()},
            }
            for recommendation, costs in recommended
        ],
    )
