"""A whole study: everything opened, the driver let go, everything closed, whatever happens."""

import datetime
import time
import uuid
from collections import deque
from collections.abc import Mapping
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any, Final

from runners.clusters.topics import DEFAULT_MAX_MESSAGE_BYTES
from runners.errors import RayUnfit
from runners.local_pool import LocalPool
from runners.places import target_lock
from runners.pool import Pool
from runners.ray_cluster import RayCluster
from runners.ray_pool import RayPool
from runners.runner import Runner
from runners.simulated import SimulatedRunner
from runners.workload import RecordSizes
from runners.wrappers import DELETION_S
from tuner.confirmation.plan import ConfirmationPlan, asked_for, ended, search_again, searchs_own
from tuner.course.bench import Bench
from tuner.course.budget import Budget
from tuner.course.confirm import RATES
from tuner.course.driver import drive
from tuner.course.open_target import ClusterTarget, SimulatedTarget, TrialTarget, all_facts, open_target
from tuner.course.reporter import Mirror, Reporter
from tuner.course.trial_loop import TrialLoop, utc_now
from tuner.model.identity import check_unchanged, lock_key, study_identity, target_label
from tuner.model.spec import Executor, StudySpec
from tuner.model.trial import Progress, StudyState
from tuner.results.size_record import SizeRecord
from tuner.results.study_results import StudyResults, results_of
from tuner.search.samplers import OwnSampler, strategy_of
from tuner.search.schedule import space_of
from tuner.storage.home import storage_at
from tuner.storage.protocols import ResultsStore, Storage
from tuner.storage.url import secrets_in

_SIMULATED_NOISE_RATIO: Final = 0.03
_MIRROR_PATIENCE_S: Final = 60.0
_HASTE_S: Final = 5.0
_RECENT: Final = 20
"""Trials by which those to come are judged: how long they take, how much they write."""


def run_study(
    spec: StudySpec,
    study_text: str,
    folder: Path,
    reporter: Reporter,
    mirror: Mirror | None = None,
    simulated: Runner | None = None,
    *,
    sampler: OwnSampler | None = None,
    searching: bool = True,
    storage: Storage | None = None,
    rates: Mapping[str, float] | None = None,
) -> StudyResults:
    """Run a study to its end, going on from its record if it has one.

    Args:
        spec: What is asked.
        study_text: The study file as it was given, to be kept with the results.
        folder: Where the study's files lie, or will; on a shared storage, what is made anew from its record.
        reporter: Told what happens.
        mirror: Poked after each trial.
        simulated: Measures for `Executor.SIMULATED`; a small model by default.
        sampler: Proposes configs in place of `search.method`.
        searching: Whether to search; else what the search has found so far is confirmed anew.
        storage: Where it is recorded; the one in force by default.
        rates: Of a new study's paced phases, in records per second by record size, in place of shares of what its
            baseline carries.

    Returns:
        Everything found.

    Raises:
        StudyChanged: The record answers another question.
        StudyBusy: Another process is running this study.
        StudyTakenOver: Another host has taken it over, as this one's lease ran out.
        StorageUnreachable: The shared storage was away for too long; the study can be gone on with.
        RunnerError: The target can't be used, or we stopped to protect it; the study can be gone on with.
        TooManyFailures: Trial after trial gave no measurement; the study can be gone on with.
    """
    with ExitStack() as stack:
        store = stack.enter_context((storage or storage_at()).drive(folder, spec.name, reporter.say))
        if searching and _is_finished(spec, store.facts()):
            reporter.say(f"{spec.name} is finished; ask for more trials or time to go on, or give it another name")
            return results_of(store, folder)
        # Spaces first: what can't be searched is said before anything is started, or kept as what the study asks.
        for size in spec.workload.record_sizes:
            space_of(spec, size, DEFAULT_MAX_MESSAGE_BYTES)
        _begin(spec, study_text, store, searching=searching)
        options = {**_confirm_limits(spec), "goals": [str(goal) for goal in spec.confirm.goals]}
        confirmation_id = searchs_own(store) if searching else asked_for(store, options)
        if rates:
            store.set_fact(RATES, {**rates, **store.facts().get(RATES, {})})
        if mirror is not None:
            mirror.start()
            stack.push(partial(_finish, mirror, spec.name, reporter))
        # A cluster first, which may not have what is asked for; a Ray of our own last, as it takes seconds to start.
        elsewhere = spec.executor is Executor.RAY and spec.ray_address is not None
        there = stack.enter_context(closing(_pool(spec, folder, reporter))) if elsewhere else None
        targets, topic_max, facts = _targets(spec, stack, reporter, simulated)
        for name, value in {**facts, "topic_max_message_bytes": topic_max}.items():
            store.set_fact(name, value)
        # Topics go after the load has ended: brokers that create topics by themselves would make them anew for it.
        leases = stack.enter_context(ExitStack())
        # A pool that is there already is entered once more, so that it too is closed before the leases are.
        bench = Bench(targets, stack.enter_context(closing(there or _pool(spec, folder, reporter))))
        leases.callback(bench.close)
        loop = _loop(spec, store, bench, reporter, mirror)
        try:
            make_strategy = partial(strategy_of, spec, sampler=sampler)
            drive(loop, make_strategy, topic_max, confirmation_id, searching=searching)
            if not searching:
                ended(store)
        except BaseException as error:
            state = StudyState.FAILED if isinstance(error, Exception) else StudyState.INTERRUPTED
            loop.tell_progress(Progress(state))
            raise
        return results_of(store, folder)


