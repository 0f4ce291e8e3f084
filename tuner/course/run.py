"""Running a whole study: open what the study needs, measure, and close everything again, also after an error."""

import datetime
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

from runners.clusters.temporary import remove_folders_of_dead
from runners.errors import signals_unwrapped
from runners.local_pool import LocalPool
from runners.placement import Placement
from runners.places import target_lock
from runners.pool import Pool
from runners.ray_cluster import RayCluster
from runners.ray_pool import RayPool
from runners.reporting import counted
from runners.runner import Runner
from runners.simulated import SimulatedRunner
from runners.workload import RecordSizes
from runners.wrappers import DELETION_S
from search_spaces.sizes import DEFAULT_MAX_MESSAGE_BYTES
from tuner.confirmation.plan import (
    confirmation_of_command,
    confirmation_of_search,
    ended,
)
from tuner.course.beginning import begin, confirm_limits, is_finished
from tuner.course.bench import Bench
from tuner.course.budget import Budget, check_new, deadline_of
from tuner.course.driver import drive
from tuner.course.environment import check_environment, environment_facts, topic_shape
from tuner.course.open_target import lock_key, open_target, tell_waiting
from tuner.course.reporter import Mirror, Reporter, finish_mirror
from tuner.course.trial_loop import TrialLoop
from tuner.course.trial_target import ClusterTarget, SimulatedTarget, TrialTarget
from tuner.model.errors import DeadlinePassed, RecordUnwritable
from tuner.model.facts import (
    ALLOWED_LOSS,
    FORKED_FROM,
    RATES,
    RESERVED_BYTES,
    TOPIC_MAX_MESSAGE_BYTES,
    TOPIC_SHAPE,
)
from tuner.model.spec import Executor, StudySpec
from tuner.model.trial import Progress, StudyState
from tuner.results.changed_constraints import judged_by
from tuner.results.size_record import SizeRecord
from tuner.results.study_results import StudyResults, results_of
from tuner.search.samplers import OwnSampler, strategy_of
from tuner.search.schedule import space_of
from tuner.storage.home import storage_at
from tuner.storage.protocols import ResultsStore, Storage

