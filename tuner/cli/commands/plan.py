"""`tuner plan` shows what a study would do. It needs no cluster."""

from tuner.cli.options import common_options
from tuner.cli.options.options_from_dataclass import with_options
from tuner.cli.options.study_arguments import MbPerS
from tuner.cli.options.study_from_options import StudyFromOptions
from tuner.cli.output import print_result
from tuner.execution.budgets.budget import HOST_CLOCK, refuse_passed_deadline
from tuner.model.spec import Executor
from tuner.present.console import OUT, warn
from tuner.present.studies.plan_view import plan_csv, plan_json, plan_warning, print_plan


@with_options()
def plan(
    options: StudyFromOptions,
    mb_per_s: MbPerS = 200.0,
    as_json: common_options.Json = False,
    as_csv: common_options.Csv = False,
) -> None:
    """Show what a study would do, without any traffic: trials, time, bytes, search space, topics that it creates.

    The options are those of `tuner run`, so give both commands the same ones. --csv prints the table of knobs.

    \b
    Examples:
        tuner plan overnight.yaml
        tuner plan overnight.yaml --until 07:00
        tuner plan overnight.yaml --mb-per-s 80 --json
        tuner plan --quick --record-bytes 500
        tuner plan --record-bytes 1000 --current producer.properties --trials 40 --rounds 6
        tuner plan --method grid --knob linger.ms=0,5,20 --knob compression.type=none,lz4 --repeats 3
    """
    spec, _ = options.new_or_same_study()
    refuse_passed_deadline(spec, lambda: True, HOST_CLOCK)
    options.check_limits(spec)
    spaces = spec.spaces
    simulated = spec.executor is Executor.SIMULATED
    targets = [str(spec.executor)] if simulated else [target.label for target in spec.targets]
    record = plan_json(spec, spaces, mb_per_s, targets)
    print_result(
        record,
        lambda: print_plan(spec, spaces, record, OUT),
        lambda: plan_csv(record),
        as_json=as_json,
        as_csv=as_csv,
    )
    if not (as_json or as_csv) and (warning := plan_warning(spec, mb_per_s)):
        warn(warning)