def _finish(mirror: Mirror, name: str, reporter: Reporter, kind: type[BaseException] | None, *_: object) -> None:
    """End the mirror when the study's context is left: patiently at the study's own end, at once otherwise."""
    outcome = mirror.finish(_MIRROR_PATIENCE_S if kind is None else _HASTE_S)
    if outcome.trials_behind or (outcome.error and kind is None):
        reporter.say(
            f"MLflow ({outcome.uri}) does not show everything yet: {outcome.error or 'no time was left'}; "
            f"later: tuner sync {name}"
        )


def _begin(spec: StudySpec, study_text: str, store: ResultsStore, *, searching: bool) -> None:
    facts, question, limits = store.facts(), study_identity(spec), _limits(spec)
    if not store.trials():
        # What has no answers yet may be asked otherwise: the address was mistyped, say.
        facts = {name: value for name, value in facts.items() if name in ("study_id", "started_at")}
    if "question" in facts:
        check_unchanged(spec.name, question, facts["question"])
    new: dict[str, Any] = {
        "name": spec.name,
        "record_sizes": list(dict.fromkeys([*facts.get("record_sizes", []), *limits["record_sizes"]])),
        "objectives": [objective.metric for objective in spec.objectives],
        "constraints": [str(constraint) for constraint in spec.constraints],
        "target": ", ".join(target_label(target) for target in spec.targets),
        "method": spec.search.sampler or str(spec.search.method),
        "seed": spec.search.seed,
        "trials_per_size": spec.search.trials,
        "tracking": {
            # One with a password in it is not kept: `tuner sync --tracking-uri` names it again.
            "uri": None if secrets_in(spec.tracking.uri or "") else spec.tracking.uri,
            "experiment": spec.tracking.experiment,
            "enabled": spec.tracking.enabled,
        },
        "finished_at": None,
        "question": question,
        "limits": limits,
    }
    if "study_id" not in facts:
        new = {"study_id": uuid.uuid4().hex, "started_at": utc_now().isoformat(timespec="seconds"), **new}
    if searching and _differ(facts.get("limits"), limits):
        search_again(store)
    if not searching:  # what was asked of the search, and whether it has ended, stays as it is
        new = {name: value for name, value in new.items() if name not in ("limits", "finished_at")}
    for name, value in new.items():
        store.set_fact(name, value)
    store.set_study_file(study_text)


def _is_finished(spec: StudySpec, facts: Mapping[str, Any]) -> bool:
    """Whether this very question, with the same limits, was answered before."""
    answered = facts.get("question") == study_identity(spec) and facts.get("limits") == _limits(spec)
    return answered and bool(facts.get("finished_at"))


def _differ(before: Mapping[str, Any] | None, now: Mapping[str, Any]) -> bool:
    """Whether a study that goes on is to search or confirm for longer, or shorter, than it was to."""
    return before is not None and any(
        before.get(name) != now[name] for name in ("trials", "hours", "until", "max_bytes", "confirm")
    )


