"""`tuner verify` finds out whether a config is worse than the baseline, for scripts and pipelines."""

import os
import re
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

from search_spaces.producer_config import same_effect
from search_spaces.producer_file import FileClient, read_producer_file
from search_spaces.properties_file import named_file
from tuner.api import load_study
from tuner.cli import options
from tuner.cli.run import kept_study
from tuner.course.run import run_study
from tuner.model.errors import ExitCode, StudyError
from tuner.model.spec import ConfirmSpec, Executor, Goal, StudySpec
from tuner.present.console import ERR, OUT, say, warn
from tuner.present.study_view import StudyView
from tuner.present.wording import number, one_more_round, title
from tuner.results.verification import (
    Promises,
    Verification,
    decides_at,
    missing_latency,
    promises_of,
    verification_of,
)
from tuner.storage.home import storage_at, studies_root, study_folder
from tuner.storage.protocols import Storage
from tuner.study_file import drop_used_secrets, parse_study, same_measurement, sizes_in, study_text

_GOALS = (Goal.THROUGHPUT, Goal.LATENCY)


def verify(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Properties file of the producer config to verify.")],
    against: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Properties file of the baseline.",
            show_default="the client's defaults, or the baseline of --study",
        ),
    ] = None,
    study: Annotated[
        str | None,
        typer.Option(
            "--study",
            metavar="STUDY",
            help="Measure as this study did, with its target, workload, phases, fixed rates and baseline.",
        ),
    ] = None,
    record_bytes: Annotated[
        str | None,
        typer.Option(
            metavar="N[,N...]",
            help="Record sizes, such as 100,1000. The comparison is made for each size separately.",
            show_default="1000, or all of --study",
        ),
    ] = None,
    client: Annotated[
        str | None,
        typer.Option(
            metavar="librdkafka|java|java:VERSION",
            help="The client that is measured, with both configs. java is the newest known release of Kafka's Java "
            "producer; java:3.9.1 is this one.",
            show_default="librdkafka, or as --study",
        ),
    ] = None,
    file_client: Annotated[
        FileClient,
        typer.Option(
            help="The client that FILE is for, which may be another one than --client: FILE is then translated. auto: "
            "its properties show it; if not, it is for --client."
        ),
    ] = FileClient.AUTO,
    rounds: Annotated[
        int, typer.Option(min=2, help="Minimum number of rounds. One round measures the baseline and the file once.")
    ] = 8,
    max_rounds: Annotated[
        int, typer.Option(min=2, help="Maximum number of rounds, used where the result is still uncertain.")
    ] = 20,
    width_ratio: Annotated[
        float,
        typer.Option(
            min=0.001,
            help="Stop adding rounds when the gain's confidence interval is this narrow, relative to the gain: 0.1 for "
            "a tenth.",
        ),
    ] = 0.1,
    min_gain: Annotated[
        float | None,
        typer.Option(
            min=0,
            metavar="X",
            help="Pass only if the whole confidence interval of every gain is at or above X, such as 1.1.",
        ),
    ] = None,
    tolerance_ratio: Annotated[
        float,
        typer.Option(min=0, max=0.99, help="How much worse than the baseline a result may be: 0.05 for 5 percent."),
    ] = 0.0,
    allow_weaker: Annotated[
        bool,
        typer.Option(
            "--allow-weaker",
            help="Only warn, and do not fail, if the file gives a weaker guarantee than the baseline, or if acks=0 on "
            "one side means that latencies can't be compared.",
        ),
    ] = False,
    seconds: Annotated[
        float | None,
        typer.Option(
            help="Seconds of load that are measured, at full load and again at the fixed rate.",
            show_default="10, or as --study",
        ),
    ] = None,
    warmup: Annotated[
        float | None,
        typer.Option(
            help="Seconds of load before the measurement, at full load and again at the fixed rate.",
            show_default="2, or as --study",
        ),
    ] = None,
    bootstrap: options.Bootstrap = None,
    command_config: options.CommandConfig = None,
    container: options.Container = None,
    executor: Annotated[
        Executor | None,
        typer.Option(
            help="Where the benchmarks run: ray in Ray workers, local without Ray; simulated computes invented "
            "numbers, to try the command without Kafka.",
            show_default="local, or as --study",
        ),
    ] = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Measure a properties file in turn with the baseline, and end with exit code 99 if the file is worse.

    Two numbers are compared: the throughput when records are sent as fast as acknowledgements allow, and the p99
    latency at 30 % of the baseline's throughput. A number is worse if the whole 95 % confidence interval of its ratio
    to the baseline is on the worse side of 1.

    The exit code is also 99 if records were lost, if the fixed rate for the latency was not reached, or if a constraint
    of --study is broken. A guarantee weaker than the baseline's (or than the durability of --study) leads to 99, too,
    and nothing is measured. So does a latency that can't be compared because one side uses acks=0.

    The exit code is 98 if an interval is too wide to tell: it contains 1, and its ends differ by more than a factor of
    2. The rounds end early if records are lost, if a number is certainly worse, or if both are certainly not worse.

    Before the rounds, burn-in runs (measurements that do not count) bring the brokers to a steady state. All
    measurements are kept as a study.

    \b
    Examples:
        tuner verify producer.properties --record-bytes 1000 --bootstrap broker:9092
        tuner verify new.properties --against old.properties --record-bytes 100,1000 --json
        tuner verify new.properties --min-gain 1.1          both numbers must be at least 10 % better
        tuner verify new.properties --tolerance-ratio 0.05  both numbers may be up to 5 % worse
        tuner verify fast.properties --allow-weaker         acks=1 against acks=all, on purpose
        tuner verify best.properties --study overnight      does a recommendation of that study still hold?
    """
    storage, stem = storage_at(), f"verify-{re.sub(r'[^A-Za-z0-9_.-]+', '-', file.stem)}"[:80]
    name = _free_name(stem, storage)
    if study is None:
        phase = {"warmup": 2.0 if warmup is None else warmup, "measured": 10.0 if seconds is None else seconds}
        text = study_text(
            {
                "study": {"name": name},
                "target": {"bootstrap": bootstrap, "command_config": command_config, "container": container},
                "workload": {"record_bytes": sizes_in(record_bytes or "1000"), "saturate": phase, "paced": phase},
                "client": client,
                "baseline": against,
                "durability": "any",
                "search": {"trials": 1},
                "executor": {"kind": executor or Executor.LOCAL},
            }
        )
        spec = _parsed(text, name, Path.cwd(), "the command line")
        rates: dict[str, float] = {}
    else:
        fixed: dict[str, object] = {
            "--client": client,
            "--against": against,
            "--bootstrap": bootstrap,
            "--command-config": command_config,
            "--container": container,
            "--seconds": seconds,
            "--warmup": warmup,
            "--executor": executor,
        }
        if given := [option for option, value in fixed.items() if value is not None]:
            raise typer.BadParameter(f"--study decides how to measure, so leave these options out: {', '.join(given)}")
        spec, text, rates = _study_like(study, name, record_bytes)
    with named_file(file):
        given_file = read_producer_file(file, file_client, spec.client)
        config = given_file.config
    for note in () if quiet or as_json else given_file.notes:
        say(note)
    if same_effect(config.in_force, spec.baseline.in_force):
        what = str(against) if against else "the study's baseline" if study else "the client's defaults"
        raise typer.BadParameter(
            f"{file} must differ from {what} to be compared, but both configure the producer in the same way"
        )
    confirm = ConfirmSpec(rounds, max_rounds, width_ratio, _GOALS, 1, 0, ablation_rounds=0, configs=(config,))
    spec = replace(spec, confirm=replace(confirm, decides_at=decides_at(min_gain, tolerance_ratio)))
    # Without --study, the file must give at least the baseline's guarantee. The study made above has `durability: any`,
    # so that a file with a weaker guarantee can be measured with --allow-weaker.
    promises = promises_of(spec, spec.floor if study else None)
    refused = [*promises.misses(allow_weaker=allow_weaker), *missing_latency(spec, allow_weaker=allow_weaker)]
    if refused:
        if as_json:
            options.print_json(_record("", file, promises, refused, [], {}, {}))
        _end(refused, [])
    silent = quiet or as_json
    while not storage.create(study_folder(name)):  # another process, maybe on another host, has just taken the name
        name = _free_name(stem, storage)
        spec = replace(spec, name=name)
        text = same_measurement(text, name, [str(size) for size in spec.workload.record_sizes])
    with StudyView(quiet=silent) as view:
        results = run_study(spec, text, study_folder(name), view, rates=rates, storage=storage)
    found = [verification_of(size, spec) for size in results.sizes]
    misses = {each.record_bytes: each.misses(min_gain, tolerance_ratio, allow_weaker=allow_weaker) for each in found}
    undecided = {each.record_bytes: each.undecided(min_gain, tolerance_ratio) for each in found}
    if as_json:
        options.print_json(_record(name, file, promises, [], found, misses, undecided))
    else:
        _print(promises, found)
        if not quiet:
            say(f"`tuner report {name}` shows all measurements")
    if promises.weaker:
        warn(f"the guarantee is weaker: {promises}")
    if results.simulated:
        warn("simulated: nothing was measured on Kafka")
    unmeasured = [each for each in found if not each.measured]
    if unmeasured:
        why = "; ".join(unmeasured[0].warnings) or "no round measured both sides"
        raise StudyError(
            "a comparison needs at least two rounds that measured both the file and the baseline, but "
            f"there were fewer with records of {unmeasured[0].record_bytes} B: {why}"
        )
    _end(*([f"{size} B: {each}" for size, told in by.items() for each in told] for by in (misses, undecided)))


def _end(missed: list[str], undecided: list[str]) -> None:
    """Print why a file did not pass, and end the command with the exit code for it; do nothing if it passed."""
    for sentence in (*missed, *undecided):
        ERR.print(sentence, style="red", markup=False, soft_wrap=True)
    if code := _exit_code(missed, undecided):
        raise typer.Exit(code)


def _exit_code(missed: Sequence[str], undecided: Sequence[str]) -> ExitCode:
    if missed:
        return ExitCode.THRESHOLD_MISSED
    return ExitCode.UNDECIDED if undecided else ExitCode.DONE


def _study_like(study: str, name: str, record_bytes: str | None) -> tuple[StudySpec, str, dict[str, float]]:
    """Return a new study that measures in the same way as an existing study.

    Args:
        study: Name, folder or file of the existing study.
        name: Name of the new study.
        record_bytes: Record sizes of the existing study that are measured again; None for all of them.

    Returns:
        The new study, the text of its study file, and the fixed rate of each record size in records per second.

    Raises:
        typer.BadParameter: The existing study did not measure one of the sizes.
    """
    results = load_study(study).results
    _, text = kept_study(study, results, searched=False)
    wanted = [size.record_bytes for size in results.sizes]
    if record_bytes is not None:
        asked = [str(size) for size in sizes_in(record_bytes)]
        if unknown := [each for each in asked if each not in wanted]:
            raise typer.BadParameter(
                f"--record-bytes must name sizes of {results.name} ({', '.join(wanted)}), but got {', '.join(unknown)}"
            )
        wanted = asked
    text = same_measurement(text, name, wanted)
    beside = Path(study).parent if Path(study).is_file() else Path.cwd()
    spec = _parsed(text, name, beside, f"the study file of {study}")
    drop_used_secrets(text, os.environ)
    rates = {size.record_bytes: rate for size in results.sizes if (rate := size.rate_records_per_s) is not None}
    return spec, text, {size: rate for size, rate in rates.items() if size in wanted}


def _parsed(text: str, name: str, folder: Path, origin: str) -> StudySpec:
    return parse_study(text, name=name, folder=folder, origin=origin, environ=os.environ, searched=False)


def _free_name(name: str, storage: Storage) -> str:
    """Return `NAME-1`, or the name with the next number for which there is no study and no folder yet.

    Each verification is kept as a new study.
    """
    root = studies_root()
    taken = {each for each in (*storage.names(root), *(path.name for path in root.glob("*"))) if each.startswith(name)}
    return next(each for number in range(1, len(taken) + 2) if (each := f"{name}-{number}") not in taken)


def _print(promises: Promises, found: list[Verification]) -> None:
    OUT.print(f"guarantee: {promises}", markup=False, soft_wrap=True)
    for each in found:
        told = {
            metric: f"{gain} times as good: {each.outcome(metric)}; one more round would show {one_more_round(gain)}"
            for metric, gain in each.gains.items()
        }
        told |= {metric: f"could not be compared: {lack}" for metric, lack in each.not_compared.items()}
        for metric, outcome in told.items():
            sides = f"{number(each.baseline.get(metric))} -> {number(each.values.get(metric))}"
            line = f"{each.record_bytes:>6} B  {title(metric):<18} {sides:<18} {outcome}"
            OUT.print(line, markup=False, soft_wrap=True)
    for warning in dict.fromkeys(warning for each in found for warning in each.warnings):
        warn(warning)


def _record(
    name: str,
    file: Path,
    promises: Promises,
    refused: list[str],
    found: list[Verification],
    misses: dict[str, list[str]],
    undecided: dict[str, list[str]],
) -> dict[str, Any]:
    code = _exit_code([*refused, *chain(*misses.values())], [*chain(*undecided.values())])
    if code is ExitCode.DONE and not all(each.measured for each in found):
        code = ExitCode.FAILED
    return {
        "schema_version": 1,
        "kind": "verification",
        "study": name or None,
        "file": str(file),
        "guarantee": str(promises.config),
        "baseline_guarantee": str(promises.baseline),
        "weaker": promises.weaker,
        "misses": refused,
        "passed": code is ExitCode.DONE,
        "exit_code": int(code),
        "sizes": [
            {
                **asdict(each),
                "outcomes": {metric: str(each.outcome(metric)) for metric in each.gains},
                "misses": misses[each.record_bytes],
                "undecided": undecided[each.record_bytes],
            }
            for each in found
        ],
    }
