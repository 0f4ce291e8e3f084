"""`tuner cost`: what a terabyte costs with the baseline and with the recommended config, by the user's unit prices."""

from pathlib import Path
from typing import Annotated

import typer

from tuner.api import load_study
from tuner.cli.options import common_options
from tuner.cli.options.recommend_options import AskedGoal, RecordBytes
from tuner.cli.output import print_result
from tuner.present.console import OUT, warn, warn_of_each
from tuner.present.recommendations.cost_view import cost_json, cost_lines
from tuner.results.cost import cost_of
from tuner.results.recommendations.recommend import recommend_each
from tuner.results.study_load import assumed_shape, stored_load
from tuner.study_file.prices import read_prices


def cost(
    study: common_options.Study,
    prices: Annotated[Path, typer.Argument(metavar="PRICES.YAML", help="File of unit prices, see the first example.")],
    record_bytes: RecordBytes = None,
    goal: AskedGoal = None,
    as_json: common_options.Json = False,
) -> None:
    """Compute what a terabyte costs with the baseline and with the recommended config, from your unit prices.

    The file of prices holds at least one of the keys core_hour (a broker's core for an hour), disk_gb_month (a gigabyte
    on a broker's disk for 30 days) and network_gb (a gigabyte that goes to a broker), and may hold retention_days (7 by
    default) and currency. The amounts are those that the study measured; nothing is measured now.

    \b
    Examples:
        echo "{core_hour: 0.04, disk_gb_month: 0.1, network_gb: 0.01, currency: EUR}" > prices.yaml
        tuner cost overnight prices.yaml
        tuner cost overnight prices.yaml --record-bytes 1000 --json
    """
    unit = read_prices(prices)
    results = load_study(study).results
    if assumed := assumed_shape(results):
        warn(assumed)
    replication = int(stored_load(results)["replication"])
    recommended, missing = recommend_each(results, record_bytes, goal)
    costs_of_sizes = []
    for recommendation in recommended:
        costs = {"baseline": cost_of(recommendation.baseline_metrics, replication, unit)}
        if not recommendation.is_baseline:
            costs["recommended"] = cost_of(recommendation.metrics, replication, unit)
        costs_of_sizes.append((recommendation, costs))
    print_result(
        cost_json(results.name, costs_of_sizes, unit),
        lambda: OUT.show(*cost_lines(costs_of_sizes, unit)),
        as_json=as_json,
    )
    for recommendation in recommended:
        if not (as_json or recommendation.proven or recommendation.is_baseline):
            warn(f"{recommendation.record_bytes} B: the recommended config is not proven better")
    warn_of_each(warning for recommendation in recommended for warning in recommendation.warnings)
    if missing:
        raise missing
