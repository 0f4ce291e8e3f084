"""All errors that `runners` raises, and what the caller should do about each of them.

    RunnerError
    ├── TargetError                 the cluster can't be used as requested                         (exit 3)
    │   ├── TargetUnreachable       no broker answers; check the address, the network and the broker
    │   ├── TargetRefused           security settings are wrong or ACLs are missing; fix the connection file or the ACLs
    │   └── BrokerLost              a broker that answered before has stopped answering; retry when it is back
    ├── EmbeddedBrokerError         the broker that we start ourselves can't be used               (exit 1)
    │   ├── JavaNotFound            there is no usable Java runtime
    │   ├── JarsUnavailable         jars could not be fetched; run again when the network is back
    │   └── BrokerDidNotStart       the broker process ended or did not answer; the message names its log
    ├── WorkloadRefused             the workload breaks a limit of the client or of the topic      (exit 2)
    ├── SafetyStop                  we stopped the run ourselves to protect the cluster            (exit 4)
    │   ├── ByteBudgetExceeded      the run would write more bytes than it may
    │   └── DiskTooFull             the broker's disk is nearly full
    ├── DeliveryFailed              the client gave up on records, so there is no measurement      (exit 1)
    └── GeneratorError              the load generator failed: a defect, or an unsuitable client library (exit 1)
        ├── WorkerLost              its process was killed, ran out of memory or hangs; run it again
        │   └── ConsumersLost       so was the Ray worker that ran the consumers
        ├── LoadPaused              its process stood still for a while, so what it measured is wrong; run it again
        └── RayUnfit                the Ray cluster lacks zones, cores or the right versions; change it or the study

A message about wrong input states the rule first, then the values, then what to do. A message about a failure states
what happened, and then what to do.
"""

from collections.abc import Iterator
from contextlib import contextmanager


class RunnerError(Exception):
    """Base class of all errors that `runners` raises on purpose.

    Attributes:
        sent_bytes: Bytes of values and keys that the run had sent before this error; None if unknown.
    """

    sent_bytes: int | None = None


class TargetError(RunnerError):
    """The Kafka cluster that should be measured can't be used as requested."""


class TargetUnreachable(TargetError):
    """No broker answers at the given address."""


class TargetRefused(TargetError):
    """The cluster answered but refused a request, because of its security settings or missing permissions."""


class BrokerLost(TargetError):
    """A broker answered at first and stopped answering during the run."""


class EmbeddedBrokerError(RunnerError):
    """The broker that we start ourselves could not be used."""


class JavaNotFound(EmbeddedBrokerError):
    """There is no usable Java runtime."""


class JarsUnavailable(EmbeddedBrokerError):
    """Jars of Kafka, of its Java client or of the Java compiler could not be fetched, or they are damaged."""


class BrokerDidNotStart(EmbeddedBrokerError):
    """The broker process ended, or it did not accept connections in time."""


class WorkloadRefused(RunnerError):
    """The workload breaks a limit of the client, of the topic or of the load generator."""


class SafetyStop(RunnerError):
    """The tuner itself stopped the run, to protect the cluster that is measured."""


class ByteBudgetExceeded(SafetyStop):
    """The run reached the number of bytes that it may send."""


class DiskTooFull(SafetyStop):
    """The disk that holds the broker's log is nearly full."""


class DeliveryFailed(RunnerError):
    """The client library gave up on records for good, so the run gave no measurement."""


class GeneratorError(RunnerError):
    """The load generator failed, not the cluster."""


class WorkerLost(GeneratorError):
    """The process that ran the load generator ended without reporting an error, or it gave no sign for too long."""


class ConsumersLost(WorkerLost):
    """The Ray worker that ran the consumers ended, or its node left."""


class LoadPaused(GeneratorError):
    """The process that ran the load generator stood still for a while, and so did the measurement."""


class RayUnfit(GeneratorError):
    """The running Ray cluster can't be used as requested."""


@contextmanager
def signals_unwrapped() -> Iterator[None]:
    """Raise the original exception of a signal handler if code written in C has wrapped it in a `SystemError`.

    Python raises a `SystemError` if a handler raises while such code runs, as in Ray, SQLite or NumPy.
    """
    try:
        yield
    except SystemError as error:
        if error.__cause__ is None:
            raise
        raise error.__cause__ from None