def _limits(spec: StudySpec) -> dict[str, Any]:
    search = spec.search
    return {
        "record_sizes": [str(size) for size in spec.workload.record_sizes],
        "trials": search.trials,
        "hours": search.hours,
        "until": search.until,
        "max_bytes": search.max_bytes,
        "confirm": _confirm_limits(spec),
    }


def _confirm_limits(spec: StudySpec) -> dict[str, Any]:
    plain = ConfirmationPlan.of(spec.confirm, "", {}, []).as_json() | {"nominated": spec.confirm.nominees}
    return {name: value for name, value in plain.items() if name not in ("constraints", "session", "end_round")}


def _loop(spec: StudySpec, store: ResultsStore, bench: Bench, reporter: Reporter, mirror: Mirror | None) -> TrialLoop:
    trials = [trial for _, trial in store.trials()]
    records = {
        size: SizeRecord(str(size), spec.objectives, [trial for trial in trials if trial.record_bytes == str(size)])
        for size in spec.workload.record_sizes
    }
    if trials:
        reporter.say(f"{len(trials)} trials are on record; going on from there")
    budget = Budget(spec.search, trials, datetime.datetime.now())
    totals: dict[RecordSizes, int | None] = dict.fromkeys(records, spec.search.trials)
    return TrialLoop(spec, store, bench, reporter, mirror, records, budget, deque(trials, _RECENT), len(trials), totals)


def _targets(
    spec: StudySpec, stack: ExitStack, reporter: Reporter, simulated: Runner | None
) -> tuple[list[TrialTarget], int, dict[str, Any]]:
    """The targets, opened; what their topics take; and what is to be known of them."""
    if spec.executor is Executor.SIMULATED or simulated is not None:
        runner = simulated or SimulatedRunner(_SIMULATED_NOISE_RATIO)
        nowhere = SimulatedTarget((runner,) * spec.workload.producers)
        return [nowhere] * len(spec.targets), DEFAULT_MAX_MESSAGE_BYTES, all_facts(None)
    targets: list[ClusterTarget] = []
    for key in sorted({lock_key(target) for target in spec.targets}):
        stack.enter_context(target_lock(key, spec.name, on_wait=partial(_say_waiting, reporter)))
    load = spec.workload
    overlapping = min(load.saturate.warmup_s, load.paced.warmup_s) >= DELETION_S
    for target in spec.targets:
        opened = ClusterTarget(
            partial(open_target, target, reporter.say),
            load.producers,
            spec.safety.broker_wait_s,
            reporter.say,
            time.sleep,
            overlapping,
        )
        stack.callback(opened.close)
        targets.append(opened)
    first = targets[0].opened
    with first.lease()(spec.workload.saturating(spec.workload.record_sizes[0])) as topic:
        topic_max = topic.max_message_bytes
    return list(targets), topic_max, all_facts(first)


def _pool(spec: StudySpec, folder: Path, reporter: Reporter) -> Pool:
    if spec.executor is not Executor.RAY:
        return LocalPool(len(spec.targets))
    return RayPool(
        folder / "ray",
        slots=len(spec.targets),
        producers=spec.workload.producers,
        cluster=_ray_cluster(spec, reporter),
        target=",".join(sorted(lock_key(target) for target in spec.targets)),
        on_wait=partial(_say_waiting, reporter),
        tell=reporter.say,
    )


def _ray_cluster(spec: StudySpec, reporter: Reporter) -> RayCluster | None:
    if spec.ray_address is None:
        if spec.placement:
            raise RayUnfit(
                f"zones are those of a Ray cluster that runs, but none was named for {', '.join(spec.placement)}: give "
                "executor.ray_address, or leave executor.placement out"
            )
        reporter.say("starting Ray on this host")
        return None
    return RayCluster(
        spec.ray_address,
        spec.ray_code,
        spec.placement,
        spec.ray_wait_s,
        this_host_only=any(target.of_this_host_only for target in spec.targets),
    )


def _say_waiting(reporter: Reporter, holder: str) -> None:
    reporter.say(f"the target is in use by {holder}; waiting until it is free, so that neither disturbs the other")
