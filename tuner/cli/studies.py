"""`tuner studies` lists the studies, `tuner trials` shows the trials of one study, and `tuner rm` removes studies."""

import importlib.util
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from objectives.outcome import COMPARED
from runners.reporting import counted
from tuner.api import load_study
from tuner.cli import options
from tuner.cli.output import Force, check_output, write_output
from tuner.course.reporter import KIND_WORDS
from tuner.model.errors import EXPECTED, StudyNotFound
from tuner.model.facts import EXPERIMENT, IN_MLFLOW
from tuner.model.trial import Kind
from tuner.present.console import OUT, say, warn
from tuner.present.status import status_of
from tuner.present.study_list import (
    UNREADABLE,
    ListedStudy,
    listed_experiment,
    listed_study,
    newest_first,
    study_csv,
    study_lines,
)
from tuner.present.wording import aligned, number, title
from tuner.results.study_results import results_of
from tuner.storage.home import find_study, storage_at, studies_root

if TYPE_CHECKING:
    import pandas as pd

ShownSize = Annotated[
    str | None,
    typer.Option(metavar="N", help="Show only this record size or mix, such as 1000.", show_default="all of the study"),
]
Parquet = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write the table to this Parquet file. This needs the package pyarrow."),
]

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Remove without asking.")]


def studies(as_json: options.Json = False, as_csv: options.Csv = False) -> None:
    """List your studies, newest first. Each line shows the state, the trials and the best proven gain.

    \b
    Examples:
        tuner studies
        tuner studies --csv > studies.csv
    """
    options.check_one_form(json=as_json, csv=as_csv)
    print_studies(newest_first([*_studies_here()]), as_json=as_json, as_csv=as_csv)


def print_studies(found: list[ListedStudy], *, as_json: bool, as_csv: bool) -> None:
    """Print the list of studies in the form that the user asked for."""
    if as_json:
        options.print_json({"schema_version": 1, "kind": "studies", "studies": [each.as_json() for each in found]})
    elif as_csv:
        options.print_csv(study_csv(found))
    elif not found:
        say("there is no study yet; `tuner run` makes one")
    else:
        for line in study_lines(found):
            OUT.print(line, markup=False, soft_wrap=True)


def _studies_here() -> Iterator[ListedStudy]:
    """Yield the studies of this host's storage; a study whose results can't be read is listed with a warning."""
    root, storage = studies_root(), storage_at()
    for name in storage.names(root):
        try:
            with closing(storage.read(root / name)) as store:
                facts, progress = store.facts(), store.progress()
                if EXPERIMENT in facts:
                    measured = sum(trial.kind is Kind.MEASUREMENT for _, trial in store.trials())
                    yield listed_experiment(name, facts, progress, measured)
                    continue
                results = results_of(store, root / name)
        except StudyNotFound:
            continue  # another process has removed the study in the meantime
        except EXPECTED as error:
            warn(f"{name}: {error}")
            yield ListedStudy(name, UNREADABLE)
            continue
        yield listed_study(name, results.facts, status_of(results, progress, datetime.now(UTC)).as_json())


def trials(
    study: options.Study,
    record_bytes: ShownSize = None,
    as_json: options.Json = False,
    as_csv: options.Csv = False,
    parquet: Parquet = None,
    force: Force = False,
) -> None:
    """Show the trials of a study: kind, metrics and config of each.

    With --csv, --json and --parquet, each trial has all metrics, and one column for each property that any config sets.

    \b
    Examples:
        tuner trials overnight --record-bytes 1000
        tuner trials overnight --csv > trials.csv
        tuner trials overnight --parquet trials.parquet
    """
    check_trials_output(parquet, as_json=as_json, as_csv=as_csv, force=force)
    loaded = load_study(study)
    sizes = options.asked_sizes(loaded, record_bytes)
    # Imported here, because it imports pandas.
    from tuner.present.frames import trials_frame

    objectives, frame = [each.metric for each in loaded.results.objectives], trials_frame(sizes)
    show_trials(loaded.name, frame, objectives, parquet, as_json=as_json, as_csv=as_csv, force=force)


