"""A runner that has a topic only while it runs."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Final

from runners.clusters.topics import OwnedTopics, Topic
from runners.measurement import Measurement
from runners.reporting import Say, silent
from runners.runner import Runner, Watch, go_on
from runners.workload import Workload
from search_spaces.producer_config import ProducerConfig

DELETION_S: Final = 1.0
"""A deletion is over by then: measured at most 0.7 s, on 2 cores with 1 GB to delete."""

Lease = Callable[[Workload], AbstractContextManager[Topic]]
"""Gives a topic fit for a workload; leaving the context gives it back."""


@dataclass(frozen=True, slots=True)
class Leased:
    """Takes a topic for each run and gives it back, however the run ends.

    Attributes:
        lease: Where topics come from.
        on_topic: Makes the runner that measures on a topic.
    """

    lease: Lease
    on_topic: Callable[[Topic], Runner]

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        """See `Runner.run`."""
        with self.lease(workload) as topic:
            return self.on_topic(topic).run(config, workload, watch)


def owned_topic(
    topics: OwnedTopics, like: str | None = None, tell: Say = silent, *, overlapping: bool = False
) -> Lease:
    """A new topic for each run, deleted after it with its space awaited.

    Args:
        topics: Creates and deletes them.
        like: A topic whose partitions, replication and settings are copied; the workload's are not read then.
        tell: Told where its space was not free in time.
        overlapping: Whether a deletion may go on while the next run begins: it takes up to a second (the broker has
            the data synced first), and a warm-up counts for nothing. There are never more than three topics; whoever
            closes `topics` awaits the last one.
    """

    def await_deleted() -> None:
        for warning in topics.await_deleted():
            tell(warning)

    @contextmanager
    def lease(workload: Workload) -> Iterator[Topic]:
        topic = topics.create(workload.partitions, workload.replication, like=like)
        try:
            yield topic
        finally:
            await_deleted()
            topics.begin_delete(topic)
            if not overlapping:
                await_deleted()

    return lease


def named_topic(topics: OwnedTopics, name: str) -> Lease:
    """A topic of the user's, which is written to and never deleted."""

    @contextmanager
    def lease(_: Workload) -> Iterator[Topic]:
        yield topics.describe(name)

    return lease
