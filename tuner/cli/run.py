"""`tuner run`: search for the best configs; `tuner confirm`: measure them again. Both go on where they stopped."""

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from tuner import api
from tuner.cli import options
from tuner.cli.recommend import study_record
from tuner.model.errors import NoFeasibleConfig
from tuner.model.quantities import clock_time
from tuner.model.spec import Executor, Goal, Method, SearchSpec, StudySpec
from tuner.present.console import OUT, say, warn
from tuner.present.export import Format, export_all
from tuner.present.study_view import StudyView
from tuner.present.wording import SIMULATED
from tuner.results.recommendation import recommendations
from tuner.results.study_results import StudyResults
from tuner.storage.files import STUDY_FILE
from tuner.storage.home import study_folder
from tuner.study_file import load_study, parse_study, sizes_in, study_text


def run(
    study_file: Annotated[
        Path | None, typer.Argument(metavar="STUDY.YAML", help="Study file; `tuner init` writes one to begin with.")
    ] = None,
    record_bytes: Annotated[
        str | None,
        typer.Option(metavar="N[,N...]", help="Record sizes, without a study file.", rich_help_panel="Without a file"),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the study; made of target and sizes.", rich_help_panel="Without a file")
    ] = None,
    current: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Producer properties that you use today: the baseline.",
            rich_help_panel="Without a file",
        ),
    ] = None,
    objectives: Annotated[Goal | None, typer.Option(help="What to optimise.", rich_help_panel="Without a file")] = None,
    durability: Annotated[
        str | None,
        typer.Option(
            metavar="baseline|any|leader|all|ordered|idempotent",
            help="The least that a config may promise.",
            rich_help_panel="Without a file",
        ),
    ] = None,
    method: Annotated[Method | None, typer.Option(help="How to search.", rich_help_panel="Without a file")] = None,
    bootstrap: options.Bootstrap = None,
    command_config: options.CommandConfig = None,
    container: options.Container = None,
    trials: Annotated[
        int | None, typer.Option(min=1, help="Trials per record size.", rich_help_panel="How long")
    ] = None,
    hours: Annotated[
        float | None, typer.Option(min=0, help="Hours for the whole study.", rich_help_panel="How long")
    ] = None,
    until: Annotated[
        str | None, typer.Option(metavar="HH:MM", help="No new trial after that.", rich_help_panel="How long")
    ] = None,
    executor: Annotated[
        Executor | None, typer.Option(help="Where benchmarks run; `simulated` measures nothing.")
    ] = None,
    ray_address: Annotated[
        str | None,
        typer.Option(envvar="RAY_ADDRESS", metavar="ADDRESS", help="Ray cluster to use; else Ray is started here."),
    ] = None,
    mlflow: Annotated[bool, typer.Option("--mlflow/--no-mlflow", help="Mirror the study in MLflow.")] = True,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Search for the best producer configs, and measure the winners against what you have.

    Results go to studies/NAME in this folder (KAFKA_TUNER_STUDIES for another). Stop it at any time: the same command
    goes on where it stopped.

    \b
    Examples:
        tuner run                                              a real broker of our own, 100 and 1000 B, some minutes
        tuner run overnight.yaml --until 07:00
        tuner run --record-bytes 100,1000 --bootstrap broker:9092 --command-config client.properties --hours 8
        tuner run --record-bytes 1000 --bootstrap broker:9092 --current producer.properties --trials 40
    """
    if study_file is not None:
        given = {
            "--record-bytes": record_bytes, "--name": name, "--current": current, "--objectives": objectives,
            "--durability": durability, "--method": method, "--bootstrap": bootstrap,
            "--command-config": command_config, "--container": container,
        }  # fmt: skip
        for option, value in given.items():
            if value is not None:
                raise typer.BadParameter(f"{option} is written in the study file, so it can't be given with one")
        spec, text = load_study(study_file)
    else:
        sizes = sizes_in(record_bytes or "100,1000")
        made = "-".join(map(str, (bootstrap or container or "embedded", *sizes)))
        # Without a limit it is a short study, as a first one should be.
        text = study_text(
            {
                "study": {"name": name or re.sub(r"[^A-Za-z0-9_.-]+", "-", made).strip("-")[:80]},
                "target": {"bootstrap": bootstrap, "command_config": command_config, "container": container},
                "workload": {"record_bytes": sizes},
                "baseline": current,
                "durability": durability,
                "objectives": objectives,
                "search": {"method": method},
            }
        )
        spec = parse_study(text, name="study", folder=Path.cwd(), origin="the command line", environ={})
    spec = _adjusted(spec, trials=trials, hours=hours, until=until, executor=executor, ray_address=ray_address)
    folder = study_folder(spec.name)
    study = _shown(spec, text, folder, mlflow=mlflow, silent=quiet or as_json)
    found = recommendations(study.results, tell=warn)
    if as_json:
        options.print_json(study_record(spec.name, str(folder), found))
    else:
        OUT.print(export_all(found, Format.TABLE), markup=False, soft_wrap=True, end="")
        if not quiet:
            say(f"report: {folder / 'report.html'}")
            if found:
                size = found[0].record_bytes
                say(f"config to paste: tuner recommend {spec.name} --record-bytes {size} --format properties")
            say(f"whole front: tuner front {spec.name}; in MLflow: tuner ui {spec.name}")
    if not found:
        raise NoFeasibleConfig(f"no config of {spec.name} keeps every constraint; `tuner front {spec.name}` shows why")


def _shown(
    spec: StudySpec, text: str, folder: Path, *, mlflow: bool, silent: bool, searching: bool = True
) -> api.Study:
    """Run a study before the user's eyes."""
    with StudyView(quiet=silent) as view:
        view.say(f"study {spec.name}: results in {folder}; Ctrl-C stops it, the same command goes on")
        return api.run_study(
            spec, text=text, folder=folder, reporter=view, warn=warn, mlflow=mlflow, searching=searching
        )


