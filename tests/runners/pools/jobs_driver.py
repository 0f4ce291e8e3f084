"""A driver in its own process: it runs the jobs in its argument on a Ray cluster and prints their results.

It is a program and not a module of the tests, so that workers find our code only if the tuner sends it to them.
"""

import json
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from runners.clusters.cluster import RunningCluster
from runners.clusters.topics.owned_topics import Topic
from runners.consumer_runs.with_consumers import TailConsumers
from runners.errors import RunnerError
from runners.librdkafka.librdkafka_runner import LibrdkafkaRunner
from runners.load.isolated import Isolated
from runners.measurements.measurement import Measurement, Window
from runners.pools.placement import Placement
from runners.pools.pool import Job
from runners.pools.ray_cluster import Code, RayCluster
from runners.pools.ray_pool import RayPool
from runners.runner import Runner, WatchDecision
from runners.simulated import SimulatedRunner
from runners.workload import RecordSizes, Workload
from search_spaces.configs.producer_config import ProducerConfig
from tuner.model.measurement_json import measurement_json


def measured(asked: dict[str, Any]) -> dict[str, Any]:
    """Run one job on a new pool."""
    told: list[str] = []
    answer: dict[str, Any] = {"told": told}
    workload = Workload(
        RecordSizes.fixed(1000),
        warmup_s=0.3,
        measured_s=asked.get("measured_s", 1.0),
        rate_records_per_s=2_000,
        partitions=4,
        consumers=asked.get("consumers", 0),
    )
    placement = Placement(tuple(asked.get("zones", ())), asked.get("consumer_zone"))
    try:
        cluster = RayCluster(asked["address"], Code(asked.get("code", "ship")), asked.get("wait_s", 60.0))
        with closing(
            RayPool(
                Path(),
                cluster=cluster,
                target="a",
                jobs=[(placement, asked["producers"])],
                job_modules=["tuner.execution.trials.trial_target", "tuner.execution.trials.stopping"],
                tell=told.append,
            )
        ) as pool:
            runners = (_runner(asked),) * asked["producers"]
            consumers = TailConsumers(*_topic_of(asked)) if workload.consumers else None
            pool.submit(
                Job("key", runners, ProducerConfig.parse({}), workload, consumers=consumers, placement=placement),
                lambda window: _window(asked, window),
            )
            done = pool.next_done()
            assert done is not None
            if not isinstance(done.outcome, Measurement):
                raise done.outcome
            answer |= {
                "worker": done.worker,
                "generator": done.outcome.origin.generator,
                "acknowledged": done.outcome.counts.acknowledged,
                "handed_over": done.outcome.counts.handed_over,
                "records": done.outcome.records,
                "attempts": done.attempts,
                "end_to_end": measurement_json(done.outcome)["end_to_end"],
            }
    except RunnerError as error:
        answer |= {"error": type(error).__name__, "message": str(error)}
    return answer


def _topic_of(asked: dict[str, Any]) -> tuple[RunningCluster, Topic]:
    topic = Topic(asked.get("topic", "ours"), partitions=4, replication=1)
    return RunningCluster("existing", asked["connection"]), topic


def _runner(asked: dict[str, Any]) -> Runner:
    if "connection" not in asked:
        return SimulatedRunner()
    return Isolated(LibrdkafkaRunner(*_topic_of(asked)), reuses_process=True)


def _window(asked: dict[str, Any], window: Window) -> WatchDecision:
    """Tell the test that the load runs."""
    if "tell_windows" in asked:
        sys.stdout.write(f"window {window.number}\n")
        sys.stdout.flush()
    return WatchDecision.GO_ON


if __name__ == "__main__":
    for each in json.loads(sys.argv[1]):
        sys.stdout.write(json.dumps(measured(each)) + "\n")
