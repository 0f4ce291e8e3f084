"""Opens the clusters and the workers that a study or an experiment needs, and closes them, also after an error.

A new study or experiment is removed again if nothing was measured.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from runners.clusters.topics.topic_for_run import DELETION_S
from runners.errors import RunnerError, WorkloadRefused
from runners.host_processes.locks import target_lock
from runners.pools.local_pool import LocalPool
from runners.pools.placement import Placement
from runners.pools.pool import Pool
from runners.pools.ray_cluster import RayCluster
from runners.pools.ray_pool import RayPool
from runners.reporting import Say, counted
from runners.runner import Runner
from search_spaces.client import Client
from tuner.execution.environment import check_environment, environment_facts
from tuner.execution.mirroring import Mirror, finish_mirror
from tuner.execution.open_target import OpenTarget, lock_key, open_target, tell_waiting
from tuner.execution.trials.bench import Bench
from tuner.execution.trials.stopping import PhaseRule
from tuner.execution.trials.trial_target import ClusterTarget, SimulatedTarget, TrialTarget
from tuner.model.errors import StudyError
from tuner.model.facts import CLIENT_VERSION, CLUSTER, CLUSTER_IDS
from tuner.model.study_files import RAY_FOLDER
from tuner.model.target import Target
from tuner.model.trial import TrialKind
from tuner.storage.folder_files import removed_if_empty
from tuner.storage.protocols import ResultsStore, Storage


@dataclass(frozen=True, slots=True)
class BenchSpec:
    """The clusters, clients and workers with which a study or an experiment measures.

    Attributes:
        name: The name of the study or experiment.
        folder: The folder of its files.
        targets: The clusters; each measures one trial at a time.
        clients: The clients that are measured.
        most_replicas: The most replicas of a partition that its topics have, and the key that asks for them.
        least_warmup_s: The shortest warm-up of its loads, in seconds.
        broker_wait_s: How long to wait for a lost broker.
        topic_facts: Takes the first cluster and returns what is stored about its topics. The argument is None if the
            cluster is simulated.
        simulated: The runner that stands in for the clusters; None to measure on the clusters.
        on_ray: Whether workers of Ray measure the trials; otherwise, processes on this host do.
        ray: The existing Ray cluster whose nodes run the loads; None to start Ray on this host.
        ray_jobs: Where the trials run on a Ray cluster, and with how many producers.
    """

    name: str
    folder: Path
    targets: Sequence[Target]
    clients: Sequence[Client]
    most_replicas: tuple[int, str]
    least_warmup_s: float
    broker_wait_s: float
    topic_facts: Callable[[OpenTarget | None], Mapping[str, Any]]
    simulated: Runner | None
    on_ray: bool
    ray: RayCluster | None
    ray_jobs: Sequence[tuple[Placement, int]]


@contextmanager
def open_bench(
    spec: BenchSpec, store: ResultsStore, say: Say, mirror: Mirror | None, *, mix_environments: bool
) -> Iterator[Bench]:
    """Open the clusters and the workers of a study or an experiment, and yield the bench that measures its trials.

    The facts about the environment are stored, and the results are copied to the mirror.

    Raises:
        StudyChanged: The stored trials come from another environment, and `mix_environments` does not allow that.
        RunnerError: The clusters or the workers can't be used.
    """
    with ExitStack() as stack:
        if mirror is not None:
            stack.push(partial(finish_mirror, mirror, spec.name, say))
        is_real, elsewhere = spec.simulated is None, spec.ray is not None
        keys = sorted({lock_key(target) for target in spec.targets}) if is_real else []
        # Connect to an existing Ray cluster before the targets are opened, because it may lack the nodes that the study
        # needs. Ray on this host is started after the targets, because its start takes seconds.
        existing_pool = stack.enter_context(closing(_pool(spec, keys, say))) if elsewhere else None
        targets, facts = _targets(spec, stack, keys, say)
        check_environment(spec.name, store, facts, loads_here=not elsewhere, mix=mix_environments)
        for name, value in facts.items():
            store.set_fact(name, value)
        # Topics are deleted only after all loads have ended, as a broker that creates topics automatically would create
        # them again for a load that still sends.
        topics = stack.enter_context(ExitStack())
        # A pool that was opened above is entered a second time, so that it too is closed before `bench`.
        pool = stack.enter_context(closing(existing_pool or _pool(spec, keys, say)))
        bench = Bench(targets, pool, store.lost_leases, store.await_lease)
        topics.callback(bench.close)
        bench.on_recovered = partial(_record_replaced_cluster, spec, store, targets, say)
        # MLflow is not touched before the clusters can be used, because most errors come before this.
        if mirror is not None:
            mirror.start(store.set_fact)
        yield bench


def _targets(
    spec: BenchSpec, stack: ExitStack, keys: Sequence[str], say: Say
) -> tuple[list[TrialTarget], dict[str, Any]]:
    """Lock the clusters (targets) and open them; `keys` are the names of their locks.

    Returns:
        The targets, and the facts about the environment and the topics.
    """
    if spec.simulated is not None:
        nowhere: TrialTarget = SimulatedTarget(spec.simulated)
        return [nowhere] * len(spec.targets), {**environment_facts(()), **spec.topic_facts(None)}
    for key in keys:
        stack.enter_context(target_lock(key, spec.name, partial(tell_waiting, say)))
    targets: list[ClusterTarget] = []
    for target in spec.targets:
        trial_target = ClusterTarget(
            partial(open_target, target, say, spec.clients[0], spec.clients[1:]),
            spec.broker_wait_s,
            say,
            time.sleep,
            overlapping=spec.least_warmup_s >= DELETION_S,
        )
        stack.callback(trial_target.close)
        targets.append(trial_target)
        _check_replicas(*spec.most_replicas, trial_target.opened)
    of_topics = spec.topic_facts(targets[0].opened)
    facts = environment_facts([each.opened for each in targets], on_ray=spec.ray is not None)
    return list(targets), {**facts, **of_topics}


def _check_replicas(replicas: int, key: str, opened: OpenTarget) -> None:
    """Refuse more replicas than a user's cluster has brokers, before anything is measured or copied to MLflow.

    The brokers that we start are counted when the file is read.
    """
    target = opened.target
    if target.bootstrap is None or target.topic is not None or target.like is not None:
        return
    if replicas > (brokers := opened.topics.brokers()):
        raise WorkloadRefused(
            f"replication must be at most the number of brokers, but {key} is {replicas} and the cluster "
            f"{target.bootstrap} has {counted(brokers, 'broker')}; lower replication, or use a cluster with at least "
            f"{replicas} brokers"
        )


def _record_replaced_cluster(spec: BenchSpec, store: ResultsStore, targets: Sequence[TrialTarget], say: Say) -> None:
    """Store and tell the change if a lost broker came back without its data, and so with another cluster id."""
    opened = [each.opened for each in targets if isinstance(each, ClusterTarget)]
    facts = environment_facts(opened, on_ray=spec.ray is not None)
    if change := check_environment(spec.name, store, facts, loads_here=spec.ray is None, mix=True):
        say(f"{change}; trials before and after this can't be compared well")
    if all(facts[CLUSTER_IDS]):  # an id is unknown if the cluster is ours, or does not respond again
        store.set_fact(CLUSTER, facts[CLUSTER])
        store.set_fact(CLUSTER_IDS, facts[CLUSTER_IDS])


def _pool(spec: BenchSpec, keys: Sequence[str], say: Say) -> Pool:
    """Return the pool of workers that measures the trials: processes on this host, or Ray.

    Raises:
        RayUnfit: The Ray cluster lacks nodes for a trial.
    """
    if not spec.on_ray:
        return LocalPool(len(spec.targets))
    if spec.ray is None:
        say("starting Ray on this host")
    return RayPool(
        spec.folder / RAY_FOLDER,
        slots=len(spec.targets),
        cluster=spec.ray,
        target=",".join(keys) or None,
        jobs=spec.ray_jobs,
        job_modules=(TrialTarget.__module__, PhaseRule.__module__),  # the modules of the objects in a job
        on_wait=partial(tell_waiting, say),
        tell=say,
    )


@contextmanager
def removed_if_unmeasured(
    storage: Storage, folder: Path, name: str, say: Say, *, measured: Callable[[ResultsStore], bool]
) -> Iterator[None]:
    """Run the block, and remove the study that it creates if an error or Ctrl-C ends it before anything was measured.

    The usual causes are a mistyped address or topic, and a Docker engine that does not run. A study or a folder that
    was there before is kept, also the folder of all studies.

    Args:
        storage: Where the study is stored.
        folder: The folder of its files.
        name: Its name.
        say: Tells the user that the study is not kept.
        measured: Whether the store of the study holds something that a later run needs.
    """
    is_new = not folder.exists() and not storage.has(folder)
    with removed_if_empty(folder.parent):
        try:
            yield
        except BaseException as error:
            if is_new:
                with suppress(StudyError):  # the error from the block tells the user more than this one
                    with closing(storage.read(folder)) as store:
                        kept = measured(store)
                        # The facts about the environment are stored as soon as the cluster has answered.
                        unreached = isinstance(error, RunnerError) and CLIENT_VERSION not in store.facts()
                    if not kept:
                        storage.remove(folder, name, say)
                        why = "its cluster could not be used" if unreached else "nothing that counts was measured"
                        say(f"{name} is not kept, because {why}")
            raise


def counts(store: ResultsStore) -> bool:
    """Return whether a store has a measurement that counts, or one that failed; a burn-in run does not count."""
    return any(trial.kind is not TrialKind.BURN_IN or trial.error for _, trial in store.trials())
