"""`tuner calibrate`: a few measurements that calibrate the performance model."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final

import typer

from runners.reporting import Say, counted, duration, silent
from runners.runner import Limits
from runners.workload import MOST_COMPRESSIBLE, MOST_RATE_RECORDS_PER_S, RecordSizes, Workload
from search_spaces.client import client_of
from search_spaces.configs.producer_config import ProducerConfig
from tuner.cli.options import common_options, target_options, workload_options
from tuner.cli.output import print_result
from tuner.cli.running.own_study import new_study
from tuner.cli.running.with_progress import run_experiment_with_progress
from tuner.execution.open_target import open_alone
from tuner.experiment_file import parse_experiment
from tuner.model.spec import RATE_RATIO, SafetySpec
from tuner.model.target import MOST_BROKERS, Target
from tuner.prediction.calibration import calibrate as fitted
from tuner.prediction.fitted_constants import similar_host
from tuner.prediction.observations import Observation, observations_of_experiment
from tuner.prediction.predicted_metrics import LATENCIES
from tuner.prediction.probes import calibration_file, defaults_for
from tuner.present.console import OUT, say, warn
from tuner.present.predictions.calibration_view import calibration_json, calibration_lines
from tuner.storage.locations import storage_at

_STEM: Final = "calibration"
_WARMUP_S: Final = 1.0
_MEASURED_S: Final = 1.5
"""Short, because a throughput differs more between two measurements than within one (docs/evidence/prediction.md)."""
_LONG_WARMUP_S: Final = 4.0
"""The warm-up of the first measurement, on brokers that may have just started."""
_SAFETY: Final = SafetySpec()
"""The limits that the measurements of an experiment have, too."""


def calibrate(
    record_bytes: Annotated[
        str, typer.Option(metavar="N", parser=workload_options.parse_record_sizes, help="Bytes of a record's value.")
    ] = "1000",
    client: workload_options.MeasuredClient = "librdkafka",
    rate: Annotated[
        float | None,
        typer.Option(
            min=1,
            max=MOST_RATE_RECORDS_PER_S,
            metavar="N",
            help="Records per second at which latencies are measured.",
            show_default="30 % of the throughput of the client's defaults, which is measured first",
        ),
    ] = None,
    partitions: Annotated[int, typer.Option(min=1, metavar="N", help="Partitions of the topics.")] = 3,
    replication: Annotated[int, typer.Option(min=1, metavar="N", help="Replicas of each partition.")] = 1,
    compressibility: Annotated[
        float,
        typer.Option(
            min=0, max=MOST_COMPRESSIBLE, metavar="RATIO", help="Share of each value that compression removes."
        ),
    ] = 0.5,
    probes: Annotated[
        int,
        typer.Option(
            min=4, max=64, metavar="N", help="Number of probes: configs that are measured to calibrate the model."
        ),
    ] = 16,
    bootstrap: target_options.StartedOrBootstrap = None,
    command_config: target_options.CommandConfig = None,
    brokers: target_options.Brokers = None,
    as_json: common_options.Json = False,
    quiet: common_options.Quiet = False,
) -> None:
    """Measure a few configs that calibrate the performance model, for tuner predict without a study.

    The configs are chosen so that they determine the model's constants. Each is measured for some seconds as fast as
    the client takes records, and then at a fixed rate: with 16 configs this takes about three minutes. The results are
    kept as an experiment, which is named calibration-1, calibration-2 and so on: give this name to `tuner predict` or
    `tuner experiment report`.

    \b
    Examples:
        tuner calibrate
        tuner calibrate --record-bytes 100 --client java
        tuner calibrate --brokers 3 --replication 3
        tuner calibrate --bootstrap broker:9092 --rate 20000
    """
    if bootstrap is None and replication > (brokers or 1):
        raise typer.BadParameter(
            f"each replica needs a broker of its own, but got --replication {replication} and "
            f"{counted(brokers or 1, 'broker')}; raise --brokers (up to {MOST_BROKERS}), or name your cluster with "
            "--bootstrap"
        )
    target = target_options.target_of(bootstrap, command_config, brokers=brokers)
    with workload_options.named_by_option():
        load = Workload(
            RecordSizes.parse(record_bytes),
            compressibility_ratio=compressibility,
            partitions=partitions,
            replication=replication,
            rate_records_per_s=rate,
            warmup_s=_WARMUP_S,
            measured_s=_MEASURED_S,
        )
    defaults, alone = defaults_for(client_of(client), load), quiet or as_json
    progress = silent if alone else say
    if rate is None:
        load = replace(load, rate_records_per_s=measured_rate(defaults, target, load, progress))
    start = similar_host(defaults.client, shared=bootstrap is None)
    text = calibration_file(defaults, target, load, probes, start)
    with new_study(_STEM, storage_at(), silent=alone) as name:
        spec = parse_experiment(text, name=name, folder=Path.cwd(), origin="the calibration")
        progress(f"{counted(spec.measurements, 'measurement')} take about {duration(spec.planned_s)}")
        results = run_experiment_with_progress(
            replace(spec, target=target), text, silent=alone, mlflow=False, mix_environments=False, resumed=False
        )
    calibration = fitted(observations_of_experiment(results), start)
    if warning := warning_of_missed_rate(name, calibration.observations, load.rate_records_per_s or 0.0):
        warn(warning)
    print_result(
        calibration_json(name, calibration),
        lambda: OUT.show(*calibration_lines(name, calibration)),
        as_json=as_json,
    )


def measured_rate(defaults: ProducerConfig, target: Target, load: Workload, progress: Say) -> float:
    """Return the rate of the paced rows, in records per second: a share of the measured throughput of the defaults.

    Brokers that have just started are slow, so the rate is a smaller share of the throughput that they reach later.
    """
    with open_alone(target, "tuner calibrate", say, progress, defaults.client) as opened:
        progress("measuring the client's defaults, to choose the fixed rate")
        runner = opened.runner(limits=Limits(_SAFETY.max_bytes_per_trial, _SAFETY.min_free_disk_bytes))
        throughput = runner.run(defaults, replace(load, warmup_s=_LONG_WARMUP_S)).records_per_s
    rate = float(f"{RATE_RATIO * throughput:.2g}")
    progress(f"they reach {throughput:,.0f} records/s, so the fixed rate is {rate:,.10g} records/s")
    return rate


def warning_of_missed_rate(name: str, observations: Sequence[Observation], rate_records_per_s: float) -> str | None:
    """Return a warning if configs of a calibration did not hold the rate, so that their latencies are unknown."""
    held = sum(bool(set(LATENCIES) & set(each.values)) for each in observations)
    configs = sum(each.workload.rate_records_per_s is None for each in observations)
    rate = f"{rate_records_per_s:,.10g} records/s"
    if not held:
        return (
            f"no config held {rate}, so `tuner predict {name}` can't predict latencies; calibrate again with a lower "
            "--rate"
        )
    if held < configs:
        advice = "; calibrate again with a lower --rate" if 2 * held < configs else ""
        return f"{configs - held} of {configs} configs did not hold {rate}, so their latencies are left out{advice}"
    return None
