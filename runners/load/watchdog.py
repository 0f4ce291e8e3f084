"""Raises an error that names the cause, within seconds, when a measurement is no longer possible."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, Protocol, Self

from runners.clock import NS_PER_S, Clock
from runners.clusters.brokers.memory import LEAST_FREE_MEMORY_BYTES, in_memory, room_bytes
from runners.clusters.cluster import LocalBroker, RunningCluster
from runners.errors import BrokerLost, DeliveryFailed, DiskTooFull, RunnerError, TargetRefused, WorkloadRefused
from runners.host.probe import free_disk_bytes
from runners.host_processes.processes import runs
from runners.load.pause_detector import PauseDetector
from runners.reporting import counted
from runners.runner import DEFAULT_LIMITS, Limits
from search_spaces.client_facts.limits import SMALLER_RECORDS
from search_spaces.configs.producer_config import ProducerConfig

STALL_PATIENCE_S: Final = 15.0
_FLUSH_PATIENCE_S: Final = 60.0
_DISK_EVERY_S: Final = 0.5

PermanentErrors = tuple[tuple[frozenset[str], type[RunnerError], str], ...]
"""Groups of errors that no retry can change, each with the exception to raise and its message.

Names in capitals are librdkafka's, the others are exceptions of the Java client. If several groups match, the first
group is used. The message has a place for the names that matched.
"""

WRITE_ERRORS: Final[PermanentErrors] = (
    (
        frozenset(
            {
                *("MSG_SIZE_TOO_LARGE", "RECORD_LIST_TOO_LARGE", "INVALID_MSG"),
                *("RecordTooLargeException", "RecordBatchTooLargeException"),
            }
        ),
        WorkloadRefused,
        f"every record must fit the topic's max.message.bytes, but the broker answered {{}}; {SMALLER_RECORDS}",
    ),
    (  # Source: `LogValidator` of Kafka 4.3
        frozenset({"INVALID_RECORD", "InvalidRecordException"}),
        WorkloadRefused,
        "the topic must accept the records, but the broker answered {}; if it is compacted, its records need keys "
        "(--key-bytes, or key_bytes in a file)",
    ),
    (
        frozenset(
            {
                *("TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED"),
                *("TRANSACTIONAL_ID_AUTHORIZATION_FAILED", "TopicAuthorizationException"),
                "ClusterAuthorizationException",
            }
        ),
        TargetRefused,
        "the user must have permission to write to the topic, but the broker answered {}; grant WRITE on it, or name "
        "another topic (--topic)",
    ),
    (
        frozenset({"SaslAuthenticationException", "SslAuthenticationException"}),
        TargetRefused,
        "the cluster must accept the login, but the client reports {}; check the connection file",
    ),
    (
        frozenset(
            {
                *("INVALID_REQUIRED_ACKS", "UNSUPPORTED_COMPRESSION_TYPE", "POLICY_VIOLATION"),
                *("InvalidRequiredAcksException", "UnsupportedCompressionTypeException", "PolicyViolationException"),
                "UnsupportedVersionException",
            }
        ),
        TargetRefused,
        "the broker must accept the config, but it answered {}; change the config, or the settings of the broker",
    ),
    (
        frozenset(
            {"UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION", "UnknownTopicOrPartitionException"}
        ),
        BrokerLost,
        "the topic is gone: the broker answered {}; check whether the topic was deleted",
    ),
)
"""The errors of a broker's answers to a producer that no retry can change."""

_DOWN_SIGNS: Final = (
    *("_ALL_BROKERS_DOWN", "_TRANSPORT", "_RESOLVE"),
    *("could not be established", "Couldn't resolve server", "disconnected"),
)
"""Parts of the messages of a client without a connection: librdkafka's errors, and texts of Java's `NetworkClient`."""
_KILLED: Final = (
    "; the broker's process does not run any more: check whether it was killed, for example because memory ran out"
)
"""What a message about a lost broker says if no broker process of this host runs."""


def any_runs(brokers: Sequence[LocalBroker]) -> bool:
    """Return whether any of these local brokers still runs; true if there are none, because all are remote."""
    return not brokers or any(runs(broker.pid) for broker in brokers)


class DeliveryReport(Protocol):
    """The deliveries and errors that a client has reported so far.

    Attributes:
        acknowledged: Number of successful deliveries.
        failed: Number of records that the client gave up, by the client's name for the error.
        fatal: The error after which the client can't send any more; None if there was none.
    """

    @property
    def acknowledged(self) -> int: ...  # noqa: D102
    @property
    def failed(self) -> Mapping[str, int]: ...  # noqa: D102
    @property
    def fatal(self) -> str | None: ...  # noqa: D102

    @property
    def done(self) -> int:
        """Number of records whose delivery has succeeded or failed."""

    def complaints(self) -> list[str]:
        """Return the client's error messages since a record was last acknowledged, oldest first."""


def check_delivered(report: DeliveryReport) -> None:
    """Check that a load, which has ended, has delivered at least one record.

    Raises:
        DeliveryFailed: The client gave up all records.
    """
    if not report.acknowledged:
        raise DeliveryFailed(f"no record was delivered, because the client gave up all of them: {dict(report.failed)}")


