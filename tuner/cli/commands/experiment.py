"""`tuner experiment`: fixed lists of measurements, in rounds; those of five papers come with the tuner."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from runners.reporting import counted, duration
from tuner.cli.options import common_options, target_options
from tuner.cli.output import (
    Force,
    check_output,
    check_picture,
    file_or_none,
    print_json,
    print_result,
    write_output,
    write_picture,
)
from tuner.cli.running.with_progress import run_experiment_with_progress
from tuner.execution.experiments.work_left import work_left
from tuner.experiment_file import MOST_ROUNDS, PAPERS, named_experiments, paper_experiments, read_experiment
from tuner.experiment_file.searches import on_cluster, on_ray
from tuner.model.document import document
from tuner.model.errors import StudyNotFound
from tuner.model.experiment import ExperimentSpec
from tuner.present.console import OUT, say, warn
from tuner.present.experiments.experiment_plan_view import planned_json, planned_lines
from tuner.present.experiments.experiment_view import (
    experiment_lines,
    experiment_markdown,
    experiments_csv,
    experiments_json,
    experiments_markdown,
    overview_lines,
)
from tuner.present.number_text import aligned
from tuner.results.experiments.experiment_results import ExperimentResults, load_experiment
from tuner.storage.locations import find_study
from tuner.study_file import QUICK_SUFFIX

app = typer.Typer(
    help="Measure a fixed list of configs and loads in rounds, or repeat the experiments of five papers.",
    no_args_is_help=True,
)

Named = Annotated[
    str, typer.Argument(metavar="NAME|FILE", help="Name of an experiment that comes with the tuner, or a YAML file.")
]
Quick = Annotated[bool, typer.Option("--quick", help="Short measurements and few rounds, so that it takes minutes.")]


class ReportFormat(StrEnum):
    """The format of a report."""

    TEXT = "text"
    MARKDOWN = "markdown"
    CSV = "csv"
    JSON = "json"
    HTML = "html"
    PNG = "png"


@app.command("list")
def list_experiments(as_json: common_options.Json = False) -> None:
    """List the experiments that come with the tuner, with the time that each takes.

    \b
    Example:
        tuner experiment list
    """
    versions = [(read_experiment(name)[0], read_experiment(name, quick=True)[0]) for name in named_experiments()]
    listed = [{"full": planned_json(full), "quick": planned_json(quick)} for full, quick in versions]
    rows = [
        (full.name, str(len(full.rows)), duration(quick.planned_s), duration(full.planned_s), full.about)
        for full, quick in versions
    ]
    headings = ("experiment", "rows", "--quick takes", "takes", "measures")
    print_result(
        document("experiments", experiments=listed),
        lambda: OUT.show(*aligned([headings, *rows], right=False)),
        as_json=as_json,
    )


@app.command()
def show(
    named: Named,
    quick: Quick = False,
    as_yaml: Annotated[bool, typer.Option("--yaml", help="Print the experiment's file, to change it.")] = False,
    as_json: common_options.Json = False,
) -> None:
    """Show what an experiment would measure, without any traffic: rows, time and bytes.

    \b
    Examples:
        tuner experiment show linkedin-producers
        tuner experiment show thesis-default --yaml > my-experiment.yaml
    """
    spec, text = read_experiment(named, quick=quick)
    if as_yaml:
        OUT.show(text, end="")
    else:
        print_result(planned_json(spec), lambda: OUT.show(*planned_lines(spec)), as_json=as_json)


@app.command()
def run(
    named: Annotated[
        str,
        typer.Argument(
            metavar="NAME|FILE|papers",
            help=f"Name of an experiment that comes with the tuner, a YAML file, or {PAPERS} for all of the papers.",
        ),
    ],
    quick: Quick = False,
    bootstrap: target_options.StartedOrBootstrap = None,
    command_config: target_options.CommandConfig = None,
    ray_address: Annotated[
        str | None,
        typer.Option(
            envvar="RAY_ADDRESS",
            metavar="ADDRESS",
            help="Address of your Ray cluster, such as head:6379, or auto. Without it, the clients run on this host.",
        ),
    ] = None,
    rounds: Annotated[
        int | None, typer.Option(min=1, max=MOST_ROUNDS, help="Number of rounds.", show_default="the file's")
    ] = None,
    mlflow: Annotated[bool, typer.Option("--mlflow/--no-mlflow", help="Also show the experiment in MLflow.")] = True,
    mix_environments: common_options.MixEnvironments = False,
    as_json: common_options.Json = False,
    quiet: common_options.Quiet = False,
) -> None:
    """Run an experiment: measure all its rows in each round, the control first and the others at random, and report.

    The results are kept in studies/NAME below the working folder, with -quick after the name for the quick version. You
    can stop the command at any time: the same command resumes the experiment where it stopped.

    \b
    Examples:
        tuner experiment run thesis-default --quick
        tuner experiment run papers --quick
        tuner experiment run linkedin-producers --bootstrap broker1:9092,broker2:9092,broker3:9092
        tuner experiment run mine.yaml --rounds 10
    """
    names = paper_experiments() if named == PAPERS else [named]
    read = [read_experiment(name, quick=quick, bootstrap=bootstrap) for name in names]
    planned = [(_with_options(spec, bootstrap, command_config, ray_address, rounds), text) for spec, text in read]
    silent = quiet or as_json
    if not silent:
        left = [work_left(spec) for spec, _ in planned]
        if count := sum(each.measurements for each in left):
            seconds, most = sum(each.seconds for each in left), sum(each.most_bytes for each in left)
            searching = "the searches and " if any(each.searches for each in left) else ""
            takes, sends = ("takes", "sends") if count == 1 else ("take", "send")
            counted_left = f"{searching}{counted(count, 'measurement')}"
            say(f"{counted_left} {takes} about {duration(seconds)} and {sends} at most {most / 1e9:,.0f} GB")
    measured = []
    for spec, text in planned:
        results = run_experiment_with_progress(
            spec, text, silent=silent, mlflow=mlflow, mix_environments=mix_environments
        )
        measured.append(results)
        if not as_json:
            OUT.show(*experiment_lines(results))
    if as_json:
        print_json(experiments_json(measured))
    elif len(measured) > 1:
        OUT.show(*overview_lines(measured))


@app.command()
def report(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME|papers",
            help=f"Name of an experiment that was run; {PAPERS} and {PAPERS}{QUICK_SUFFIX} stand for those of "
            "published papers.",
        ),
    ],
    form: Annotated[ReportFormat, typer.Option("--format", help="Format of the report.")] = ReportFormat.TEXT,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to a file.")] = None,
    force: Force = False,
    as_json: common_options.Json = False,
    as_csv: common_options.Csv = False,
) -> None:
    """Report an experiment: its rows, beside a paper's values if it repeats one, and whether each finding holds here.

    With papers, the report begins with all findings of the experiments that were run.

    \b
    Examples:
        tuner experiment report thesis-default-quick
        tuner experiment report thesis-default --format markdown -o thesis-default.md
        tuner experiment report thesis-default --format html -o thesis-default.html
        tuner experiment report thesis-default --format png -o thesis-default.png
        tuner experiment report thesis-default --csv > measurements.csv
        tuner experiment report papers-quick --format markdown
    """
    chosen = ReportFormat.JSON if as_json else ReportFormat.CSV if as_csv else form
    if form not in (ReportFormat.TEXT, chosen):
        raise typer.BadParameter(f"a result has one format, but --{chosen} and --format were given; leave one out")
    output = file_or_none(output)
    if chosen is ReportFormat.PNG:
        if output is None:
            raise typer.BadParameter("a picture is a file: name it with --output")
        check_picture(output, force=force)
    else:
        check_output(output, force=force)
    experiments = _stored_results(name)
    if chosen in (ReportFormat.HTML, ReportFormat.PNG) and len(experiments) > 1:
        what = "a page" if chosen is ReportFormat.HTML else "a picture"
        raise typer.BadParameter(f"{what} shows one experiment, but {name} are {len(experiments)}; name one of them")
    if output is None:
        OUT.show(_report_text(experiments, chosen), end="")
        return
    if chosen is ReportFormat.PNG:
        from tuner.present.report.experiment_pictures import draw_experiment  # it imports matplotlib

        write_picture(output, partial(draw_experiment, experiments[0]), force=force)
    else:
        write_output(output, _report_text(experiments, chosen), force=force)
    say(f"wrote {output}")


def _report_text(experiments: Sequence[ExperimentResults], form: ReportFormat) -> str:
    """Return the report of experiments in a format that is a text; a page shows the first one only."""
    if form is ReportFormat.MARKDOWN:
        return experiment_markdown(experiments[0]) if len(experiments) == 1 else experiments_markdown(experiments)
    if form is ReportFormat.CSV:
        return experiments_csv(experiments)
    if form is ReportFormat.JSON:
        return json.dumps(experiments_json(experiments), indent=2) + "\n"
    if form is ReportFormat.HTML:
        from tuner.present.report.page import experiment_page

        return experiment_page(experiments[0])
    head = [*overview_lines(experiments), ""] if len(experiments) > 1 else []
    return "\n".join([*head, *(line for each in experiments for line in (*experiment_lines(each), ""))])


def _stored_results(name: str) -> list[ExperimentResults]:
    """Return the results of one experiment, or of all experiments of published papers that were run."""
    if name not in (PAPERS, PAPERS + QUICK_SUFFIX):
        return [load_experiment(find_study(name, what="experiment"))]
    form = name.removeprefix(PAPERS)
    results = []
    for each in paper_experiments():
        with suppress(StudyNotFound):
            results.append(load_experiment(find_study(each + form)))
    if not results:
        flag = " --quick" if form else ""
        raise StudyNotFound(f"no experiment of the papers has results here; run `tuner experiment run papers{flag}`")
    return results


def _with_options(
    spec: ExperimentSpec,
    bootstrap: str | None,
    command_config: Path | None,
    ray_address: str | None,
    rounds: int | None,
) -> ExperimentSpec:
    """Return an experiment with the cluster, the Ray cluster and the number of rounds of the command line.

    On a user's cluster, rows with a link are left out, because only brokers that the tuner starts have a link.
    """
    if bootstrap is None:
        target_options.target_of(None, command_config)  # it refuses connection settings without an address
    else:
        if spec.target.link is not None:
            rows = tuple(row for row in spec.rows if row.setup.same_zone)
            if spec.row(spec.control) not in rows:
                raise typer.BadParameter(
                    f"the control of {spec.name} needs brokers that the tuner starts, because its network has a delay "
                    "or a limited bandwidth (target.zone_delay, target.zone_bandwidth); leave --bootstrap out"
                )
            if left_out := ", ".join(row.name for row in spec.rows if row not in rows):
                warn(
                    "left out, because the tuner can delay or limit only the network of brokers that it starts: "
                    f"{left_out}"
                )
            spec = replace(spec, rows=rows)
        searches = tuple(on_cluster(each, bootstrap, command_config) for each in spec.searches)
        target = target_options.target_of(bootstrap, command_config, topic=spec.target.topic, like=spec.target.like)
        spec = replace(spec, target=target, searches=searches)
    if ray_address is not None:
        searches = tuple(on_ray(each, ray_address) for each in spec.searches)
        spec = replace(spec, ray=replace(spec.ray, address=ray_address), searches=searches)
    return spec if rounds is None else replace(spec, rounds=rounds)
