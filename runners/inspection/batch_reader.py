"""Reads record batches as they lie on the brokers, with the classes of Kafka's Java client.

The batches are fetched, decompressed and compressed again in a Java process, which sends us only sizes, times and ids.
So no content of a record reaches this process. We use the Java client because it has all codecs and the same security
settings as the cluster's other users; the Python clients that show batches support fewer codecs and fewer of these
settings.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Final, Self

from runners.clusters.topics.stored_topics import BrokerAddress
from runners.errors import BrokerLost, GeneratorError, TargetRefused
from runners.inspection.record_batch import BatchSequence, MergedBatches, RecordBatch
from runners.java_client.compiled import INSPECTOR, CompiledProgram
from runners.java_client.jvm import Jvm, Message
from runners.reporting import Say, silent
from search_spaces.client import java
from search_spaces.connection.java_connection import connection_for_java

MERGE_WAIT_MS: Final = 20
"""Batches of a producer are merged if their records were created within this time."""
MERGE_BYTES: Final = 65_536
"""The largest size of a merged batch, without compression."""
_HEAP_BYTES: Final = 512 << 20
_PATIENCE_S: Final = 120.0
_CLIENT_ID: Final = "kafka-tuner-inspect"
_CLOSED: Final = "EOFException"
_CURRENT_FORMAT: Final = 2


class ResponseNotRead(BrokerLost):
    """The connection closed before a response had come: the broker ended it, or the response was too large for us."""


@dataclass(frozen=True, slots=True)
class FetchRange:
    """A range of a partition that is to be read.

    Attributes:
        topic: The name of the topic.
        partition: The number of the partition.
        offset: The first batch to read is the one that holds this offset.
        end: Reading ends before this offset: no batch is read that begins here or later.
        most_bytes: The highest number of bytes. A larger batch is read only if this range is the first one of the
            request that has records.
    """

    topic: str
    partition: int
    offset: int
    end: int
    most_bytes: int


@dataclass(frozen=True, slots=True)
class FetchedBatches:
    """The batches of one partition in a broker's response.

    Attributes:
        sequence: The batches of the response, in the order of their offsets.
        next_offset: The offset after the last one; None if there was none.
        first_offset: The first offset of the first one; None if there was none.
        error: Kafka's name of the error; empty if there was none.
    """

    sequence: BatchSequence = field(default_factory=BatchSequence)
    next_offset: int | None = None
    first_offset: int | None = None
    error: str = ""


class BatchReader:
    """A Java process that is connected to the brokers of a cluster."""

    def __init__(
        self,
        connection: Mapping[str, str],
        brokers: Iterable[BrokerAddress],
        most_response_bytes: int,
        progress: Say = silent,
    ) -> None:
        """Start the process. It connects to a broker when it first reads from it.

        Args:
            connection: Client properties under librdkafka's names.
            brokers: The brokers to read from.
            most_response_bytes: If a response is larger, the connection is closed and the response is not received.
            progress: Receives the progress of a download.

        Raises:
            TargetRefused: The Java client does not take the connection's properties.
            JavaNotFound: No Java runtime is usable.
            JarsUnavailable: The jars of the Java client could not be fetched.
            UnknownProperty: A property of the connection has no counterpart in the Java client.
            InvalidValue: A property has a value that the Java client does not accept.
        """
        version = java().version
        properties = connection_for_java(connection, version)
        program = CompiledProgram.prepare(version, progress, INSPECTOR)
        program.check_login(connection.get("security.protocol", "plaintext"))
        with ExitStack() as stack:
            self._jvm = stack.enter_context(Jvm(program, _HEAP_BYTES))
            self.received_bytes = 0
            answer = self._answer(
                {
                    "do": "connect",
                    "properties": properties,
                    "client_id": _CLIENT_ID,
                    "brokers": [{"id": each.id, "host": each.host, "port": each.port} for each in set(brokers)],
                    "most_response_bytes": most_response_bytes,
                }
            )
            if answer["is"] == "refused":
                raise TargetRefused(
                    f"the connection's properties must be valid for the Java client, which reads record batches, but "
                    f"it reports: {answer['because']}; correct them"
                )
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def fetch(self, broker: BrokerAddress, ranges: Sequence[FetchRange], most_bytes: int) -> list[FetchedBatches]:
        """Ask a broker for the batches of some ranges in one request, and return them in the order of the ranges.

        Args:
            broker: The broker that leads the partitions.
            ranges: The ranges to read.
            most_bytes: The highest number of bytes of all ranges together. The first batch may be larger.

        Raises:
            ResponseNotRead: The connection was closed before the response had come.
            BrokerLost: The broker did not answer.
            TargetRefused: The broker refused us.
        """
        answer = self._answer(
            {
                "do": "fetch",
                "broker": broker.id,
                "most_bytes": most_bytes,
                "merge_wait_ms": MERGE_WAIT_MS,
                "merge_bytes": MERGE_BYTES,
                "partitions": [
                    {
                        "topic": each.topic,
                        "partition": each.partition,
                        "offset": each.offset,
                        "end": each.end,
                        "most_bytes": each.most_bytes,
                    }
                    for each in ranges
                ],
            }
        )
        if answer["is"] == "refused":
            raise _refusal(answer, broker)
        self.received_bytes = int(answer["received_bytes"])
        partitions = {(each["topic"], each["partition"]): each for each in answer["partitions"]}
        return [_fetched(partitions.get((each.topic, each.partition), {"error": "UNKNOWN"})) for each in ranges]

    def _answer(self, command: Message) -> Message:
        try:
            self._jvm.send(command)
            return self._jvm.receive(_PATIENCE_S)
        except TimeoutError:
            raise BrokerLost(
                f"no broker sent record batches within {_PATIENCE_S:.0f} s; check that the brokers are running"
            ) from None
        except GeneratorError as error:
            raise GeneratorError(f"the process that reads record batches ended too early: {error}") from None


def _refusal(answer: Message, broker: BrokerAddress) -> Exception:
    address, because = f"{broker.host}:{broker.port}", str(answer["because"]).rstrip(".")
    if answer["kind"] == _CLOSED:
        return ResponseNotRead(f"broker {address} closed the connection before it sent record batches: {because}")
    if "Authentication" in answer["kind"] or "Authorization" in answer["kind"]:
        return TargetRefused(f"broker {address} refused the Java client: {because}")
    return BrokerLost(f"broker {address} sent no record batches: {because}; check that it is running")


def _fetched(message: Message) -> FetchedBatches:
    if "error" in message:
        return FetchedBatches(error=str(message["error"]))
    batches: list[Mapping[str, Any]] = message["batches"]
    usable, set_aside = [], Counter[str]()
    for batch in batches:
        if reason := _unusable(batch):
            set_aside[reason] += 1
        else:
            usable.append(_batch(batch))
    merged = sum((_merged(batch) for batch in message["merged"]), MergedBatches())
    return FetchedBatches(
        BatchSequence(tuple(usable), merged, dict(set_aside)),
        next_offset=batches[-1]["last_offset"] + 1 if batches else None,
        first_offset=batches[0]["base_offset"] if batches else None,
    )


def _unusable(message: Mapping[str, Any]) -> str:
    """Return why a batch does not show how its producer batches records; empty if it does."""
    if message["format"] < _CURRENT_FORMAT:
        return "old format"
    if message["damaged"]:
        return "damaged"
    if message["control"]:
        return "control"
    if "plain_bytes" not in message:
        return "too large"
    return "" if message["whole"] else "compacted"


def _batch(message: Mapping[str, Any]) -> RecordBatch:
    return RecordBatch(
        base_offset=message["base_offset"],
        last_offset=message["last_offset"],
        records=message["records"],
        bytes=message["bytes"],
        plain_bytes=message["plain_bytes"],
        codec=message["codec"],
        producer_id=message["producer_id"] if message["producer_id"] >= 0 else None,
        transactional=message["transactional"],
        first_created_ms=message["first_created_ms"],
        last_created_ms=message["last_created_ms"],
        appended_ms=message.get("appended_ms"),
        first_record_bytes=message["first_record_bytes"],
        coded_bytes=message["coded"],
    )


def _merged(message: Mapping[str, Any]) -> MergedBatches:
    return MergedBatches(
        message["batches"], 1, message["records"], message["bytes"], message["plain_bytes"], message["coded"]
    )
