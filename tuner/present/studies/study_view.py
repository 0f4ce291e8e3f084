"""Prints the progress of `tuner run`: a line per trial and, on a terminal, a live line about the running trial."""

import datetime
import sys
from statistics import geometric_mean
from typing import Self

from rich.live import Live
from rich.text import Text
from typing_extensions import override

from objectives.metrics import OUTCOME_METRICS
from objectives.scoring import Objective
from runners.measurements.measurement import Window
from runners.reporting import counted, in_bytes
from tuner.execution.studies.study_progress import Reporter, SizeProgress
from tuner.model.errors import NoFeasibleConfig
from tuner.model.trial import SEARCHING_KINDS, State, Trial, TrialKind
from tuner.present.changed_properties import changes
from tuner.present.console import ERR, say
from tuner.present.number_text import title
from tuner.present.recommendations.recommendation_words import advice_to_keep, in_short, not_advice
from tuner.results.recommendations.recommend import recommend
from tuner.results.search_state import SearchState
from tuner.results.study_results import StudyResults

_CHANGES_SHOWN = 4


class LiveLine:
    """Prints sentences to standard error and, on a terminal, a live line about what is being measured.

    Use it as a context manager, so that the live line is removed at the end.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._live = Live(console=ERR, auto_refresh=False, transient=True)

    def __enter__(self) -> Self:
        if not self._quiet and ERR.is_terminal and sys.stderr.isatty():
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def say(self, sentence: str) -> None:
        """Print a sentence for the user."""
        if not self._quiet:
            say(sentence)

    def _show(self, line: str) -> None:
        """Replace the live line."""
        self._live.update(Text(line, no_wrap=True, overflow="ellipsis", style="cyan"), refresh=True)


class StudyView(LiveLine, Reporter):
    """A `Reporter` that prints to standard error."""

    @override
    def window(self, progress: SizeProgress, phase: str, window: Window) -> None:
        if not self._live.is_started:
            return
        p99_ms = window.latency.percentile_us(0.99) / 1e3
        self._show(
            f"{_where(progress)} {phase} {window.number + 1}/{window.total_windows}: {window.mb_per_s:.1f} MB/s, "
            f"p99 {p99_ms:.1f} ms | {_left(progress)} | {_best(progress)}"
        )

    @override
    def trial(self, progress: SizeProgress, trial: Trial) -> None:
        if not self._quiet:
            ERR.show(_line(progress, trial), style=_style(progress, trial))

    @override
    def confirmed(self, results: StudyResults, record_bytes: str) -> None:
        if not self._quiet:
            ERR.show(_recommended(results, record_bytes), style="bold")


def _recommended(results: StudyResults, record_bytes: str) -> str:
    try:
        recommendation = recommend(results, record_bytes)
    except NoFeasibleConfig as error:
        return f"{in_bytes(record_bytes)}: {error}"
    if recommendation.is_baseline:
        return f"{in_bytes(record_bytes)}: {advice_to_keep(recommendation)}"
    if not recommendation.proven:
        return f"{in_bytes(record_bytes)}: trial {recommendation.trial.number}: {not_advice(recommendation)}"
    trial = f"trial {recommendation.trial.number}, {in_short(recommendation)}"
    first_line = f"{in_bytes(record_bytes)}: recommended for {recommendation.goal}: {trial}"
    changed = changes(recommendation.trial, recommendation.baseline.values)
    return "\n".join([first_line, *(f"{'':>10}{each}" for each in changed)])


def _where(progress: SizeProgress) -> str:
    of_total = f"/{progress.total}" if progress.total is not None else ""
    number = min(progress.search.counted + 1, progress.total or sys.maxsize)
    count = f"{number}{of_total}" if progress.kind in SEARCHING_KINDS else ""
    return f"{progress.search.record_bytes} B {progress.kind} {count}".rstrip()


def _best(progress: SizeProgress) -> str:
    search = progress.search
    best_values = []
    for objective in search.objectives:
        best = search.best(objective.metric)
        if best is not None:
            best_values.append(f"{_name(objective.metric)} {_digits(best)}{_times(progress, objective.metric, best)}")
    return "best so far " + ", ".join(best_values) if best_values else "no results to compare with yet"


def _digits(value: float) -> str:
    """Return a value with four digits, and never as `1.1e+04`."""
    return f"{value:.0f}" if abs(value) >= 9999.5 else f"{value:.4g}"


def _left(progress: SizeProgress) -> str:
    if progress.left_s is None:
        return "the study runs until you stop it"
    return f"{datetime.timedelta(seconds=round(progress.left_s))} left"


def _line(progress: SizeProgress, trial: Trial) -> str:
    search = progress.search
    of_total = f"/{progress.total}" if progress.total is not None else ""
    count = f"{search.counted}{of_total}" if trial.kind in SEARCHING_KINDS else ""
    if trial.round is not None:
        count = f"round {trial.round - search.first_round + 1}"
    head = f"{search.record_bytes:>6} B  {trial.kind:<11} {count:<8}"
    if trial.kind is TrialKind.CONFIRM:
        name = _config_name(search, trial)
        compared = f"winner ({name})" if name.startswith("trial ") else name
        head = f"{head}  {compared:<20}"
    elif trial.kind is TrialKind.REPEAT:
        head = f"{head}  {_config_name(search, trial):<20}"
    elif trial.kind is TrialKind.UNDO:
        head = f"{head}  {_undone_name(search, trial):<20}"
    if trial.state is State.FAILED:
        return f"{head}  no measurement: {trial.error}"
    numbers = [
        f"{_name(metric)} {_digits(trial.metrics[metric]):>7}{_ratio(progress, trial, metric):<9}"
        for metric in dict.fromkeys(["mb_per_s", *(objective.metric for objective in search.objectives)])
        if metric in trial.metrics
    ]
    return "  ".join([head, *(numbers or ["no records were delivered"]), _remark(progress, trial)]).rstrip()


def _remark(progress: SizeProgress, trial: Trial) -> str:
    missed = [name for name, violation in trial.violations.items() if violation > 0]
    if missed:
        # If a trial missed a constraint, this is often the reason why it lacks a value. So a missing value is named
        # only if no constraint was missed.
        return f"constraint missed: {', '.join([name for name in missed if not name.endswith(' measured')] or missed)}"
    if trial.stopped_early:
        return "stopped early"
    if trial.kind is not TrialKind.SEARCH or trial.number not in progress.search.front:
        return ""
    # Other commands name the trial by this number. It differs from the count at the line's beginning, which leaves
    # out burn-in runs.
    changed = [str(each) for each in changes(trial, progress.search.baselines[0].values)]
    # Output to a file or a pipe is never cut.
    shown = _CHANGES_SHOWN if ERR.file.isatty() else len(changed)
    more = f" and {len(changed) - shown} more" if len(changed) > shown else ""
    config = f": {' '.join(changed[:shown])}{more}" if changed else ""
    return f"on the front as trial {trial.number}{config}"


def _config_name(search: SearchState, trial: Trial) -> str:
    """Return which config a trial after the search measured: `baseline`, or the trial that found it, `trial 12`.

    A config that the user gave is called `config`, with the name of its client if the baseline has another client.
    """
    if trial.fingerprint == search.baselines[0].fingerprint:
        return "baseline"
    found_by = next((each.number for each in search.searched if each.fingerprint == trial.fingerprint), None)
    if found_by is not None:
        return f"trial {found_by}"
    of_other_client = f"{trial.client}, {'config' if trial.values else 'defaults'}"
    return "config" if trial.client == search.baselines[0].client else of_other_client


def _undone_name(search: SearchState, trial: Trial) -> str:
    """Return which config a round measured that undoes single changes: `trial 12`, or `trial 12 with linger.ms=5`."""
    winners = {
        each.fingerprint: each
        for each in search.trials
        if each.kind is TrialKind.CONFIRM
        and each.fingerprint != search.baselines[0].fingerprint
        and (each.round or 0) >= search.first_round
    }
    if trial.fingerprint in winners or not winners:
        return _config_name(search, trial)
    # A copy of a winner has one change undone, or a few that belong together.
    differences = {each: changes(trial, winner.values) for each, winner in winners.items()}
    nearest = min(differences, key=lambda each: len(differences[each]))
    return f"{_config_name(search, winners[nearest])} with {' '.join(map(str, differences[nearest]))}"


def _ratio(progress: SizeProgress, trial: Trial, metric: str) -> str:
    """Return a trial's ratio to the baseline; in a confirmation, the mean over its rounds that measured both."""
    if trial.kind is not TrialKind.CONFIRM:
        return _times(progress, metric, trial.metrics[metric])
    baseline = progress.search.baselines[0].fingerprint
    if trial.fingerprint == baseline:
        return ""
    ours, theirs = (_in_rounds(progress.search, each, metric) for each in (trial.fingerprint, baseline))
    gains = [Objective(metric).gain(value, theirs[at]) for at, value in ours.items() if at in theirs]
    return f" ({geometric_mean(gains):.2f}x, mean of {counted(len(gains), 'round')})" if gains else ""


def _in_rounds(search: SearchState, fingerprint: str, metric: str) -> dict[int | None, float]:
    """Return a metric of a config by round, for the rounds of the running confirmation that measured the config."""
    return {
        trial.round: trial.metrics[metric]
        for trial in search.trials
        if trial.kind is TrialKind.CONFIRM and trial.fingerprint == fingerprint and trial.metrics.get(metric, 0.0) > 0
        if trial.round is not None and trial.round >= search.first_round
    }


def _times(progress: SizeProgress, metric: str, value: float) -> str:
    baseline = progress.search.baseline_metrics.get(metric)
    if baseline is None or progress.kind is TrialKind.BURN_IN:
        return ""
    return f" ({Objective(metric).gain(value, baseline):.2f}x)"


def _name(metric: str) -> str:
    assert metric in OUTCOME_METRICS
    if metric.startswith("latency_"):
        return title(metric).removeprefix("latency ").replace(",", "")
    return "MB/s" if metric == "mb_per_s" else metric


def _style(progress: SizeProgress, trial: Trial) -> str:
    if trial.state is State.FAILED:
        return "red"
    if trial.kind is not TrialKind.SEARCH:
        return "dim"
    return "green" if trial.number in progress.search.front else ""