def _adjusted(
    spec: StudySpec,
    *,
    trials: int | None,
    hours: float | None,
    until: str | None,
    executor: Executor | None,
    ray_address: str | None,
) -> StudySpec:
    """Limits and places of the command line win over those of the file."""
    changes: dict[str, Any] = {}
    if until is not None:
        try:
            until = clock_time(until)
        except ValueError as error:
            raise typer.BadParameter(f"--until: {error}") from None
    if hours is not None or until is not None:
        changes = {"hours": hours, "until": until, "trials": trials}
    elif trials is not None:
        changes = {"trials": trials}
    search: SearchSpec = replace(spec.search, **changes)
    return replace(spec, search=search, executor=executor or spec.executor, ray_address=ray_address or spec.ray_address)


def confirm(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="Name of a study, its folder, or its study file.")],
    goals: Annotated[
        list[Goal] | None, typer.Option("--goal", help="Whose winners; may be repeated. The study file's without it.")
    ] = None,
    rounds: Annotated[int | None, typer.Option(min=2, help="Rounds of baseline and winners, in any case.")] = None,
    max_rounds: Annotated[int | None, typer.Option(min=2, help="The most rounds.")] = None,
    width_ratio: Annotated[
        float | None, typer.Option(min=0.001, help="Intervals as narrow as this, relative to the gain, are enough.")
    ] = None,
    ablation_rounds: Annotated[
        int | None, typer.Option(min=0, help="Rounds in which each change of a winner is undone alone.")
    ] = None,
    mlflow: Annotated[bool, typer.Option("--mlflow/--no-mlflow", help="Mirror the study in MLflow.")] = True,
    quiet: options.Quiet = False,
) -> None:
    """Measure a study's best configs and the baseline again, in turn, and recommend what is better beyond doubt.

    A study does so by itself when its search ends. This does it anew, also for a study whose search was cut short: on
    another day, say, or with more rounds. The study's target is used again.

    \b
    Examples:
        tuner confirm overnight
        tuner confirm overnight --goal throughput --max-rounds 40 --width-ratio 0.05
        tuner confirm overnight.yaml                      where the study file names files beside it
    """
    results = api.load_study(study).results
    folder = results.folder
    spec, text = kept_study(study, results)
    asked: dict[str, Any] = {
        "rounds": rounds,
        "max_rounds": max_rounds,
        "width_ratio": width_ratio,
        "ablation_rounds": ablation_rounds,
        "goals": tuple(goals) if goals else None,
    }
    spec = replace(spec, confirm=replace(spec.confirm, **{k: value for k, value in asked.items() if value is not None}))
    if not spec.confirm.rounds:
        raise typer.BadParameter(f"the study file of {spec.name} asks for no rounds (confirm.rounds): give --rounds")
    confirmed = _shown(spec, text, folder, mlflow=mlflow, silent=quiet, searching=False)
    found = recommendations(confirmed.results, goals, warn)
    OUT.print(export_all(found, Format.TABLE), markup=False, soft_wrap=True, end="")
    if confirmed.results.simulated:
        warn(SIMULATED)
    if not quiet:
        say(f"report: {folder / 'report.html'}")


def kept_study(study: str, results: StudyResults, *, searched: bool = True) -> tuple[StudySpec, str]:
    """A study and its text: of the study file given, or else as it was kept.

    Args:
        study: As the user named it; a study file's paths are relative to it, a kept text's to the working folder.
        results: The study's.
        searched: Whether its configs are asked for; else only how it measured.

    Raises:
        StudyFileError: The text says what can't be done.
    """
    given = Path(study)
    if given.is_file():
        return load_study(given, searched=searched)
    spec = parse_study(
        results.study_file,
        name=results.folder.name,
        folder=Path.cwd(),
        origin=str(results.folder / STUDY_FILE),
        environ=os.environ,
        searched=searched,
    )
    return spec, results.study_file
