"""Folders of result files (artifacts): tables, pictures, pages and configs.

One such folder is attached to each of a study's MLflow runs. `tuner run` also writes result files into the study's
folder.
"""

import json
import shlex
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

from runners.reporting import counted
from tuner.model.document import document
from tuner.model.errors import StudyError
from tuner.model.goals import Goal
from tuner.model.study_files import RECOMMENDED, REPORT_FILE
from tuner.present.export import SUFFIXES, export, offered
from tuner.present.recommendations.explanation_words import explanation_markdown
from tuner.present.report.page import experiment_page, front_html, report_page
from tuner.present.trial_tables.front_table import front_csv, front_json, front_markdown
from tuner.present.trial_tables.grid_view import grid_csv
from tuner.results.experiments.experiment_results import ExperimentResults
from tuner.results.grid_tables import grid_tables
from tuner.results.recommendations.by_goal import goals_by_trial, recommendations_by_goal
from tuner.results.recommendations.explanation import METHOD, explain, knob_importance
from tuner.results.recommendations.recommendation import Recommendation
from tuner.results.study_results import SizeResults, StudyResults
from tuner.storage.folder_files import size_name, write_for_everybody


def write_artifacts(results: StudyResults, size: SizeResults, out: Path) -> None:
    """Write all artifacts of one record size into a folder, replacing older artifacts.

    The artifacts are the front as JSON, CSV, Markdown, PNG and HTML; pictures of hypervolume and knob importance;
    `why.md`, which explains each recommendation; and `recommended/<goal>` in every format of its client. Knob
    importance is also written as JSON, and left out if there are too few trials. For a grid search, `grid.csv` has all
    tables, and the folder `grid` has a picture of the heat maps of each pair of knobs.
    """
    # Imported here, because it imports matplotlib, which a report does not need.
    from tuner.present.report.study_pictures import draw_front, draw_hypervolume, draw_importance

    out.mkdir(parents=True, exist_ok=True)
    by_goal = recommendations_by_goal(results, size)
    heading = f"{results.name}: {size.record_bytes} B records, {counted(len(size.trials), 'measurement')}"
    _write(out / "front.json", json.dumps(front_json(results, size), indent=2) + "\n")
    _write(out / "front.csv", front_csv(size))
    _write(out / "front.md", front_markdown(results, size))
    _write(out / "front.html", front_html(results, [size]))
    draw_front(size, goals_by_trial(by_goal), out / "front.png", heading=heading)
    draw_hypervolume(size, out / "hypervolume.png")
    importance = knob_importance(size)
    if importance:
        _write(out / "importance.json", json.dumps(_importance_json(results, size, importance), indent=2) + "\n")
        draw_importance(importance, out / "importance.png", heading=f"{results.name}, {size.record_bytes} B records")
    explanations = [explain(results, recommendation, importance) for recommendation in by_goal.values()]
    if explanations:
        _write(out / "why.md", f"# {heading}\n\n{explanation_markdown(explanations)}")
    _write_grid(results, size, out)
    _write_recommended(by_goal, out / RECOMMENDED)


def write_study(results: StudyResults) -> Path:
    """Write the report and the recommended configs of a study into the study's folder.

    The report is `report.html`. Each config is written in every format of its client, as `recommended/<size>/<goal>`.

    Returns:
        The path of the report.

    Raises:
        StudyError: A file can't be written, for example because the disk is full.
    """
    with _naming_report(results):
        for size in results.sizes:
            folder = results.folder / RECOMMENDED / size_name(size.record_bytes)
            _write_recommended(recommendations_by_goal(results, size), folder)
    return write_report(results, results.folder / REPORT_FILE)


def write_experiment(results: ExperimentResults, path: Path) -> None:
    """Write the report page of an experiment to a file."""
    _write(path, experiment_page(results))


def write_report(results: StudyResults, path: Path) -> Path:
    """Write the report page of a study to a file, and return the file's path.

    Raises:
        StudyError: The file can't be written, for example because the disk is full.
    """
    page = report_page(results)
    with _naming_report(results):
        _write(path, page)
    return path


@contextmanager
def _naming_report(results: StudyResults) -> Iterator[None]:
    """Run the block, and add to an error about a file how the user can write the report later."""
    try:
        yield
    except OSError as error:
        raise StudyError(
            f"{error.filename}, a file of the report, can't be written: {error.strerror}. The results of "
            f"{results.name} are stored; `{shlex.join(['tuner', 'report', results.name])}` writes the report again"
        ) from error


def _write_grid(results: StudyResults, size: SizeResults, out: Path) -> None:
    tables = grid_tables(results, size)
    if not tables:
        return
    from tuner.present.report.study_pictures import draw_grid  # it imports matplotlib

    _write(out / "grid.csv", grid_csv({size.record_bytes: tables}))
    (out / "grid").mkdir(exist_ok=True)
    for pair, of_pair in groupby(tables, lambda table: (table.row_knob, table.column_knob)):
        name = "-by-".join(filter(None, pair))
        heading = f"{results.name}, {size.record_bytes} B records"
        draw_grid(list(of_pair), out / "grid" / f"{name}.png", heading=heading)


def _write_recommended(by_goal: Mapping[Goal, Recommendation], folder: Path) -> None:
    # Delete the folder first: a goal that has no recommendation any more must not keep its old file.
    shutil.rmtree(folder, ignore_errors=True)
    for goal, recommendation in by_goal.items():
        for form in offered(recommendation.config.client):
            _write(folder / f"{goal}{SUFFIXES[form]}", export(recommendation, form))


def _importance_json(
    results: StudyResults, size: SizeResults, importance: Mapping[str, Mapping[str, float]]
) -> dict[str, Any]:
    return document(
        "knob_importance",
        study=results.name,
        record_bytes=size.record_bytes,
        evaluator=METHOD,
        importance={name: dict(shares) for name, shares in importance.items()},
    )


def _write(path: Path, text: str) -> None:
    try:
        write_for_everybody(path, text.encode())
    except OSError as error:  # the error of a full disk does not name the file
        raise OSError(error.errno, error.strerror, str(path)) from error
