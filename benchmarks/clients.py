"""The runner of a benchmark that measures with either client."""

from collections.abc import Iterator
from contextlib import contextmanager

from runners.java_client.java_runner import JavaRunner
from runners.runner import Runner
from runners.wrappers import Isolated, Leased, end_kept
from search_spaces.client import Kind
from search_spaces.producer_config import ProducerConfig
from tuner.course.open_target import OpenTarget


@contextmanager
def measuring(opened: OpenTarget, config: ProducerConfig) -> Iterator[Runner]:
    """Give a runner for the client of a config, with a topic of its own for each run.

    The process of the Java client is kept for the next run, and ended after the block.
    """
    if config.client.kind is Kind.LIBRDKAFKA:
        yield opened.runner()
        return
    try:
        yield Leased(opened.lease(), lambda topic: Isolated(JavaRunner(opened.cluster, topic), kept=True))
    finally:
        end_kept()
