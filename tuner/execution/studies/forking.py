"""Forks a study: a new study begins with those trials of another study that fit the settings of the new study."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any, Final, Self

from objectives.scoring import score
from runners.reporting import Say, counted
from search_spaces.client_facts.sizes import DEFAULT_MAX_MESSAGE_BYTES
from search_spaces.errors import ConfigError
from tuner.execution.studies.beginning import begin
from tuner.model.document import document
from tuner.model.errors import RequestRefused, StudyChanged, StudyNotFound
from tuner.model.facts import (
    BROKER_VERSION,
    CLIENT_VERSION,
    CLUSTER,
    CLUSTER_IDS,
    FORKED_FROM,
    HOST,
    IDENTITY,
    MACHINE,
    MIXED,
    NAME,
    RATES,
    STUDY_ID,
    TOPIC_MAX_MESSAGE_BYTES,
    TOPIC_SHAPE,
)
from tuner.model.identity import KEPT_BY_FORK, section_of, setting_changes, study_identity
from tuner.model.spec import StudySpec
from tuner.model.trial import PACED, SATURATED, State, Trial, TrialKind
from tuner.storage.protocols import ResultsStore, Storage

_ENVIRONMENT: Final = (CLIENT_VERSION, BROKER_VERSION, HOST, CLUSTER, MACHINE, CLUSTER_IDS)


def trials_for(spec: StudySpec, source: str, facts: Mapping[str, Any], trials: Iterable[Trial]) -> list[Trial]:
    """Return the trials of another study that a new study takes over, judged by the settings of the new study.

    The result has trials of the search and of the baseline, with the record sizes of the new study and with configs
    that the new study may recommend. Trials of a confirmation are left out, because the new study confirms its own
    winners. If the objectives or the constraints differ, trials that were stopped early are left out, too, because they
    were stopped by the old objectives or constraints.

    Args:
        spec: The specification of the new study.
        source: The name of the other study.
        facts: The facts of the other study, from its results store.
        trials: The trials of the other study.

    Raises:
        StudyChanged: The workload, the target, the baseline or the executor differs.
        ConfigError: The new study file gives a knob values that it can't have, or leaves no knob to search.
    """
    changes = setting_changes(study_identity(spec), facts.get(IDENTITY, {}))
    if kept := {key: change for key, change in changes.items() if section_of(key) in KEPT_BY_FORK}:
        lines = [f"{key}: {change.replace('in the study', f'in {source}', 1)}" for key, change in kept.items()]
        rule = f"a study can take over trials of {source} only if these settings are the same, but they differ:"
        raise StudyChanged(
            "\n  ".join([rule, *lines])
            + f"\ngive them the values of {source}, or run {spec.name} as a study of its own"
        )
    sections = set(map(section_of, changes))
    constraints = [str(each) for each in spec.constraints]
    judged_anew = "objectives" in sections or sorted(facts[IDENTITY]["constraints"]) != sorted(constraints)
    topic_max = facts.get(TOPIC_MAX_MESSAGE_BYTES, DEFAULT_MAX_MESSAGE_BYTES)
    spaces = {str(size): spec.space_of(size, topic_max) for size in spec.workload.record_sizes}
    fitting: list[Trial] = []
    for trial in trials:
        if trial.record_bytes not in spaces or (judged_anew and trial.stopped_early):
            continue
        match trial.kind:
            case TrialKind.SEARCH:
                params: Mapping[str, Any] | None = trial.params
                if sections & {"space", "durability"}:
                    try:
                        params = spaces[trial.record_bytes].params_of(trial.config())
                    except ConfigError:
                        continue
                if params is None:
                    continue
                fitting.append(
                    replace(trial, params=params, sampler_state={} if "search" in sections else trial.sampler_state)
                )
            case TrialKind.BASELINE | TrialKind.BURN_IN if trial.fingerprint == spec.baseline.fingerprint:
                fitting.append(trial)
    return [_scored(trial, spec, fitting) for trial in fitting] if judged_anew else fitting


def fork(
    spec: StudySpec, text: str, source: ResultsStore, trials: Iterable[Trial], store: ResultsStore, say: Say
) -> None:
    """Store a new study, in `store`, that begins with trials of another study, from `source`."""
    facts, taken = source.facts(), list(trials)
    for name in (*_ENVIRONMENT, TOPIC_MAX_MESSAGE_BYTES, TOPIC_SHAPE, RATES, MIXED):
        if name in facts:
            store.set_fact(name, facts[name])
    begin(spec, text, store, say, searching=True)
    store.set_fact(FORKED_FROM, {"study": facts.get(NAME), "study_id": facts.get(STUDY_ID), "trials": len(taken)})
    for trial in taken:
        attached = {name: source.attachment(trial, name) for name in (SATURATED, PACED)}
        store.append(trial, {name: value for name, value in attached.items() if value is not None})


def begin_fork(
    storage: Storage, folder: Path, spec: StudySpec, text: str, source: ResultsStore, trials: Iterable[Trial], say: Say
) -> bool:
    """Create a new study that begins with trials of another study; return False if a study of that name exists.

    If this fails or is interrupted, the new study is removed again, because an incomplete fork would look like a
    complete study.
    """
    if not storage.create(folder):
        return False
    try:
        with storage.drive(folder, spec.name, say) as store:
            fork(spec, text, source, trials, store, say)
    except BaseException:
        with suppress(StudyNotFound):
            storage.remove(folder, spec.name, say)
        with suppress(OSError):  # the folder does not exist, or is not empty
            folder.rmdir()
        raise
    return True


def _scored(trial: Trial, spec: StudySpec, trials: Iterable[Trial]) -> Trial:
    """Return a trial with values and violations for the objectives and constraints of the new study."""
    if trial.kind is TrialKind.BURN_IN:
        return trial
    baselines = [
        each.metrics
        for each in trials
        if each.kind is TrialKind.BASELINE and each.state is State.COMPLETE and each.record_bytes == trial.record_bytes
    ]
    limits = {each.metric for each in spec.constraints if each.of_baseline}
    known = {name: [each[name] for each in baselines if name in each] for name in limits}
    baseline = {name: median(values) for name, values in known.items() if values}
    judged = score(trial.metrics, spec.objectives, spec.constraints, baseline)
    return replace(trial, objectives=judged.values, violations=dict(judged.violations))


@dataclass(frozen=True, slots=True)
class ForkedTrials:
    """The trials of another study that a new study begins with.

    Attributes:
        source: The name of the other study.
        source_trials: How many trials the other study has.
        trials: The trials of the other study that fit the new study.
    """

    source: str
    source_trials: int
    trials: list[Trial]

    @classmethod
    def of(cls, spec: StudySpec, source: str, store: ResultsStore) -> Self:
        """Return the trials of another study that fit a new study.

        Args:
            spec: The specification of the new study.
            source: The name of the other study.
            store: The results store of the other study.

        Raises:
            RequestRefused: No trial fits, or only burn-in runs fit.
            StudyChanged: As for `trials_for`.
            ConfigError: As for `trials_for`.
        """
        source_trials = [trial for _, trial in store.trials()]
        fitting = trials_for(spec, source, store.facts(), source_trials)
        if all(trial.kind is TrialKind.BURN_IN for trial in fitting):
            raise RequestRefused(
                f"a fork needs trials that fit the new study, but none of the {counted(len(source_trials), 'trial')} "
                f"of {source} fits; run {spec.name} as a study of its own"
            )
        return cls(source, len(source_trials), fitting)

    def as_json(self, study: str, folder: Path | None = None) -> dict[str, Any]:
        """Return what a command prints about a fork, as JSON values.

        Args:
            study: The name of the new study.
            folder: The folder of the new study; None to leave it out.
        """
        return document(
            "fork",
            study=study,
            **({} if folder is None else {"folder": str(folder)}),
            of=self.source,
            trials_there=self.source_trials,
            trials_taken_over=len(self.trials),
        )
