"""`tuner run` searches for the best configs, and `tuner confirm` measures them again. Both can be resumed."""

import os
import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from tuner import api
from tuner.cli import options
from tuner.cli.recommend import study_record
from tuner.model.errors import NoFeasibleConfig
from tuner.model.spec import Executor, Goal, Method, SearchSpec, StudySpec, TrackingSpec
from tuner.present.console import OUT, say, warn
from tuner.present.export import Format, export_all
from tuner.present.study_view import StudyView
from tuner.present.wording import SIMULATED, not_advice, over_sizes
from tuner.results.recommend import recommendations
from tuner.results.study_results import StudyResults
from tuner.storage.files import STUDY_FILE
from tuner.storage.home import study_folder
from tuner.study_file import load_study, parse_study, sizes_in, study_text


def run(
    study_file: Annotated[
        Path | None,
        typer.Argument(metavar="STUDY.YAML", help="Study file; `tuner init overnight.yaml` writes a new one."),
    ] = None,
    record_bytes: Annotated[
        str | None,
        typer.Option(
            metavar="N[,N...]",
            help="Record sizes, such as 100,1000, or one mix, such as 100:70,1000:30 (size:weight).",
            show_default="100,1000",
            rich_help_panel="Without a file",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            help="Name of the study, which is also the name of its folder. By default it is made of the target and the "
            "record sizes.",
            rich_help_panel="Without a file",
        ),
    ] = None,
    current: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Properties file that your producer uses today. It is the baseline, which every config is compared "
            "with. By default the baseline is the client without any property set.",
            rich_help_panel="Without a file",
        ),
    ] = None,
    objectives: Annotated[
        Goal | None,
        typer.Option(
            help="What to optimise. balanced optimises throughput and latency.",
            show_default="balanced",
            rich_help_panel="Without a file",
        ),
    ] = None,
    durability: Annotated[
        str | None,
        typer.Option(
            metavar="baseline|any|leader|all|ordered|idempotent",
            help="The weakest guarantee that a config may give. baseline: no weaker than the baseline's.",
            show_default="baseline",
            rich_help_panel="Without a file",
        ),
    ] = None,
    method: Annotated[
        Method | None,
        typer.Option(
            help="How new configs are proposed; docs/evidence/search.md compares the methods.",
            show_default="bayesian",
            rich_help_panel="Without a file",
        ),
    ] = None,
    bootstrap: options.Bootstrap = None,
    command_config: options.CommandConfig = None,
    container: options.Container = None,
    trials: Annotated[
        int | None,
        typer.Option(min=1, help="Number of trials per record size, such as 40.", rich_help_panel="How long"),
    ] = None,
    hours: Annotated[
        float | None,
        typer.Option(min=0, help="Hours that the whole study may take, such as 8.", rich_help_panel="How long"),
    ] = None,
    until: options.Until = None,
    executor: Annotated[
        Executor | None,
        typer.Option(
            help="Where the benchmarks run: ray in Ray workers, local without Ray; simulated computes invented "
            "numbers, to try a study without Kafka."
        ),
    ] = None,
    ray_address: Annotated[
        str | None,
        typer.Option(
            envvar="RAY_ADDRESS",
            metavar="ADDRESS",
            help="Address of your Ray cluster, such as head:6379, or auto. Without it, Ray is started on this machine.",
        ),
    ] = None,
    mlflow: Annotated[bool, typer.Option("--mlflow/--no-mlflow", help="Also show the study in MLflow.")] = True,
    mix_environments: options.MixEnvironments = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Search for the best producer configs, and confirm the winners against your current config.

    The results are kept in studies/NAME below the working folder; KAFKA_TUNER_STUDIES names another place. You can
    stop the command at any time: the same command resumes the study where it stopped.

    \b
    Examples:
        tuner run                                     try it: Kafka on this machine, 100 and 1000 B records
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
                raise typer.BadParameter(
                    f"{option} and a study file exclude each other: write the setting into {study_file}"
                )
        spec, text = load_study(study_file)
    else:
        sizes = sizes_in(record_bytes or "100,1000")
        made = "-".join(map(str, (bootstrap or container or "embedded", *sizes)))
        # `_with_options` applies the limits below. Without any, the study has the default number of trials.
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
    spec = _with_options(spec, trials=trials, hours=hours, until=until, executor=executor, ray_address=ray_address)
    folder = study_folder(spec.name)
    study = _run_with_view(
        spec, text, folder, mlflow=mlflow, silent=quiet or as_json, mix_environments=mix_environments
    )
    found = recommendations(study.results, tell=warn)
    if as_json:
        options.print_json(study_record(spec.name, str(folder), found))
    else:
        OUT.print(export_all(found, Format.TABLE), markup=False, soft_wrap=True, end="")
        if not quiet:
            say(f"report: {folder / 'report.html'}")
            if told := over_sizes(sum(each.proven for each in found)):
                say(told)
            if proven := [each for each in found if not not_advice(each)]:
                size = proven[0].record_bytes
                say(f"config to paste: tuner recommend {spec.name} --record-bytes {size} --format properties")
            say(f"the whole front: tuner front {spec.name}")
            if mlflow and spec.tracking.enabled:
                _say_links(study.results, spec.tracking)
    if not found:
        raise NoFeasibleConfig(
            f"no config of {spec.name} keeps every constraint; `tuner front {spec.name}` shows how near the configs "
            "came"
        )


