"""Answers the requests for what a study has measured: progress, trials, front, grids, report, comparisons."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from tuner.model.document import document
from tuner.model.errors import ProblemKind
from tuner.model.facts import VERIFICATION
from tuner.present.console import text_of
from tuner.present.studies.status import status_of
from tuner.present.trial_tables.trial_json import trial_json
from tuner.results.comparisons.comparison import compare
from tuner.results.grid_tables import grid_tables
from tuner.service.answers.query import CSV, HTML, TEXT, Answer
from tuner.service.answers.results_cache import ResultsCache, selected_sizes
from tuner.service.problems import Problem
from tuner.storage.protocols import ResultsStore


def status(cache: ResultsCache, study: str, store: ResultsStore, parameters: Mapping[str, Any]) -> Answer:
    """Return the progress of a study."""
    status_now = status_of(cache.results(study, store), store.progress(), datetime.now(UTC))
    if state := parameters.get("state"):
        status_now = status_now.in_queue(state)
    if parameters.get("form") == "text":
        from tuner.present.studies.status_view import status_text

        return Answer.of(text_of(lambda out: out.print(status_text(status_now))), TEXT)
    return Answer.of(status_now.as_json())


def trials(cache: ResultsCache, study: str, store: ResultsStore, parameters: Mapping[str, Any]) -> Answer:
    """Return one page of a study's trials: at most `limit` of them, beginning after the sequence number `after`."""
    after, limit = int(parameters.get("after", 0)), int(parameters.get("limit", 100))
    page = store.trials(after, limit)
    # The values are corrected for the baseline's drift, so they depend on all trials. The results are read after the
    # page, so that they hold every trial of the page.
    record_bytes = parameters.get("record_bytes")
    sizes = selected_sizes(cache.results(study, store), record_bytes) if page or record_bytes is not None else ()
    by_number = {(trial.record_bytes, trial.number): (size, trial) for size in sizes for trial in size.trials}
    shown = {size.record_bytes for size in sizes}
    rows = [
        {"sequence": sequence, **trial_json(*by_number[trial.record_bytes, trial.number])}
        for sequence, trial in page
        if record_bytes is None or trial.record_bytes in shown
    ]
    for row in rows:
        row.pop("sampler_state", None)
    following = page[-1][0] if len(page) == limit and page else None
    return Answer.of(document("trials", study=study, trials=rows, next_after=following))


def trials_table(cache: ResultsCache, study: str, store: ResultsStore, parameters: Mapping[str, Any]) -> Answer:
    """Return the table of all trials of a study, as CSV or JSON."""
    # Imported here, because it imports pandas.
    from tuner.present.trial_tables.frames import trials_csv, trials_frame, trials_json

    results = cache.results(study, store)
    frame = trials_frame(selected_sizes(results, parameters.get("record_bytes")))
    if parameters["form"] == "csv":
        return Answer.of(trials_csv(frame), CSV)
    objectives = [each.metric for each in results.objectives]
    return Answer.of(trials_json(results.name, frame, objectives, simulated=results.simulated))


def front(cache: ResultsCache, study: str, store: ResultsStore, parameters: Mapping[str, Any]) -> Answer:
    """Return the Pareto front of each record size."""
    from tuner.present.trial_tables.front_table import front_csv, fronts_json

    results = cache.results(study, store)
    sizes = selected_sizes(results, parameters.get("record_bytes"))
    match parameters.get("form", "json"):
        case "csv":
            return Answer.of(front_csv(*sizes), CSV)
        case "text":
            from tuner.present.trial_tables.front_table import print_front

            shown = [text_of(partial(print_front, results, size)) for size in sizes]
            return Answer.of("".join(shown), TEXT)
        case _:
            return Answer.of(fronts_json(results, sizes))


def grid(cache: ResultsCache, study: str, store: ResultsStore, parameters: Mapping[str, Any]) -> Answer:
    """Return the tables of a grid search."""
    from tuner.present.trial_tables.grid_view import grid_csv, grid_json, print_grid

    results = cache.results(study, store)
    sizes = selected_sizes(results, parameters.get("record_bytes"))
    tables = {size.record_bytes: grid_tables(results, size) for size in sizes}
    match parameters.get("form", "json"):
        case "csv":
            return Answer.of(grid_csv(tables), CSV)
        case "text":
            shown = [text_of(partial(print_grid, results.name, size, found)) for size, found in tables.items()]
            return Answer.of("".join(shown), TEXT)
        case _:
            return Answer.of(grid_json(results.name, tables, simulated=results.simulated))


def report(cache: ResultsCache, study: str, store: ResultsStore, parameters: Mapping[str, Any]) -> Answer:
    """Return the report of a study as one HTML page."""
    from tuner.present.report.page import report_page

    return Answer.of(report_page(cache.results(study, store)), HTML)


def comparison(cache: ResultsCache, study: str, store: ResultsStore, parameters: Mapping[str, Any]) -> Answer:
    """Return the comparison of a study with another one."""
    found_in = (cache.results(study, store), cache.other_results(parameters["second"]))
    # The studies are named after their folders. Otherwise, two studies of the same name would be shown with their
    # paths on this host.
    compared = replace(compare(*found_in), names=(study, parameters["second"]))
    match parameters["form"]:
        case "html":
            from tuner.present.report.page import fronts_html
            from tuner.present.report.study_points import pictures_to_compare

            drawn = found_in[0].objectives == found_in[1].objectives
            return Answer.of(fronts_html(compared, pictures_to_compare(found_in, compared) if drawn else {}), HTML)
        case "text":
            from tuner.present.comparisons.comparison_view import print_comparison

            return Answer.of(text_of(partial(print_comparison, compared)), TEXT)
        case _:
            return Answer.of(compared.as_json())


def verification(cache: ResultsCache, study: str, store: ResultsStore, parameters: Mapping[str, Any]) -> Answer:
    """Return the judgement of a verified config."""
    stored = store.facts().get(VERIFICATION)
    if stored is None:
        raise Problem(ProblemKind.NOT_FOUND, f"{study} verifies no config, or has not ended yet")
    if parameters.get("form") == "text":
        return Answer.of(stored["text"] + "\n", TEXT)
    return Answer.of({**stored["record"], "unmeasured": stored["unmeasured"], "simulated": stored["simulated"]})