@dataclass(slots=True)
class Watchdog:
    """Checks a few times a second whether the records that are sent or read can still give a measurement.

    Attributes:
        clock: The clock of the load.
        stall_patience_s: Longest time in seconds without any delivery while the client still holds records.
        outage_s: Longest time in seconds without any delivery while brokers are down.
        disks: Folders on the disks that local brokers write to.
        min_free_disk_bytes: Free space that must remain on these disks.
        broker_alive: Function that returns whether any local broker still runs. It returns true if all brokers are
            remote.
        pause_detector: Raises an error if this process stood still.
        permanent: The errors that make a measurement impossible.
        silence: The error message if no delivery comes for too long, with the placeholders `silent_s` and
            `waiting`, which stands for the number of records, such as `7 records`.
    """

    clock: Clock
    stall_patience_s: float
    outage_s: float = DEFAULT_LIMITS.outage_s
    disks: tuple[Path, ...] = ()
    min_free_disk_bytes: int = DEFAULT_LIMITS.min_free_disk_bytes
    broker_alive: Callable[[], bool] = field(default=lambda: True)
    pause_detector: PauseDetector = field(default_factory=PauseDetector)
    permanent: PermanentErrors = WRITE_ERRORS
    silence: str = "no deliveries came for {silent_s:.0f} s while {waiting} waited; "
    _acknowledged: int = -1
    _acknowledged_ns: int = 0
    _done: int = -1
    _done_ns: int = 0
    _disk_ns: int = 0
    _flush_ns: int = 0
    _failed_before: int | None = None

    @classmethod
    def for_run(
        cls,
        cluster: RunningCluster,
        limits: Limits,
        config: ProducerConfig,
        clock: Clock,
    ) -> Self:
        """Return the watchdog of a run of this config on this cluster.

        Args:
            cluster: The cluster to send to.
            limits: The limits of the run.
            config: The config to measure. A record may wait for its `linger.ms` before anything is delivered.
            clock: The clock of the load.
        """
        brokers = cluster.local_brokers
        return cls(
            clock,
            stall_patience_s=max(STALL_PATIENCE_S, limits.outage_s) + config.linger_ms / 1e3,
            outage_s=limits.outage_s + config.linger_ms / 1e3,
            disks=tuple(broker.log_dir for broker in brokers if broker.log_dir is not None),
            min_free_disk_bytes=limits.min_free_disk_bytes,
            broker_alive=partial(any_runs, brokers),
        )

    def check(self, report: DeliveryReport, waiting: int) -> None:
        """Raise an error if missing deliveries, client errors or full disks make the measurement impossible.

        Args:
            report: The counters of deliveries and the client's error messages.
            waiting: Number of records that were handed to the client and whose delivery has not arrived yet.

        Raises:
            WorkloadRefused: Records break a limit of the topic.
            TargetRefused: Permission to write to the topic is missing, or the broker refuses the config.
            BrokerLost: No more deliveries arrive.
            DeliveryFailed: The client can't send any more.
            DiskTooFull: A local broker's disk is nearly full.
            LoadPaused: This process stood still.
        """
        self.pause_detector.check()  # first, because deliveries seem to be missing after a pause
        self._check_errors(report)
        self._check_deliveries(report, waiting)
        self._check_disk()

    def _check_errors(self, report: DeliveryReport) -> None:
        if report.fatal is not None:
            raise DeliveryFailed(f"the client stopped for good: {report.fatal}")
        for answers, error, sentence in self.permanent:
            if found := answers.intersection(report.failed):
                raise error(sentence.format(", ".join(found)))

    def _check_deliveries(self, report: DeliveryReport, waiting: int) -> None:
        now = self.clock.now_ns()
        if report.acknowledged != self._acknowledged or not waiting:
            self._acknowledged, self._acknowledged_ns = report.acknowledged, now
        if report.done != self._done or not waiting:
            self._done, self._done_ns = report.done, now
        complaints, alive = report.complaints(), self.broker_alive()
        down = any(sign in text for text in complaints for sign in _DOWN_SIGNS) or not alive
        # Records that time out are deliveries too, but while all brokers are down they don't show that a broker lives.
        silent_s = (now - (self._acknowledged_ns if down else self._done_ns)) / NS_PER_S
        if silent_s > (self.outage_s if down else self.stall_patience_s):
            cause = complaints[-1] if complaints else "the client reports no error"
            killed = "" if alive else _KILLED
            raise BrokerLost(
                self.silence.format(silent_s=silent_s, waiting=counted(waiting, "record")) + cause + killed
            )

    def _check_disk(self) -> None:
        now = self.clock.now_ns()
        if not self.disks or now - self._disk_ns < _DISK_EVERY_S * NS_PER_S:
            return
        self._disk_ns = now
        if any(map(in_memory, self.disks)) and (memory := room_bytes()) < LEAST_FREE_MEMORY_BYTES:
            raise DiskTooFull(
                f"the broker's data lies in memory, which must keep {LEAST_FREE_MEMORY_BYTES / 1e9:.1f} GB free, but "
                f"has {memory / 1e9:.1f} GB free; end other programs, or set TMPDIR to a folder on a disk"
            )
        free = free_disk_bytes(disk for disk in self.disks if not in_memory(disk))
        if free is not None and free < self.min_free_disk_bytes:
            raise DiskTooFull(
                f"the broker's disk must keep {self.min_free_disk_bytes / 1e9:.1f} GB free, but has "
                f"{free / 1e9:.1f} GB free; free some space, or send less (--max-bytes, --seconds)"
            )

    def flush_is_over(self, report: DeliveryReport) -> bool:
        """Return whether we have waited too long for the last deliveries, so that the client should give them up.

        The wait begins with the first call of this method.
        """
        now = self.clock.now_ns()
        self._flush_ns = self._flush_ns or now
        over = now - self._flush_ns > _FLUSH_PATIENCE_S * NS_PER_S
        if over and self._failed_before is None:
            self._failed_before = sum(report.failed.values())
        return over

    def purged(self, report: DeliveryReport) -> int:
        """Return how many records the client has given up since the flush was over."""
        return 0 if self._failed_before is None else sum(report.failed.values()) - self._failed_before