_SIMULATED_NOISE_RATIO: Final = 0.03
_RECENT: Final = 20
"""How many of the newest trials are used to estimate the time and the bytes of the next trial."""


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
    now: Callable[[], datetime.datetime] = datetime.datetime.now,
    sleep: Callable[[float], None] = time.sleep,
    mix_environments: bool = False,
) -> StudyResults:
    """Run a study to its end; a study that already has trials is continued.

    Args:
        spec: The specification of the study.
        study_text: The text of the study file, which is kept with the results.
        folder: The folder of the study's files. With a shared storage, it holds only files that can be made again from
            the stored results.
        reporter: Shows the user the progress of the study.
        mirror: Copies the results to another place, such as MLflow; None if the study has no mirror.
        simulated: The runner that stands in for a cluster if the executor is `Executor.SIMULATED`; by default a small
            simulated cluster.
        sampler: Proposes configs instead of `search.method`.
        searching: Whether to search; if not, only the configs that were found so far are confirmed once more.
        storage: Where the results are kept; by default the storage that the environment names.
        rates: The fixed rates of a new study's paced phases, in records per second by record size. By default each rate
            is a share of the throughput of the baseline.
        now: Returns the current local time, with which `search.until` is compared.
        sleep: Waits the given number of seconds until a round is due, if the rounds are spread over time.
        mix_environments: Whether to continue a study whose trials were measured on another host, with another version
            of the client, or on another cluster. The results then say so.

    Returns:
        All results of the study.

    Raises:
        StudyChanged: The stored trials belong to a study with another specification, or to another environment.
        StudyBusy: Another process is running this study.
        DeadlinePassed: The time of `search.until` has passed. Run the study with another time to continue it.
        StudyTakenOver: Another host has taken the study over, because this host's lease ran out.
        StorageUnreachable: The shared storage was unreachable for too long. Run the study again to continue it.
        RunnerError: The cluster can't be used, or we stopped to protect it. Run the study again to continue it.
        TooManyFailures: Too many trials in a row gave no measurement. Run the study again to continue it.
    """
    spec.check_zones()
    kept = storage or storage_at()
    with ExitStack() as stack:
        # At the end, as the last processes of a run that was killed just before may still write to its folders.
        stack.callback(remove_folders_of_dead)
        if searching:
            check_new(spec, lambda: kept.find(str(folder), folder.parent) is None, now)
        store = stack.enter_context(kept.drive(folder, spec.name, reporter.say))
        if searching and is_finished(spec, store.facts()):
            if store.facts().get(ALLOWED_LOSS) != spec.confirm.allow_loss:  # no new measurement is needed
                store.set_fact(ALLOWED_LOSS, spec.confirm.allow_loss)
            reporter.say(
                f"{spec.name} is finished; to continue it, allow more trials or time; to start over, give it a new name"
            )
            return results_of(store, folder)
        for note in spec.baseline_notes:
            reporter.say(note)
        # Check the search spaces first: a wrong one must be reported before anything is started or stored.
        for size in spec.workload.record_sizes:
            space_of(spec, size, DEFAULT_MAX_MESSAGE_BYTES)
        deadline = deadline_of(spec, store, now(), searching=searching)
        make_budget = partial(Budget, spec.search, deadline=deadline, now=now)
        make_budget(()).check_deadline()
        begin(spec, study_text, store, reporter.say, searching=searching)
        options = {**confirm_limits(spec), "goals": [str(goal) for goal in spec.confirm.goals]}
        confirmation_id = confirmation_of_search(store) if searching else confirmation_of_command(store, options)
        if rates:
            store.set_fact(RATES, {**rates, **store.facts().get(RATES, {})})
        if mirror is not None:
            mirror.start(store.set_fact)
            stack.push(partial(finish_mirror, mirror, spec.name, reporter.say))
        # Connect to an existing Ray cluster before the target, as it may lack the nodes that the study asks for. Ray on
        # this host is started after the target, as that takes seconds.
        elsewhere = _is_elsewhere(spec)
        is_real = spec.executor is not Executor.SIMULATED and simulated is None
        keys = sorted({lock_key(target) for target in spec.targets}) if is_real else []
        make_pool = partial(_pool, spec, folder, reporter, keys)
        existing_pool = stack.enter_context(closing(make_pool())) if elsewhere else None
        targets, facts, of_topic = _targets(spec, stack, reporter, simulated, keys)
        check_environment(spec.name, store, facts, loads_here=not elsewhere, mix=mix_environments)
        for name, value in {**facts, **of_topic}.items():
            store.set_fact(name, value)
        # Topics are deleted only after all loads have ended, as a broker that creates topics automatically would create
        # them again for a load that still sends.
        leases = stack.enter_context(ExitStack())
        # A pool that was opened above is entered a second time, so that it too is closed before the leases are closed.
        pool = stack.enter_context(closing(existing_pool or make_pool()))
        bench = Bench(targets, pool, store.lost_leases, store.await_lease)
        leases.callback(bench.close)
        loop = _loop(spec, store, bench, reporter, mirror, make_budget, sleep)
        try:
            make_strategy = partial(strategy_of, spec, sampler=sampler)
            results = partial(results_of, store, folder)
            with signals_unwrapped():
                topic_max = of_topic[TOPIC_MAX_MESSAGE_BYTES]
                drive(loop, make_strategy, topic_max, confirmation_id, results, searching=searching)
            if not searching:
                ended(store)
        except BaseException as error:
            interrupted = isinstance(error, DeadlinePassed) or not isinstance(error, Exception)
            state = StudyState.INTERRUPTED if interrupted else StudyState.FAILED
            with suppress(RecordUnwritable):  # on a full disk, the first error says so already
                loop.tell_progress(Progress(state))
            raise
        return results()


