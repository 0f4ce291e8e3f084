"""Computes the content of a study's MLflow runs from the results store alone.

There is one parent run for each record size, and one child run for each trial. Even the times and steps of metrics are
computed from the results store, so writing a study to MLflow a second time changes nothing.
"""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from objectives.metrics import ShownIn, shown_in
from search_spaces.errors import ConfigError
from tuner.model.errors import NoFeasibleConfig
from tuner.model.facts import CLUSTER, HOST, METHOD, SEED, STUDY_ID
from tuner.model.goals import Goal
from tuner.model.trial import CONFIRMING_KINDS, State, Trial, TrialKind
from tuner.present.changed_properties import changes
from tuner.present.export import Format, export
from tuner.present.recommendations.recommendation_words import (
    advice_to_keep,
    gain_sentences,
    in_short,
    not_advice,
    shown_gains,
)
from tuner.results.recommendations.by_goal import recommendations_by_goal
from tuner.results.recommendations.recommend import recommend
from tuner.results.recommendations.recommendation import Recommendation
from tuner.results.study_results import SizeResults, StudyResults
from tuner.tracking import tags
from tuner.tracking.run_content import (
    FAILED,
    FINISHED,
    RUNNING,
    TRIAL_NUMBER,
    MetricPoint,
    RunContent,
    cut,
    end_ms,
    params_of,
    shared_tags,
    start_ms,
)

VOLUME: Final = "hypervolume"
TIMES: Final = "_x_baseline"
"""The suffix of metrics that say how many times better than the baseline a config of the search is.

They are called gains only if a confirmation has measured them.
"""


