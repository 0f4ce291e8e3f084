"""Runs a whole study: opens the storage and the clusters, measures one record size after another, closes everything."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from runners.host_processes.clean_up import remove_folders_of_dead
from runners.reporting import counted
from runners.runner import Runner
from runners.simulated import SimulatedRunner
from runners.workload import Workload
from search_spaces.client_facts.sizes import DEFAULT_MAX_MESSAGE_BYTES
from tuner.confirmation.plan import (
    confirm_command_ended,
    confirmation_of_command,
    confirmation_of_search,
    has_begun,
)
from tuner.execution.budgets.budget import HOST_CLOCK, Budget, WallClock, deadline_of, refuse_passed_deadline
from tuner.execution.budgets.outlook import Outlook
from tuner.execution.environment import topic_shape
from tuner.execution.mirroring import Mirror
from tuner.execution.open_bench import BenchSpec, open_bench, removed_if_unmeasured
from tuner.execution.open_target import OpenTarget
from tuner.execution.studies.beginning import begin, confirm_limits, is_finished
from tuner.execution.studies.burn_in import BurnIn
from tuner.execution.studies.confirm import confirm
from tuner.execution.studies.search import MakeStrategy, search_size
from tuner.execution.studies.study_progress import Reporter
from tuner.execution.studies.study_trials import StudyTrials
from tuner.execution.trial_keeper import TrialKeeper, utc_now
from tuner.execution.trials.bench import Bench
from tuner.model.facts import (
    ALLOWED_LOSS,
    BASELINE_IN_GRID,
    FINISHED_AT,
    FORKED_FROM,
    RATES,
    RESERVED_BYTES,
    TOPIC_MAX_MESSAGE_BYTES,
    TOPIC_SHAPE,
    TOTALS,
)
from tuner.model.spec import Executor, StudySpec
from tuner.model.trial import Trial
from tuner.results.changed_constraints import judge_again
from tuner.results.search_state import SearchState
from tuner.results.study_results import StudyResults, results_of
from tuner.search.samplers import OwnSampler, strategy_of
from tuner.search.schedule import is_in_grid, trials_in_all
from tuner.storage.locations import storage_at
from tuner.storage.protocols import ResultsStore, Storage

_SIMULATED_NOISE_RATIO: Final = 0.03
_TOO_MANY: Final = "a study ends after {} trials in a row without a measurement"


def measure_study(
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
    clock: WallClock = HOST_CLOCK,
    mix_environments: bool = False,
) -> StudyResults:
    """Measure a study to its end; a study that already has trials is continued.

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
        searching: Whether to search. If False, only the best configs of the earlier search are confirmed again. This
            confirmation has no time limit: `search.hours` and `search.until` limit only the search and the confirmation
            that follows it.
        storage: Where the results are kept; by default the storage that the environment names.
        clock: Shows the time of day, with which `search.until` is compared, and waits until a round is due if the
            rounds are spread over time.
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
    spec.ray.check_zones(spec.placement, "executor.")
    storage = storage or storage_at()
    with ExitStack() as stack:
        # This runs at the end, because processes of a run that was killed just before this one may still be writing to
        # their folders now.
        stack.callback(remove_folders_of_dead)
        if searching:
            refuse_passed_deadline(spec, lambda: not storage.has(folder), clock)
        stack.enter_context(
            removed_if_unmeasured(storage, folder, spec.name, reporter.say, measured=partial(_is_needed, spec))
        )
        store = stack.enter_context(storage.drive(folder, spec.name, reporter.say))
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
            spec.space_of(size)
        timed = spec if searching else replace(spec, search=replace(spec.search, hours=None, until=None))
        deadline = deadline_of(spec, store, clock.now()) if searching else None
        make_budget = partial(Budget, timed.search, deadline=deadline, clock=clock)
        make_budget(()).check_deadline()
        begin(spec, study_text, store, reporter.say, searching=searching)
        options = {**confirm_limits(spec), "goals": [str(goal) for goal in spec.confirm.goals]}
        confirmation_id = confirmation_of_search(store) if searching else confirmation_of_command(store, options)
        if spec.rates_records_per_s:
            store.set_fact(RATES, {**spec.rates_records_per_s, **store.facts().get(RATES, {})})
        wanted = _bench_spec(spec, folder, simulated)
        stored = [trial for _, trial in store.trials()]
        keeper = TrialKeeper(store, mirror, spec.safety.max_failures_in_a_row, _TOO_MANY, len(stored))
        make_strategy = partial(strategy_of, spec, sampler=sampler)
        results = partial(results_of, store, folder)
        with keeper.telling_end():
            opening = open_bench(wanted, store, reporter.say, mirror, mix_environments=mix_environments)
            bench = stack.enter_context(opening)
            trials = _study_trials(timed, keeper, stored, bench, reporter, make_budget)
            if spec.search.max_bytes is not None:
                bench.on_interrupted = trials.count_interrupted
            topic_max = store.facts()[TOPIC_MAX_MESSAGE_BYTES]
            measure_sizes(trials, make_strategy, topic_max, confirmation_id, results, searching=searching)
            if not searching:
                confirm_command_ended(store)
        return results()


