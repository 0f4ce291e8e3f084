"""Everything that can go wrong in `runners`, and what the caller then does.

    RunnerError
    ├── TargetError                 the cluster can't be used as asked          (exit 3)
    │   ├── TargetUnreachable       no broker answers; check address, network, broker
    │   ├── TargetRefused           wrong security settings or missing rights; fix the connection file or ACLs
    │   └── BrokerLost              a broker that answered stopped answering; retry when it is back
    ├── EmbeddedBrokerError         the broker that we start ourselves          (exit 1)
    │   ├── JavaNotFound            no Java runtime is usable
    │   ├── JarsUnavailable         Kafka's jars could not be fetched; run again when the network is back
    │   └── BrokerDidNotStart       the process ended or stayed silent; its log is named
    ├── WorkloadRefused             the workload breaks a limit of client or topic (exit 2)
    ├── SafetyStop                  we stopped ourselves to protect the target  (exit 4)
    │   ├── ByteBudgetExceeded      the run would write more than it may
    │   └── DiskTooFull             the broker's disk is about to run full
    ├── DeliveryFailed              the client gave records up; the measurement is a failure (exit 1)
    └── GeneratorError              the load generator itself failed: a defect or an unfit client library (exit 1)
        ├── WorkerLost              the process that ran it died without a word: killed, or out of memory; run it again
        └── RayUnfit                the Ray cluster can't be used as asked: zones, room, versions; change one of the two

Every message states the rule first, then the values, then what to do.
"""


class RunnerError(Exception):
    """Base of all errors that `runners` raises on purpose."""


class TargetError(RunnerError):
    """The cluster can't be used as asked."""


class TargetUnreachable(TargetError):  # noqa: N818 - names say what happened
    """No broker answers at the address given."""


class TargetRefused(TargetError):  # noqa: N818
    """The cluster answered and said no: security settings or rights."""


class BrokerLost(TargetError):  # noqa: N818
    """A broker that answered stopped answering during the run."""


class EmbeddedBrokerError(RunnerError):
    """The broker that we start ourselves could not be used."""


class JavaNotFound(EmbeddedBrokerError):  # noqa: N818
    """No usable Java runtime."""


class JarsUnavailable(EmbeddedBrokerError):  # noqa: N818
    """Kafka's jars could not be fetched or are damaged."""


class BrokerDidNotStart(EmbeddedBrokerError):  # noqa: N818
    """The broker process ended, or did not accept connections in time."""


class WorkloadRefused(RunnerError):  # noqa: N818
    """The workload breaks a limit of the client, of the topic or of the load generator."""


class SafetyStop(RunnerError):  # noqa: N818
    """We stopped the run ourselves to protect the target."""


class ByteBudgetExceeded(SafetyStop):
    """The run reached the number of bytes that it may send."""


class DiskTooFull(SafetyStop):
    """The disk that holds the broker's log is about to run full."""


class DeliveryFailed(RunnerError):  # noqa: N818
    """The client gave records up for good."""


class GeneratorError(RunnerError):
    """The load generator itself failed."""


class WorkerLost(GeneratorError):  # noqa: N818
    """The process that ran the load generator died without a word."""


class RayUnfit(GeneratorError):  # noqa: N818
    """The Ray cluster that runs can't be used as asked."""
