"""`tuner explain`: why a config is recommended, in words with numbers."""

import json
from typing import Annotated

import typer

from tuner.cli import options
from tuner.cli.recommend import AskedGoal, MaxP99Ms, MinMbPerS, RecordBytes
from tuner.model.errors import NoFeasibleConfig
from tuner.model.spec import Goal
from tuner.present.console import OUT, warn
from tuner.present.export.why_record import explanations_record
from tuner.present.why import why_heading, why_sections
from tuner.results.explanation import Explanation
from tuner.results.explanation import explain as explanation
from tuner.results.recommendation import Conditions, recommend_for
from tuner.results.study_results import StudyResults, load_results
from tuner.storage.home import find_study


def explain(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="Name of a study, or its folder.")],
    record_bytes: RecordBytes = None,
    goal: AskedGoal = None,
    max_p99_ms: MaxP99Ms = None,
    min_mb_per_s: MinMbPerS = None,
    as_json: options.Json = False,
) -> None:
    """Say why a config is recommended: what each of its changes brings, and what mattered over the whole search.

    What a change brings was measured: the config in turn with itself, that one change undone.

    \b
    Examples:
        tuner explain overnight
        tuner explain overnight --record-bytes 1000 --goal latency --json
    """
    results = load_results(find_study(study))
    found, missing = _explained(results, record_bytes, goal, Conditions(max_p99_ms, min_mb_per_s))
    if not found:
        raise NoFeasibleConfig("; ".join(missing) or f"{study} has no results yet: its first trial has not ended")
    if as_json:
        typer.echo(json.dumps(explanations_record(results.name, found), indent=2))
    else:
        for each in found:
            _print(each)
    for warning in dict.fromkeys(warning for each in found for warning in each.found.warnings):
        warn(warning)
    if not results.finished:
        warn("the study is not finished: what is recommended may still change")
    if missing:
        raise NoFeasibleConfig("; ".join(missing))


def _explained(
    results: StudyResults, record_bytes: str | None, goal: Goal | None, conditions: Conditions
) -> tuple[list[Explanation], list[str]]:
    """Explanations, and why there is none for some sizes."""
    # Deferred: it imports Optuna.
    from tuner.results.importance import knob_importance

    sizes = [record_bytes] if record_bytes is not None else [size.record_bytes for size in results.sizes]
    found, missing = [], []
    for asked in sizes:
        try:
            recommended = recommend_for(results, asked, goal, conditions)
        except NoFeasibleConfig as error:
            missing.append(str(error))
            continue
        size = results.size(recommended.record_bytes)
        found.append(explanation(results, recommended, knob_importance(size) if size else {}))
    return found, missing


def _print(why: Explanation) -> None:
    OUT.print(why_heading(why), style="bold", markup=False, soft_wrap=True)
    for section in why_sections(why):
        OUT.print()
        OUT.print(f"{section.heading}:", markup=False, soft_wrap=True)
        for line in section.lines:
            OUT.print(f"  {line}", markup=False, soft_wrap=True)
    OUT.print()