def _loop(
    spec: StudySpec,
    store: ResultsStore,
    bench: Bench,
    reporter: Reporter,
    mirror: Mirror | None,
    make_budget: Callable[..., Budget],
    sleep: Callable[[float], None],
) -> TrialLoop:
    trials = [trial for _, trial in store.trials()]
    records = {
        size: SizeRecord(
            str(size),
            spec.objectives,
            judged_by(spec.constraints, [trial for trial in trials if trial.record_bytes == str(size)]),
        )
        for size in spec.workload.record_sizes
    }
    if trials:
        reporter.say(f"already stored: {counted(len(trials), 'trial')}; the study continues after them")
    # What a forked study has taken over cost it neither time nor bytes. These trials were stored first.
    own_trials = trials[store.facts().get(FORKED_FROM, {}).get("trials", 0) :]
    budget = make_budget(own_trials, reserved=store.facts().get(RESERVED_BYTES, {}))
    totals: dict[RecordSizes, int | None] = dict.fromkeys(records, spec.search.trials)
    return TrialLoop(
        spec=spec,
        store=store,
        bench=bench,
        reporter=reporter,
        mirror=mirror,
        records=records,
        budget=budget,
        recent=deque(trials, _RECENT),
        on_record=len(trials),
        totals=totals,
        sleep=sleep,
    )


def _targets(
    spec: StudySpec, stack: ExitStack, reporter: Reporter, simulated: Runner | None, keys: Sequence[str]
) -> tuple[list[TrialTarget], dict[str, Any], dict[str, Any]]:
    """Lock the clusters (targets) of a study, whose locks have the names `keys`, and open them.

    Returns:
        The targets, the facts about the environment, and those about the topics: the largest message that they take,
        in bytes, and their partitions and replication.
    """
    if spec.executor is Executor.SIMULATED or simulated is not None:
        runner = simulated or SimulatedRunner(_SIMULATED_NOISE_RATIO)
        nowhere = SimulatedTarget(runner)
        return (
            [nowhere] * len(spec.targets),
            environment_facts(()),
            {TOPIC_MAX_MESSAGE_BYTES: DEFAULT_MAX_MESSAGE_BYTES},
        )
    targets: list[ClusterTarget] = []
    for key in keys:
        stack.enter_context(target_lock(key, spec.name, partial(tell_waiting, reporter.say)))
    load = spec.workload
    overlapping = min(load.saturate.warmup_s, load.paced.warmup_s) >= DELETION_S
    for target in spec.targets:
        opened = ClusterTarget(
            partial(open_target, target, reporter.say, spec.client, spec.other_clients),
            spec.safety.broker_wait_s,
            reporter.say,
            time.sleep,
            overlapping,
        )
        stack.callback(opened.close)
        targets.append(opened)
    first = targets[0].opened
    with first.lease()(spec.workload.saturating(spec.workload.record_sizes[0])) as topic:
        of_topic = {TOPIC_MAX_MESSAGE_BYTES: topic.max_message_bytes, TOPIC_SHAPE: topic_shape(topic)}
    facts = environment_facts([each.opened for each in targets], on_ray=_is_elsewhere(spec))
    return list(targets), facts, of_topic


def _is_elsewhere(spec: StudySpec) -> bool:
    """Return whether an existing Ray cluster runs the loads."""
    return spec.executor is Executor.RAY and spec.ray_address is not None


def _pool(spec: StudySpec, folder: Path, reporter: Reporter, keys: Sequence[str]) -> Pool:
    """Return the pool of workers that measures the trials: processes on this host, or Ray."""
    if spec.executor is not Executor.RAY:
        return LocalPool(len(spec.targets))
    return RayPool(
        folder / "ray",
        slots=len(spec.targets),
        producers=spec.workload.producers,
        cluster=_ray_cluster(spec, reporter),
        target=",".join(keys) or None,
        jobs=[(Placement(spec.placement, spec.consumer_zone), spec.workload.producers)],
        on_wait=partial(tell_waiting, reporter.say),
        tell=reporter.say,
    )


def _ray_cluster(spec: StudySpec, reporter: Reporter) -> RayCluster | None:
    """Return the Ray cluster that the study names; None if Ray is to be started on this host."""
    if spec.ray_address is None:
        reporter.say("starting Ray on this host")
        return None
    return RayCluster(
        spec.ray_address,
        spec.ray_code,
        spec.ray_wait_s,
        this_host_only=any(target.of_this_host_only for target in spec.targets),
    )