@dataclass(frozen=True, slots=True)
class SizeRuns:
    """The MLflow runs for one record size of a study: the run of the size, and below it one run for each trial.

    Their content is computed from the results and recommendations for the record size.

    Attributes:
        study: The results of the study.
        size: The results of the record size.
        by_goal: The recommendation for each goal.
    """

    study: StudyResults
    size: SizeResults
    by_goal: Mapping[Goal, Recommendation]

    @property
    def key(self) -> str:
        """The permanent identity of the MLflow run for this record size."""
        return f"{self.study.facts[STUDY_ID]}/{self.size.record_bytes}"

    @property
    def name(self) -> str:
        """The name of the MLflow run for this record size: `overnight 1000 B`."""
        return f"{self.study.name} {self.size.record_bytes} B"

    @property
    def findings(self) -> str:
        """A short text for detecting changes: it differs whenever the Pareto front or a recommendation has changed."""
        by_goal = {str(goal): (found.trial.number, found.confirmed) for goal, found in self.by_goal.items()}
        return f"{self.size.front} {by_goal}"

    def trial_key(self, trial: Trial) -> str:
        """Return the permanent identity of a trial's run in MLflow."""
        return f"{self.key}/{trial.number}"

    def parent(self, status: str, picture: str | None = None) -> RunContent:
        """Return the content of the MLflow run for this record size, which is the parent of its trials' runs."""
        facts, trials = self.study.facts, self.size.trials
        host, cluster = facts.get(HOST) or {}, facts.get(CLUSTER) or {}
        return RunContent(
            key=self.key,
            name=self.name,
            status=status,
            start_ms=start_ms(trials[0]),
            end_ms=None if status == RUNNING else max(map(end_ms, trials)),
            tags={
                **self._shared_tags(),
                tags.KEY: self.key,
                tags.KIND: tags.STUDY_KIND,
                tags.NOTE: self.note(picture),
                tags.GOALS: " ".join(self.by_goal) or "none",
                # A tag and no param, because the rate may be chosen again after the burn-in.
                **({tags.RATE: f"{rate:.10g}"} if (rate := self.size.rate_records_per_s) else {}),
                **{f"{tags.HOST}{name}": cut(value) for name, value in host.items()},
                **{f"{tags.CLUSTER}{name}": cut(value) for name, value in cluster.items()},
            },
            params={
                "record_bytes": self.size.record_bytes,
                "objectives": ", ".join(objective.metric for objective in self.study.objectives),
                "method": cut(facts.get(METHOD, "")),
                "seed": cut(facts.get(SEED, "")),
            },
            points=(*self._volume(), *self._latest()),
        )

    def child(self, trial: Trial, parent_run: str) -> RunContent:
        """Return the content of a trial's run in MLflow."""
        at_ms, newest = end_ms(trial), self.size.trials[-1].number
        wanted = dict.fromkeys((*(objective.metric for objective in self.study.objectives), *shown_in(ShownIn.MLFLOW)))
        metrics = self.size.shown_metrics(trial)
        points = [MetricPoint(name, metrics[name], newest, at_ms) for name in wanted if name in trial.metrics]
        raw = self.size.raw_metrics(trial)
        points += [MetricPoint(f"raw_{name}", raw[f"raw_{name}"], 0, at_ms) for name in wanted if f"raw_{name}" in raw]
        points += [
            MetricPoint("duration_s", trial.duration_s, 0, at_ms),
            MetricPoint(TRIAL_NUMBER, trial.number, 0, at_ms),
        ]
        if trial.saved_s:
            points.append(MetricPoint("saved_s", trial.saved_s, 0, at_ms))
        points += [MetricPoint(f"{name}{TIMES}", times, newest, at_ms) for name, times in self._gains(trial)]
        return RunContent(
            key=self.trial_key(trial),
            name=f"{self.name} trial {trial.number}",
            status=FAILED if trial.state is State.FAILED else FINISHED,
            start_ms=start_ms(trial),
            end_ms=at_ms,
            tags={**self._shared_tags(), **self._trial_tags(trial), **self.marks(trial, parent_run)},
            params=params_of(trial),
            points=tuple(points),
        )

    def marks(self, trial: Trial, parent_run: str) -> dict[str, str]:
        """Return the tags of a trial's run that later trials may change, such as whether it is on the Pareto front."""
        recommended = any(found.trial.number == trial.number for found in self.by_goal.values())
        return {
            tags.PARETO: _flag(trial.number in self.size.front),
            tags.RECOMMENDED: _flag(recommended),
            tags.PARENT: parent_run,
        }

    def _gains(self, trial: Trial) -> Iterator[tuple[str, float]]:
        """Yield the gain of a trial over the baseline for each objective, for trials of the search only.

        The other trials measure the baseline, or measure a config again for the confirmation, which computes its gain.
        """
        baseline = self.size.baseline
        if trial.kind is not TrialKind.SEARCH or (baseline is not None and trial.fingerprint == baseline.fingerprint):
            return
        for objective in self.study.objectives:
            times = self.size.gain(trial, objective.metric)
            if times is not None:
                yield objective.metric, times

    def _changes(self, trial: Trial) -> str:
        """Return the properties that differ from the baseline's, as `linger.ms=20`; empty if they are not known."""
        if self.size.baseline is None:
            return ""
        if trial.fingerprint == self.size.baseline.fingerprint:
            return "baseline"
        try:
            return " ".join(map(str, changes(trial, self.size.baseline.values)))
        except ConfigError:  # another release with other rules has stored this config
            return ""

    def _config(self, trial: Trial) -> str:
        """Return which config a trial measured again: `baseline` or `trial 12`."""
        if self.size.baseline is not None and trial.fingerprint == self.size.baseline.fingerprint:
            return "baseline"
        return f"trial {self.size.trial_of(trial.fingerprint).number}"

    def _shared_tags(self) -> dict[str, str]:
        return {**shared_tags(self.study.facts, self.study.name), tags.RECORD_BYTES: self.size.record_bytes}

    def _trial_tags(self, trial: Trial) -> dict[str, str]:
        optional = {
            tags.VERDICT: trial.verdict,
            tags.ERROR: trial.error,
            tags.WORKER: trial.worker,
            tags.STOPPED_EARLY: trial.stopped_early,
            tags.CHANGED: self._changes(trial),
            tags.CONFIG: self._config(trial) if trial.kind in CONFIRMING_KINDS else "",
        }
        return {
            tags.KEY: self.trial_key(trial),
            tags.TRIAL: str(trial.number),
            tags.KIND: str(trial.kind),
            tags.FEASIBLE: _flag(trial.feasible),
            tags.FLAGGED: _flag(trial.flagged),
            tags.CLIENT: trial.client,
            tags.GUARANTEE: trial.guarantee,
            tags.FINGERPRINT: trial.fingerprint,
            **{name: cut(text) for name, text in optional.items() if text},
            **({tags.ROUND: str(trial.round + 1)} if trial.round is not None else {}),
        }

    def _volume(self) -> Iterator[MetricPoint]:
        """Yield the hypervolume of the Pareto front after each trial.

        The hypervolume is computed from gains. All gains, also of old trials, are relative to the median of all
        baseline trials so far.
        """
        changes, value, at_ms = dict(self.size.hypervolume), None, 0
        for trial in self.size.trials:
            value, at_ms = changes.get(trial.number, value), max(at_ms, end_ms(trial))
            if value is not None:
                yield MetricPoint(VOLUME, value, trial.number, at_ms)

    def _latest(self) -> Iterator[MetricPoint]:
        last, at_ms = self.size.trials[-1].number, max(map(end_ms, self.size.trials))
        values = {"trials": float(len(self.size.trials)), "front_size": float(len(self.size.front))}
        for objective in self.study.objectives:
            seen = [self.size.shown_metrics(trial).get(objective.metric) for trial in self.size.front_trials]
            values_known = [value for value in seen if value is not None]
            if values_known:
                values[f"best_{objective.metric}"] = max(values_known, key=lambda value: objective.gain(value, 1.0))
        for goal, recommendation in self.by_goal.items():
            for metric, gain in shown_gains(recommendation).items():
                values[f"{goal}/{metric}_gain"] = gain.value
                values[f"{goal}/{metric}_gain_low"] = gain.low
                values[f"{goal}/{metric}_gain_high"] = gain.high
        for name, value in values.items():
            yield MetricPoint(name, value, last, at_ms)

    def note(self, picture: str | None = None) -> str:
        """Return the description of the MLflow run for this record size, in Markdown."""
        first = self._first
        if first is None:
            return self.advice
        lines = [self.advice]
        if not not_advice(first):
            words = ["tuner", "recommend", self.study.name, "--record-bytes", self.size.record_bytes]
            command = shlex.join([*words, "--format", "properties"])
            config = [line for line in export(first, Format.PROPERTIES).splitlines() if line and line[0] != "#"]
            if config:
                lines += ["", f"`{command}` prints the config to paste:", "", "```", *config, "```"]
        # The first sentence may be the advice itself.
        lines += [
            "",
            *(f"- {line}" for line in gain_sentences(first) if line not in (in_short(first), advice_to_keep(first))),
        ]
        lines += ["", "For each goal:", ""]
        for goal, recommendation in self.by_goal.items():
            lines.append(f"- **{goal}**: trial {recommendation.trial.number} ({recommendation.how})")
        if picture is not None:
            lines += ["", f"![front]({picture})"]
        return cut("\n".join(lines))

    @property
    def _first(self) -> Recommendation | None:
        """The recommendation if nobody names a goal. None if there is none."""
        try:
            return recommend(self.study, self.size.record_bytes)
        except NoFeasibleConfig:
            return None

    @property
    def advice(self) -> str:
        """The recommendation in one sentence of Markdown: `**1000 B, goal balanced**: trial 14, at least ...`."""
        found = self._first
        if found is None:
            return f"**{self.size.record_bytes} B**: nothing to recommend yet"
        said = advice_to_keep(found) or not_advice(found) or in_short(found)
        which = "" if found.is_baseline else f"trial {found.trial.number}, "
        return f"**{self.size.record_bytes} B, goal {found.goal}**: {which}{said}"


def may_be_withdrawn(metric: str) -> bool:
    """Return whether a metric shows the best result so far, which changed constraints may rule out later."""
    return metric == VOLUME or metric.startswith("best_") or ("/" in metric and "_gain" in metric)


def size_runs(study: StudyResults) -> list[SizeRuns]:
    """Return the MLflow runs for each record size that has at least one trial."""
    return [SizeRuns(study, size, recommendations_by_goal(study, size)) for size in study.sizes if size.trials]


def _flag(value: bool) -> str:
    return "true" if value else "false"