def _say_links(results: StudyResults, tracking: TrackingSpec) -> None:
    """Print links to the study's fronts on an MLflow server, or the command that starts a server and prints links."""
    from tuner.tracking import TrackingError, TrackingLocation, links_of

    location = TrackingLocation.of(tracking, results.folder.parent)
    if location.is_web:
        with suppress(TrackingError):  # the end of the study has told why MLflow is behind
            for name, link in links_of(results, location).items():
                say(f"{name}, in MLflow: {link}")
    say(f"the study in MLflow: tuner ui {results.name}")


def _run_with_view(
    spec: StudySpec,
    text: str,
    folder: Path,
    *,
    mlflow: bool,
    silent: bool,
    mix_environments: bool,
    searching: bool = True,
) -> api.Study:
    """Run a study and show its progress on the terminal."""
    with StudyView(quiet=silent) as view:
        view.say(f"study {spec.name}: results in {folder}; Ctrl-C stops it, and the same command resumes it")
        return api.run_study(
            spec,
            text=text,
            folder=folder,
            reporter=view,
            warn=warn,
            mlflow=mlflow,
            searching=searching,
            mix_environments=mix_environments,
        )


def _with_options(
    spec: StudySpec,
    *,
    trials: int | None,
    hours: float | None,
    until: str | None,
    executor: Executor | None,
    ray_address: str | None,
) -> StudySpec:
    """Return the study with the options of the command line instead of the settings in the study file.

    A time limit on the command line replaces `hours`, `until` and `trials` of the file. A number of trials alone
    replaces only `trials`.
    """
    changes: dict[str, Any] = {}
    if hours is not None or until is not None:
        changes = {"hours": hours, "until": until, "trials": trials}
    elif trials is not None:
        changes = {"trials": trials}
    search: SearchSpec = replace(spec.search, **changes)
    return replace(spec, search=search, executor=executor or spec.executor, ray_address=ray_address or spec.ray_address)


def confirm(
    study: Annotated[
        str,
        typer.Argument(
            metavar="STUDY",
            help="Name of a study, its folder, or its study file. Give the study file if it refers to other files.",
        ),
    ],
    goals: Annotated[
        list[Goal] | None,
        typer.Option(
            "--goal",
            help="Goal whose winner is measured again, such as latency. The option may be repeated.",
            show_default="confirm.goals of the study file",
        ),
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option(
            min=2,
            help="Minimum number of rounds. One round measures the baseline and each winner once.",
            show_default="confirm.rounds of the study file",
        ),
    ] = None,
    max_rounds: Annotated[
        int | None,
        typer.Option(
            min=2,
            help="Maximum number of rounds, used where the gain is still uncertain.",
            show_default="confirm.max_rounds of the study file",
        ),
    ] = None,
    width_ratio: Annotated[
        float | None,
        typer.Option(
            min=0.001,
            help="Stop adding rounds when the gain's confidence interval is this narrow, relative to the gain: 0.05 "
            "for a twentieth.",
            show_default="confirm.width_ratio of the study file",
        ),
    ] = None,
    ablation_rounds: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Number of rounds that measure copies of a winner, each with one property set back to the baseline's "
            "value. They show what each change brings.",
            show_default="confirm.ablation_rounds of the study file",
        ),
    ] = None,
    mlflow: Annotated[bool, typer.Option("--mlflow/--no-mlflow", help="Also show the study in MLflow.")] = True,
    mix_environments: options.MixEnvironments = False,
    quiet: options.Quiet = False,
) -> None:
    """Measure the best configs of a study and the baseline again, in turn, to find out which gains are real.

    A study does this by itself when its search ends. Use this verb to do it again on another day or with more rounds,
    or to confirm a study whose search you stopped early. It measures on the target of the study.

    \b
    Examples:
        tuner confirm overnight
        tuner confirm overnight --goal throughput --max-rounds 40 --width-ratio 0.05
        tuner confirm overnight.yaml                  if the study file refers to files beside it
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
        raise typer.BadParameter(
            f"a confirmation needs rounds, but the study file of {spec.name} has confirm.rounds: 0; give --rounds"
        )
    confirmed = _run_with_view(
        spec, text, folder, mlflow=mlflow, silent=quiet, mix_environments=mix_environments, searching=False
    )
    found = recommendations(confirmed.results, goals, warn)
    OUT.print(export_all(found, Format.TABLE), markup=False, soft_wrap=True, end="")
    if confirmed.results.simulated:
        warn(SIMULATED)
    if not quiet:
        say(f"report: {folder / 'report.html'}")


def kept_study(study: str, results: StudyResults, *, searched: bool = True) -> tuple[StudySpec, str]:
    """Return the spec of a study that has results, and the text of its study file.

    The text is read from the study file if the user named one, and else from the copy that is kept with the results.

    Args:
        study: The name, folder or study file that the user typed. Paths in a study file are relative to that file, and
            paths in the kept copy are relative to the working folder.
        results: The results of the study.
        searched: Whether the study is to search. If not, the settings that only a search needs may be missing.

    Raises:
        StudyFileError: The text is no valid study file.
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
