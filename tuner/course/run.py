"""A whole study: everything opened, the driver let go, everything closed, whatever happens."""

import datetime
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

from runners.clusters.topics import DEFAULT_MAX_MESSAGE_BYTES
from runners.errors import RayUnfit
from runners.leased import DELETION_S
from runners.local_pool import LocalPool
from runners.locks import target_lock
from runners.pool import Pool
from runners.ray_cluster import RayCluster
from runners.ray_pool import RayPool
from runners.runner import Runner
from runners.simulated import SimulatedRunner
from tuner.confirmation.history import asked_for, ended, search_again, searchs_own
from tuner.confirmation.plan import Choice
from tuner.course.bench import Bench
from tuner.course.budget import Budget
from tuner.course.driver import Driver, space_of
from tuner.course.open_target import Session, open_session
from tuner.course.provenance import all_facts
from tuner.course.stabilise import RATES
from tuner.course.targets import ClusterPlace, Place, SimulatedPlace
from tuner.course.trial_loop import Show, TrialLoop, utc_now
from tuner.model.identity import check_unchanged, lock_key, question_of, target_label
from tuner.model.spec import Executor, StudySpec
from tuner.model.target import Target
from tuner.results.size_record import SizeRecord
from tuner.results.study_results import StudyResults, results_of
from tuner.search.strategies import strategy_of
from tuner.storage.chosen import storage_at
from tuner.storage.protocols import ResultsStore, Storage
from tuner.storage.url import secrets_in
from tuner.tracking import Mirror

SIMULATED_NOISE_RATIO: Final = 0.03


MIRROR_PATIENCE_S: Final = 60.0
_HASTE_S: Final = 5.0


