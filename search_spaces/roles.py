"""Where each property of librdkafka belongs: in the measured config, with the connection, or with neither.

The catalogue of the library does not say this; it is our decision, one line each, with its reason.
"""

import re
from enum import StrEnum
from typing import Final


class Role(StrEnum):
    """Who sets a property.

    `PRODUCER` properties are what is measured and tuned. `CONNECTION` properties say how to reach the cluster
    and as whom; they come from `--command-config` and never enter a fingerprint, a tracker or a
    recommendation. `RESERVED` ones are set by the load generator, or would change what a measurement means.
    """

    PRODUCER = "producer"
    CONNECTION = "connection"
    RESERVED = "reserved"


CONNECTION_REASON: Final = (
    "it says how to reach the cluster and as whom, not how to produce; put it in the file given as --command-config"
)
PRODUCER_REASON: Final = "it is a knob of the producer; put it in the config that is measured"

_CONNECTION_NAMES: Final = frozenset(
    {
        "bootstrap.servers",
        # Quotas are given to a client id, and operators look for it: it identifies, it does not tune.
        "client.id",
        "client.rack",
        "client.dns.lookup",
        "security.protocol",
    }
)
_CONNECTION_PREFIXES: Final = ("ssl.", "https.", "sasl.", "enable.ssl.", "enable.sasl.", "broker.address.")

_CODE: Final = "it is set by a call of the client's library, not by text"
_LOG: Final = "the load generator reads the client's log itself"
_UNUSED: Final = "the client takes it and no longer uses it; leave it out"
_OLD_BROKERS: Final = "it is for brokers before 0.10 and will be removed; leave it out"
_TOPICS: Final = "the runner creates and chooses the topics itself"
_TRANSACTIONS: Final = "the load generator does not write in transactions"
_RESERVED: Final = {
    "allow.auto.create.topics": _TOPICS,
    "topic.blacklist": _TOPICS,
    "builtin.features": "it describes the build of the client",
    "debug": _LOG,
    "log_level": _LOG,
    "log.queue": _LOG,
    "log.thread.name": _LOG,
    "log.connection.close": _LOG,
    "delivery.report.only.error": "without the report of every record nothing can be counted or timed",
    "enable.gapless.guarantee": "it is experimental, and ends the producer under test at the first gap",
    "enable.random.seed": "the load generator seeds its own payloads; this one seeds the process",
    "enabled_events": "the load generator chooses the events it reads",
    "internal.termination.signal": "the load generator ends its clients itself",
    "plugin.library.paths": "it loads native code into the load generator",
    "statistics.interval.ms": "the load generator reads the client's statistics at its own interval",
    "transactional.id": _TRANSACTIONS,
    "transaction.timeout.ms": _TRANSACTIONS,
    "api.version.request": _OLD_BROKERS,
    "api.version.fallback.ms": _OLD_BROKERS,
    "broker.version.fallback": _OLD_BROKERS,
    "produce.offset.report": _UNUSED,
    "reconnect.backoff.jitter.ms": _UNUSED,
    "socket.blocking.max.ms": _UNUSED,
    "topic.metadata.refresh.fast.cnt": _UNUSED,
}
_MOCK_PREFIX: Final = "test.mock."

# Wider than the list of the client's secrets on purpose: names of other clients and misspellings reach
# messages too.
_SECRET: Final = re.compile(
    r"pass?w|passphrase|pwd|secret|credential|jaas|token(?!\.endpoint)|private[._]?key"
    r"|ssl[._]key(?!\.location|store\.location)|keystore\.key|sasl\.oauthbearer\.config|sasl\.oauthbearer\.extensions|user\.info",
    re.IGNORECASE,
)
_PUBLIC: Final = frozenset({"sasl.oauthbearer.client.credentials.client.id"})


def is_secret(name: str) -> bool:
    """Say whether the value of the property `name` must never be shown, logged or recorded.

    Holds for the names of the Java client and for plausible misspellings too.
    """
    return name not in _PUBLIC and _SECRET.search(name) is not None


def role_of(name: str, *, producer: bool, pointer: bool) -> tuple[Role, str]:
    """Return the role of a canonical property name and the reason to give when it stands in the wrong place.

    Args:
        name: the canonical name.
        producer: whether the client uses the property in a producer at all.
        pointer: whether the property holds a pointer or a callback.
    """
    if pointer:
        return Role.RESERVED, _CODE
    if name.startswith(_MOCK_PREFIX):
        return Role.RESERVED, "it swaps the cluster for one inside the client; the runner chooses the cluster"
    if not producer:
        return Role.RESERVED, "it is a property of consumers, and a producer ignores it; leave it out"
    if name in _RESERVED:
        return Role.RESERVED, _RESERVED[name]
    if name in _CONNECTION_NAMES or name.startswith(_CONNECTION_PREFIXES):
        return Role.CONNECTION, CONNECTION_REASON
    return Role.PRODUCER, PRODUCER_REASON