def check_trials_output(parquet: Path | None, *, as_json: bool, as_csv: bool, force: bool) -> None:
    """Check the options that say in which form the trials are shown.

    Raises:
        typer.BadParameter: Two forms were given, the file can't be written, or pyarrow is missing.
    """
    options.check_one_form(json=as_json, csv=as_csv, parquet=parquet is not None)
    if parquet is not None and importlib.util.find_spec("pyarrow") is None:
        raise typer.BadParameter(
            "--parquet needs the package pyarrow, but it is not installed; install it, or use --csv"
        )
    check_output(parquet, force=force)


def show_trials(
    study: str,
    frame: "pd.DataFrame",
    objectives: Sequence[str],
    parquet: Path | None,
    *,
    as_json: bool,
    as_csv: bool,
    force: bool,
) -> None:
    """Print a table of trials, or write it to a Parquet file."""
    from tuner.present.frames import trials_csv, trials_parquet, trials_record

    if parquet is not None:
        write_output(parquet, trials_parquet(frame), force=force)
        say(f"{counted(len(frame), 'trial')} written to {parquet}")
    elif as_json:
        options.print_json(trials_record(study, frame, objectives))
    elif as_csv:
        options.print_csv(trials_csv(frame))
    else:
        metrics = [name for name in objectives or COMPARED if name in frame]
        for line in _trial_lines(frame, metrics):
            OUT.print(line, markup=False, soft_wrap=True)
        if _differs_from_raw(frame, metrics):
            say(
                "trials of the search and the baseline are corrected for drift, and a config that was measured several "
                "times has its mean; all other trials are as measured. --csv adds the values as measured (raw_...)"
            )


def _differs_from_raw(frame: "pd.DataFrame", metrics: Sequence[str]) -> bool:
    """Return whether the table shows other values of a metric than were measured."""
    pairs = [(frame[name], frame[f"raw_{name}"]) for name in metrics if f"raw_{name}" in frame]
    return any(((shown != raw) & raw.notna()).any() for shown, raw in pairs)


def _trial_lines(frame: "pd.DataFrame", metrics: Sequence[str]) -> list[str]:
    from tuner.present.frames import changed_properties

    headings = [
        "record bytes",
        "trial",
        "kind",
        *map(title, metrics),
        "front",
        "differs from the baseline in",
    ]
    rows = [
        [
            str(row["record_bytes"]),
            str(row["number"]),
            KIND_WORDS[Kind(row["kind"])] + ("" if row["state"] == "complete" else f", {row['state']}"),
            *(number(None if row[name] != row[name] else row[name]) for name in metrics),  # NaN: there is no value
            "yes" if row["on_front"] else "",
        ]
        for _, row in frame.iterrows()
    ]
    # The configs have no column in the alignment, because one long config would push all others to the right.
    told = aligned([headings[:-1], *rows])
    width = max(map(len, told))
    configs = [headings[-1], *changed_properties(frame)]
    return [f"{line:<{width}}   {config}".rstrip() for line, config in zip(told, configs, strict=True)]


def rm(
    names: Annotated[list[str], typer.Argument(metavar="STUDY", help="Names of studies, or their folders.")],
    yes: Yes = False,
    as_json: options.Json = False,
) -> None:
    """Remove studies for good: their results, and their folders on this host.

    The command asks before it removes anything. A study that is running is not removed. What MLflow shows of a study
    stays there.

    \b
    Examples:
        tuner rm overnight
        tuner rm before after --yes
    """
    storage = storage_at()
    found = list(dict.fromkeys(find_study(name, storage=storage) for name in names))
    if not yes:
        shown = ", ".join(map(str, found))
        if not sys.stdin.isatty():
            raise typer.BadParameter(f"rm asks before it removes {shown}, but no terminal is there; add --yes")
        typer.confirm(f"remove for good: {shown}?", abort=True, err=True)
    for folder in found:
        in_mlflow = False
        with suppress(*EXPECTED), closing(storage.read(folder)) as store:
            in_mlflow = IN_MLFLOW in store.facts()
        storage.remove(folder, folder.name, say)
        say(f"removed {folder.name}")
        if in_mlflow:
            say(f"the runs of {folder.name} in MLflow stay; delete them on MLflow's pages, which `tuner ui` opens")
    if as_json:
        options.print_json({"schema_version": 1, "kind": "removed", "removed": [folder.name for folder in found]})