def run_study(
    spec: StudySpec,
    study_text: str,
    folder: Path,
    show: Show,
    mirror: Mirror | None = None,
    simulated: Runner | None = None,
    *,
    searching: bool = True,
    storage: Storage | None = None,
    rates: Mapping[str, float] | None = None,
) -> StudyResults:
    """Run a study to its end, going on from its record if it has one.

    Args:
        spec: What is asked.
        study_text: The study file as it was given, to be kept with the results.
        folder: Where the study's files lie, or will; on a shared storage, what is made anew from its record.
        show: Told what happens.
        mirror: Poked after each trial.
        simulated: Measures for `Executor.SIMULATED`; a small model by default.
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
        store = stack.enter_context((storage or storage_at()).drive(folder, spec.name, show.say))
        if searching and _is_finished(spec, store):
            show.say(f"{spec.name} is finished; ask for more trials or time to go on, or give it another name")
            return results_of(store, folder)
        # Spaces first: what can't be searched is said before anything is started, or kept as what the study asks.
        for size in spec.workload.record_sizes:
            space_of(spec, size, DEFAULT_MAX_MESSAGE_BYTES)
        _begin(spec, study_text, store, searching=searching)
        session = searchs_own(store) if searching else asked_for(store, _confirm_options(spec))
        if rates:
            store.set_fact(RATES, {**rates, **store.facts().get(RATES, {})})
        poke: Callable[[], None] = lambda: None  # noqa: E731
        if mirror is not None:
            mirror.start()
            stack.push(_finishing(mirror, spec.name, show))
            poke = mirror.poke
        # A cluster first, which may not have what is asked for; a Ray of our own last, as it takes seconds to start.
        elsewhere = spec.executor is Executor.RAY and spec.ray_address is not None
        there = stack.enter_context(_pool(spec, folder, show)) if elsewhere else None
        places, topic_max, facts = _places(spec, stack, show, simulated)
        for name, value in facts.items():
            store.set_fact(name, value)
        # Topics go after the load has ended: brokers that create topics by themselves would make them anew for it.
        leases = stack.enter_context(ExitStack())
        # A pool that is there already is entered once more, so that it too is closed before the leases are.
        bench = Bench(places, stack.enter_context(there or _pool(spec, folder, show)))
        leases.callback(bench.close)
        loop = _loop(spec, store, bench, show, poke)
        try:
            Driver(loop, partial(strategy_of, spec.search, spec.objectives), topic_max, session, searching).run()
            if not searching:
                ended(store)
        except BaseException as error:
            interrupted = not isinstance(error, Exception)
            loop.tell_progress(None, "", "interrupted" if interrupted else "failed")
            raise
        return results_of(store, folder)


def _finishing(mirror: Mirror, name: str, show: Show) -> Callable[..., None]:
    """What ends the mirror when the study's context is left: patiently at the study's own end, at once otherwise."""

    def leave(kind: type[BaseException] | None, *_: object) -> None:
        outcome = mirror.finish(MIRROR_PATIENCE_S if kind is None else _HASTE_S)
        if outcome.trials_behind or (outcome.error and kind is None):
            show.say(
                f"MLflow ({outcome.uri}) does not show everything yet: {outcome.error or 'no time was left'}; "
                f"later: tuner sync {name}"
            )

    return leave


def _begin(spec: StudySpec, study_text: str, store: ResultsStore, *, searching: bool) -> None:
    facts, question = store.facts(), question_of(spec)
    if not store.trials():
        # What has no answers yet may be asked otherwise: the address was mistyped, say.
        facts = {name: value for name, value in facts.items() if name in ("study_id", "started_at")}
    if "question" in facts:
        check_unchanged(spec.name, question, facts["question"])
    new: dict[str, Any] = {
        "name": spec.name,
        "record_sizes": _all_sizes(facts.get("record_sizes", []), [str(s) for s in spec.workload.record_sizes]),
        "objectives": [objective.metric for objective in spec.objectives],
        "constraints": [str(constraint) for constraint in spec.constraints],
        "target": ", ".join(target_label(target) for target in spec.targets),
        "method": str(spec.search.method),
        "seed": spec.search.seed,
        "trials_per_size": spec.search.trials,
        "tracking": {
            "uri": _without_secret(spec.tracking.uri),
            "experiment": spec.tracking.experiment,
            "enabled": spec.tracking.enabled,
        },
        "finished_at": None,
        "question": question,
        "limits": _limits(spec),
    }
    if "study_id" not in facts:
        new = {"study_id": uuid.uuid4().hex, "started_at": utc_now().isoformat(timespec="seconds"), **new}
    if searching and _allows_more(facts.get("limits"), new["limits"]):
        search_again(store)
    if not searching:  # what was asked of the search, and whether it has ended, stays as it is
        new = {name: value for name, value in new.items() if name not in ("limits", "finished_at")}
    for name, value in new.items():
        store.set_fact(name, value)
    store.set_study_file(study_text)


def _is_finished(spec: StudySpec, store: ResultsStore) -> bool:
    """Whether this very question, with the same limits, was answered before."""
    facts = store.facts()
    asked = {"question": question_of(spec), "limits": _limits(spec)}
    return bool(facts.get("finished_at")) and all(facts.get(name) == value for name, value in asked.items())


def _allows_more(before: dict[str, Any] | None, now: dict[str, Any]) -> bool:
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


def _confirm_options(spec: StudySpec) -> dict[str, Any]:
    """What `tuner confirm` was asked for."""
    return {**_confirm_limits(spec), "goals": [str(goal) for goal in spec.confirm.goals]}


def _confirm_limits(spec: StudySpec) -> dict[str, Any]:
    plain = Choice.of(spec.confirm, "", {}, []).as_json() | {"nominated": spec.confirm.nominees}
    return {name: value for name, value in plain.items() if name not in ("constraints", "session", "end_round")}


def _without_secret(uri: str | None) -> str | None:
    """The URI as it may be kept: one with a password in it is not; `tuner sync --tracking-uri` names it again."""
    return None if uri is not None and secrets_in(uri) else uri


def _all_sizes(before: list[str], now: list[str]) -> list[str]:
    return list(dict.fromkeys([*before, *now]))


def _loop(spec: StudySpec, store: ResultsStore, bench: Bench, show: Show, poke: Callable[[], None]) -> TrialLoop:
    trials = [trial for _, trial in store.trials()]
    records = {
        size: SizeRecord(str(size), spec.objectives, [trial for trial in trials if trial.record_bytes == str(size)])
        for size in spec.workload.record_sizes
    }
    if trials:
        show.say(f"{len(trials)} trials are on record; going on from there")
    budget = Budget(spec.search, trials, datetime.datetime.now())
    return TrialLoop(spec, store, bench, show, poke, records, budget)


def _places(
    spec: StudySpec, stack: ExitStack, show: Show, simulated: Runner | None
) -> tuple[list[Place], int, dict[str, Any]]:
    """The targets, opened; what their topics take; and what is to be known of them."""
    if spec.executor is Executor.SIMULATED or simulated is not None:
        runner = simulated or SimulatedRunner(SIMULATED_NOISE_RATIO)
        nowhere = SimulatedPlace((runner,) * spec.workload.producers)
        return [nowhere] * len(spec.targets), DEFAULT_MAX_MESSAGE_BYTES, all_facts(None)
    places: list[ClusterPlace] = []
    for key in sorted({lock_key(target) for target in spec.targets}):
        stack.enter_context(target_lock(key, spec.name, on_wait=_wait_for(show)))
    load = spec.workload
    overlapping = min(load.saturate.warmup_s, load.paced.warmup_s) >= DELETION_S
    for target in spec.targets:
        place = ClusterPlace(
            _opener(target, show), load.producers, spec.safety.broker_wait_s, show.say, time.sleep, overlapping
        )
        stack.callback(place.close)
        places.append(place)
    session = places[0].session
    with session.lease()(spec.workload.saturating(spec.workload.record_sizes[0])) as topic:
        topic_max = topic.max_message_bytes
    return list(places), topic_max, all_facts(session)


def _opener(target: Target, show: Show) -> Callable[[], AbstractContextManager[Session]]:
    @contextmanager
    def opened() -> Iterator[Session]:
        with open_session(target, show.say) as session:
            if session.swept:
                show.say(f"deleted {len(session.swept)} topics that an earlier run left behind")
            yield session

    return opened


def _pool(spec: StudySpec, folder: Path, show: Show) -> Pool:
    if spec.executor is not Executor.RAY:
        return LocalPool(len(spec.targets))
    return RayPool(
        folder / "ray",
        slots=len(spec.targets),
        producers=spec.workload.producers,
        cluster=_ray_cluster(spec, show),
        target=",".join(sorted(lock_key(target) for target in spec.targets)),
        on_wait=_wait_for(show),
        tell=show.say,
    )


def _ray_cluster(spec: StudySpec, show: Show) -> RayCluster | None:
    if spec.ray_address is None:
        if spec.placement:
            raise RayUnfit(
                f"zones are those of a Ray cluster that runs, but none was named for {', '.join(spec.placement)}: give "
                "executor.ray_address, or leave executor.placement out"
            )
        show.say("starting Ray on this host")
        return None
    return RayCluster(
        spec.ray_address,
        spec.ray_code,
        spec.placement,
        spec.ray_wait_s,
        this_host_only=any(target.of_this_host_only for target in spec.targets),
    )


def _wait_for(show: Show) -> Callable[[str], None]:
    def on_wait(holder: str) -> None:
        show.say(f"the target is in use by {holder}; waiting until it is free, so that neither disturbs the other")

    return on_wait
