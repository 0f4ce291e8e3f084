"""A study run before somebody's eyes: with its progress, its mirror and its report."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tuner.cli.study_view import StudyView
from tuner.course.run import run_study
from tuner.model.errors import NoFeasibleConfig
from tuner.model.spec import Goal, StudySpec
from tuner.present.console import say, warn
from tuner.present.report import write_all_artifacts
from tuner.results.racing_savings import RacingSavings
from tuner.results.recommendation import Recommendation, recommend_for
from tuner.results.study_results import StudyResults
from tuner.study_file import drop_used_secrets
from tuner.tracking import Mirror


def run_shown(
    spec: StudySpec, text: str, folder: Path, *, mlflow: bool, silent: bool, searching: bool = True
) -> StudyResults:
    """Run a study before the user's eyes, with its mirror and its report; arguments as `run_study` has them."""
    # Deferred: `tuner --help` needs neither.
    from tuner.present.report.bundle import write_study

    drop_used_secrets(text, os.environ)
    tracking = replace(spec.tracking, enabled=spec.tracking.enabled and mlflow)
    mirror = Mirror(folder, tracking, warn, extra_artifacts=write_all_artifacts)
    with StudyView(quiet=silent) as view:
        if not silent:
            say(f"study {spec.name}: results in {folder}; Ctrl-C stops it, the same command goes on")
        results = run_study(spec, text, folder, view, mirror if tracking.enabled else None, searching=searching)
        if raced := str(RacingSavings.of(trial for size in results.sizes for trial in size.trials)):
            view.say(raced)
        view.say("writing the report")
        write_study(results)
    return results


def recommendations(results: StudyResults, goals: Sequence[Goal] | None = None) -> list[Recommendation]:
    """One per record size and goal; without goals, for the first for which something is better than the baseline."""
    chosen = []
    for size in results.sizes:
        for goal in goals or (None,):
            try:
                chosen.append(recommend_for(results, size.record_bytes, goal))
            except NoFeasibleConfig as error:
                warn(f"{size.record_bytes} B: {error}")
    return chosen