def _is_needed(spec: StudySpec, store: ResultsStore) -> bool:
    """Return whether a study has trials, or has sent bytes in an interrupted trial that `search.max_bytes` limits."""
    sent = spec.search.max_bytes is not None and any(store.facts().get(RESERVED_BYTES, {}).values())
    return sent or bool(store.trials())


def _study_trials(
    spec: StudySpec,
    keeper: TrialKeeper,
    trials: Sequence[Trial],
    bench: Bench,
    reporter: Reporter,
    make_budget: Callable[..., Budget],
) -> StudyTrials:
    facts = keeper.store.facts()
    searches = {
        size: SearchState(
            str(size),
            spec.objectives,
            judge_again(spec.constraints, [trial for trial in trials if trial.record_bytes == str(size)]),
        )
        for size in spec.workload.record_sizes
    }
    if trials:
        reporter.say(f"already stored: {counted(len(trials), 'trial')}; the study continues from there")
    # A forked study begins with trials of another study, which used no time and no bytes of this study's limits.
    own_trials = trials[facts.get(FORKED_FROM, {}).get("trials", 0) :]
    budget = make_budget(own_trials, reserved=facts.get(RESERVED_BYTES, {}))
    outlook = Outlook.after(trials, spec, searches, budget)
    return StudyTrials(spec, keeper.store, keeper, bench, reporter, searches, outlook)


def _bench_spec(spec: StudySpec, folder: Path, simulated: Runner | None) -> BenchSpec:
    """Return the clusters, clients and workers with which a study measures."""
    if simulated is None and spec.executor is Executor.SIMULATED:
        simulated = SimulatedRunner(_SIMULATED_NOISE_RATIO)
    load, on_ray = spec.workload, spec.executor is Executor.RAY
    return BenchSpec(
        name=spec.name,
        folder=folder,
        targets=spec.targets,
        clients=(spec.client, *spec.other_clients),
        most_replicas=(load.replication, "workload.replication (`--replication`)"),
        least_warmup_s=min(load.saturate.warmup_s, load.paced.warmup_s),
        broker_wait_s=spec.safety.broker_wait_s,
        topic_facts=partial(_topic_facts, load.saturating(load.record_sizes[0])),
        simulated=simulated,
        on_ray=on_ray,
        ray=spec.ray.cluster(spec.targets) if on_ray else None,
        ray_jobs=[(spec.placement, load.producers)],
    )


def _topic_facts(workload: Workload, target: OpenTarget | None) -> dict[str, Any]:
    """Return the largest message that topics of a cluster take, in bytes, and their partitions and replication."""
    if target is None:
        return {TOPIC_MAX_MESSAGE_BYTES: DEFAULT_MAX_MESSAGE_BYTES}
    with target.topic_for_run()(workload) as topic:
        return {TOPIC_MAX_MESSAGE_BYTES: topic.max_message_bytes, TOPIC_SHAPE: topic_shape(topic)}


def measure_sizes(
    trials: StudyTrials,
    make_strategy: MakeStrategy,
    topic_max_message_bytes: int,
    confirmation_id: str,
    results: Callable[[], StudyResults],
    *,
    searching: bool,
) -> None:
    """Search and confirm every record size of a study, continuing after the trials that are already stored.

    Args:
        trials: Runs the trials of the study.
        make_strategy: Creates the strategy that proposes configs, for each record size.
        topic_max_message_bytes: The size of the largest message that topics of the cluster accept
            (`max.message.bytes`).
        confirmation_id: The identifier of the confirmation that follows the search; see `tuner.confirmation.plan`.
        results: Returns the results of the study so far.
        searching: Whether to search; if not, only the configs that earlier runs found are confirmed.

    Raises:
        RunnerError: The cluster can't be used, or we stopped to protect it.
        TooManyFailures: Too many trials in a row gave no measurement.
    """
    spec, store, outlook = trials.spec, trials.store, trials.outlook
    burn_in = BurnIn(trials)
    space_at = partial(spec.space_of, topic_max_message_bytes=topic_max_message_bytes)
    sizes = spec.workload.record_sizes
    if searching:
        outlook.totals = {size: trials_in_all(spec.search, space_at(size), spec.baseline) for size in sizes}
        known = store.facts().get(TOTALS, {})
        store.set_fact(TOTALS, {**known, **{str(size): total for size, total in outlook.totals.items()}})
        if spec.search.searches_grid:
            steps = spec.search.grid_steps
            in_grid = {str(size): is_in_grid(spec.baseline, space_at(size), steps) for size in sizes}
            store.set_fact(BASELINE_IN_GRID, in_grid)
    for index, size in enumerate(sizes):
        for_others = outlook.budget.kept_for_others(len(sizes) - index)
        if searching and not has_begun(store, str(size), confirmation_id):
            search_size(trials, burn_in, make_strategy, size, space_at(size), for_others)
        confirm(trials, size, confirmation_id, burn_in, for_others)
        # After the last size, the caller shows the recommendations of all sizes.
        if size != sizes[-1] and has_begun(store, str(size), confirmation_id):
            trials.reporter.confirmed(results(), str(size))
    if searching:
        store.set_fact(FINISHED_AT, utc_now().isoformat(timespec="seconds"))
