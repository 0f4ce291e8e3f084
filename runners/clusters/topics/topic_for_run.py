"""Gives each run its topic: a new one that is deleted afterwards, or one of the user's (`WithTopic`)."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from typing_extensions import override

from runners.clusters.topics.owned_topics import OwnedTopics, Topic
from runners.errors import BrokerLost, RunnerError
from runners.measurements.measurement import Measurement
from runners.reporting import Say, silent
from runners.runner import Runner, Watch, go_on
from runners.workload import Workload
from search_spaces.configs.producer_config import ProducerConfig

DELETION_S: Final = 1.0
"""Longest time that the deletion of a topic takes. At most 0.7 s were measured, on 2 cores with 1 GB to delete."""

TopicFor = Callable[[Workload], contextlib.AbstractContextManager[Topic]]
"""A function that returns a context manager for one run of a workload; entering it gives the topic to write to."""


@dataclass(frozen=True, slots=True)
class WithTopic(Runner):
    """A runner that takes a topic for each run and gives the topic back afterwards, even if the run fails.

    The measurement has the partitions and the replicas of this topic, which may be one of the user's.

    Attributes:
        topic_for: Returns the context manager that provides a topic for one run.
        on_topic: Returns the runner that measures with a given topic.
    """

    topic_for: TopicFor
    on_topic: Callable[[Topic], Runner]

    @override
    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        with self.topic_for(workload) as topic:
            seen = self.on_topic(topic).run(config, workload, watch)
            return replace(seen, workload=replace(workload, partitions=topic.partitions, replication=topic.replication))


def owned_topic(
    topics: OwnedTopics,
    like: str | None = None,
    tell: Say = silent,
    *,
    overlapping: bool = False,
    configs: Mapping[str, str] | None = None,
) -> TopicFor:
    """Return a function that creates a topic for each run and deletes the topic afterwards.

    Unless `overlapping` is set, leaving the context also waits until the disk space of the deleted topic is free. After
    `BrokerLost` or Ctrl-C, the topic is deleted when `topics` is closed, which asks first whether the cluster answers.

    Args:
        topics: Creates and deletes the topics.
        like: Name of a topic whose partitions, replication and settings are copied; None uses the workload's partitions
            and replication.
        tell: Called with a warning if the disk space of a deleted topic was not free in time.
        overlapping: Whether a deletion may continue while the next run begins. A deletion takes up to a second, because
            the broker first writes the data to disk. By then the next run is still in its warm-up. There are never more
            than three topics at a time. Closing `topics` waits for the last deletion.
        configs: Topic configs that override those of `OwnedTopics.create`.
    """

    def await_deleted() -> None:
        for warning in topics.await_deleted():
            tell(warning)

    def delete(topic: Topic) -> None:
        await_deleted()
        topics.begin_delete(topic)
        if not overlapping:
            await_deleted()

    @contextlib.contextmanager
    def topic_for(workload: Workload) -> Iterator[Topic]:
        topic = topics.create(workload.partitions, workload.replication, configs, like=like)
        try:
            yield topic
        except BrokerLost:
            raise
        except RunnerError:
            with contextlib.suppress(RunnerError):  # the user should see the first error
                delete(topic)
            raise
        delete(topic)

    return topic_for


def named_topic(topics: OwnedTopics, name: str) -> TopicFor:
    """Return a function that always gives the user's topic `name`, which is written to and never deleted."""

    @contextlib.contextmanager
    def topic_for(_: Workload) -> Iterator[Topic]:
        yield topics.describe(name)

    return topic_for
