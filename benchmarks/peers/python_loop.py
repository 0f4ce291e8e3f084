"""A load generator in plain Python: the producer loop of confluent-kafka's documentation, made as quick as possible.

One thread calls `produce()` with one delivery callback. It calls `poll(0)` every thousand records, and waits longer
when the client's queue is full. The values of the records come from the same pool as in our load generator.
"""

import multiprocessing
import time
from collections.abc import Mapping

from confluent_kafka import KafkaError, Message, Producer

from runners.load.payload import make_pool
from runners.workload import Workload

_POLL_EVERY = 1_000


def python_loop_throughput(properties: Mapping[str, str], topic: str, workload: Workload) -> float:
    """Measure in a new process how many records per second the plain Python loop gets acknowledged."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        return pool.apply(_run, (dict(properties), topic, workload))


def _run(properties: dict[str, str], topic: str, workload: Workload) -> float:
    pool = make_pool(workload.record_sizes, seed=workload.seed)
    values = [pool.value(index) for index in range(len(pool))]
    producer = Producer(properties)
    acknowledged = 0

    def delivered(error: KafkaError | None, _: Message) -> None:
        nonlocal acknowledged
        if error is None:
            acknowledged += 1

    def send(seconds: float) -> float:
        """Send records for the given seconds and return how many were acknowledged per second."""
        start, before, index = time.monotonic(), acknowledged, 0
        while time.monotonic() - start < seconds:
            for _ in range(_POLL_EVERY):
                try:
                    producer.produce(topic, values[index], on_delivery=delivered)
                except BufferError:
                    producer.poll(0.01)
                    continue
                index = (index + 1) % len(values)
            producer.poll(0)
        return (acknowledged - before) / (time.monotonic() - start)

    send(workload.warmup_s)
    rate = send(workload.measured_s)
    producer.purge()
    producer.flush(10)
    return rate
