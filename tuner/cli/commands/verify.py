"""`tuner verify` finds out whether a config is worse than the baseline, for scripts and pipelines."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from tuner.api import load_study
from tuner.cli.options import common_options, target_options, verify_options
from tuner.cli.options.options_from_dataclass import with_options
from tuner.cli.options.verify_options import VerifyOptions
from tuner.cli.output import print_json
from tuner.cli.printing.verifications import end_unless_passed, print_judgement
from tuner.cli.running.kept_study import kept_study
from tuner.cli.running.own_study import free_name, run_own_study, study_of_options
from tuner.execution.studies.verifying import judgement_before, measuring_like
from tuner.model.errors import RequestRefused, StudyError
from tuner.model.spec import Executor, StudySpec
from tuner.model.study_files import verification_stem
from tuner.present.comparisons.verification_view import verification_lines
from tuner.present.console import warn
from tuner.results.comparisons.verification import VerificationTerms
from tuner.results.study_results import SIMULATED
from tuner.storage.locations import storage_at
from tuner.study_file import parse_study


@with_options()
def verify(
    options: VerifyOptions,
    bootstrap: target_options.Bootstrap = None,
    command_config: target_options.CommandConfig = None,
    container: target_options.Container = None,
    executor: Annotated[Executor | None, common_options.executor(default="local, or as --study")] = None,
    as_json: common_options.Json = False,
    quiet: common_options.Quiet = False,
) -> None:
    """Measure a properties file alternating with the baseline, and end with exit code 99 if the file is worse.

    Two numbers are compared: the throughput when records are sent as fast as the client takes them, and the p99
    latency at 30 % of the baseline's throughput. With --study, each objective of the study is compared, too. A number
    is worse if the whole confidence interval of its ratio to the baseline, of at least 95 %, is on the worse side of 1.

    The exit code is also 99 if records were lost, if the fixed rate for the latency was not reached, or if a constraint
    of --study is broken. It is 99 without any measurement if the file gives a weaker guarantee than the baseline (or
    than the durability of --study), or if the latencies can't be compared because one side uses acks=0.

    The exit code is 98 if an interval is too wide to decide: it contains the threshold, and its upper end is more than
    twice its lower end. The threshold is 1, or 1 - T with --tolerance-ratio T. With --min-gain G, it is G, and the
    interval must contain 1, too.

    The rounds end early if records are lost, or if a number is certainly worse than allowed. They also end early if all
    numbers are certainly good enough, except that constraints of --study need all rounds.

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
    verify_options.check_gain(options)
    fewest, most = verify_options.fewest_and_most_rounds(options.rounds, options.max_rounds)
    storage, stem = storage_at(), verification_stem(str(options.file))
    name = free_name(stem, storage)
    measuring: dict[str, Any] = {
        "client": options.client,
        "against": options.against,
        "bootstrap": bootstrap,
        "command_config": command_config,
        "container": container,
        "seconds": options.seconds,
        "warmup": options.warmup,
        "executor": executor,
    }
    if options.study is None:
        spec, text = study_of_options(
            name, "1000" if options.record_bytes is None else options.record_bytes, **measuring
        )
    else:
        if named := [f"--{option.replace('_', '-')}" for option, value in measuring.items() if value is not None]:
            raise typer.BadParameter(f"--study decides how to measure, so leave these options out: {', '.join(named)}")
        spec, text = _study_like(options.study, name, options.record_bytes)
    silent = quiet or as_json
    terms = VerificationTerms(
        config=common_options.config_of_file(
            options.file, options.file_client, spec.client, silent=silent, advice=verify_options.FILE_CLIENT
        ),
        rounds=fewest,
        max_rounds=most,
        width_ratio=options.width_ratio,
        min_gain=options.min_gain,
        tolerance_ratio=options.tolerance_ratio,
        allow_weaker=options.allow_weaker,
        # The study made above has `durability: any`, so that a weaker file can be measured with --allow-weaker.
        keeps_floor=options.study is not None,
    )
    baseline = str(options.against or ("the study's baseline" if options.study else "the client's defaults"))
    with common_options.as_usage_error(RequestRefused):
        judgement = judgement_before(spec, terms, str(options.file), baseline)
    spec = terms.study(spec)
    if judgement.refused:
        if as_json:
            print_json(judgement.as_json())
        end_unless_passed(judgement.as_json())
    results = run_own_study(spec, text, stem, storage, silent=silent)
    judgement = judgement.after(results, replace(spec, name=results.name), terms)
    print_judgement(judgement.as_json(), "\n".join(verification_lines(judgement)), as_json=as_json, quiet=quiet)
    if results.simulated:
        warn(SIMULATED)
    if judgement.unmeasured:
        raise StudyError(judgement.unmeasured)
    end_unless_passed(judgement.as_json())


def _study_like(study: str, name: str, record_bytes: str | None) -> tuple[StudySpec, str]:
    """Return a new study that measures in the same way as an existing study.

    Args:
        study: Name, folder or file of the existing study.
        name: Name of the new study.
        record_bytes: Record sizes of the existing study that are measured again; None for all of them.

    Returns:
        The new study with the fixed rates of the existing one, and the text of its study file.

    Raises:
        typer.BadParameter: The existing study did not measure one of the sizes, or one is named twice.
    """
    results = load_study(study).results
    _, text = kept_study(study, results, searched=False)
    with common_options.as_usage_error(RequestRefused):
        text, rates = measuring_like(text, name, results.name, results.facts, record_bytes, "--record-bytes")
    beside = Path(study).parent if Path(study).is_file() else Path.cwd()
    spec = parse_study(text, name=name, folder=beside, origin=f"the study file of {study}", searched=False)
    return replace(spec, rates_records_per_s=rates), text
