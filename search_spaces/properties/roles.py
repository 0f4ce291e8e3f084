"""The roles that a property can have: part of the measured config, part of the connection, or reserved.

The clients' own lists of properties do not contain roles. Each client's folder assigns them, with a reason.
"""

import re
from enum import StrEnum
from typing import Final


class Role(StrEnum):
    """Who sets a property.

    `PRODUCER` properties form the config that is measured and tuned. `CONNECTION` properties say how to reach the
    cluster and how to log in. They come from `--command-config` and never enter a fingerprint, MLflow or a
    recommendation. `RESERVED` properties are set by the load generator, or would make measurements incomparable.
    """

    PRODUCER = "producer"
    CONNECTION = "connection"
    RESERVED = "reserved"


CONNECTION_REASON: Final = (
    "it is about the connection to the cluster, not about producing; leave it out, or put it in the file with the "
    "connection settings (--command-config) of a command that connects"
)
PRODUCER_REASON: Final = "it is a knob of the producer; put it in the config that is measured"
TRANSACTIONS_REASON: Final = "the load generator does not use transactions; leave it out"

TRANSACTIONAL_ID: Final = "transactional.id"
TRANSACTION_TIMEOUT: Final = "transaction.timeout.ms"

# This matches more names than the client's own secrets on purpose: messages may also show the properties of other
# clients, and misspelt names.
_SECRET: Final = re.compile(
    r"pass?w|passphrase|pwd|secret|credential|jaas|token(?!\.endpoint)|private[._]?key"
    r"|ssl[._]key(?!\.location|store\.location)|keystore\.key|sasl\.oauthbearer\.config|sasl\.oauthbearer\.extensions|user\.info",
    re.IGNORECASE,
)
_PUBLIC: Final = frozenset({"sasl.oauthbearer.client.credentials.client.id"})


def is_secret(name: str) -> bool:
    """Return whether the value of the property `name` must never be shown, logged or recorded.

    This covers the Java client's properties and plausible misspellings too.
    """
    return name not in _PUBLIC and _SECRET.search(name) is not None
