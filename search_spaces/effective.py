"""The values in force in a config: the values that it sets, and the client's defaults for all other properties.

The client derives some defaults from other properties.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from search_spaces.catalogue import load_catalogue

# A broker remembers the last five batches of each producer to recognise repeats.
# Source: RD_KAFKA_IDEMP_MAX_INFLIGHT of librdkafka.
IDEMPOTENT_MAX_IN_FLIGHT: Final = 5
_STICKY_LIMIT_MS: Final = 900_000


class Effective:
    """The values in force in a config: the given values, and the client's defaults for all other properties.

    Methods accept aliases as property names.

    Source of the derived defaults: `rd_kafka_conf_finalize` of librdkafka. The tests compare them with what
    `rd_kafka_conf_get` of 2.16.0 returns for a producer. One derived default is left out here: librdkafka sets
    `connections.max.idle.ms` to 230,000 if the cluster's address contains "azure".
    """

    __slots__ = ("_given",)

    def __init__(self, given: Mapping[str, str]) -> None:
        """Take the config's given values: canonical values by canonical name."""
        self._given = given

    def is_given(self, name: str) -> bool:
        """Return whether the config itself sets the property."""
        return load_catalogue().find(name).name in self._given

    def text(self, name: str) -> str:
        """Return the value in force; "" if the property is not given and has no default.

        Raises:
            UnknownProperty: The client has no such property.
        """
        entry = load_catalogue().find(name)
        if entry.name in self._given:
            return self._given[entry.name]
        return self._derived(entry.name) or entry.default or ""

    def number(self, name: str) -> float:
        """Return the value in force of a numeric property, in the unit that its name gives."""
        return float(self.text(name))

    def integer(self, name: str) -> int:
        """Return the value in force of an integer property, in the unit that its name gives."""
        return int(self.text(name))

    def flag(self, name: str) -> bool:
        """Return the value in force of a boolean property."""
        return self.text(name) == "true"

    def _derived(self, name: str) -> str | None:
        match name:
            case "max.in.flight.requests.per.connection" if self.flag("enable.idempotence"):
                return str(IDEMPOTENT_MAX_IN_FLIGHT)
            case "sticky.partitioning.linger.ms":
                # The client derives this default before it lowers linger.ms, so the unlowered value counts.
                return str(min(_STICKY_LIMIT_MS, int(2 * self._linger_before_lowering())))
            case "linger.ms":
                return self._lowered_linger()
            case "metadata.max.age.ms":
                refresh_ms = self.integer("topic.metadata.refresh.interval.ms")
                return str(3 * refresh_ms) if refresh_ms > 0 else None
            case "topic.metadata.refresh.fast.interval.ms":
                return self.text("retry.backoff.ms")
            case "allow.auto.create.topics":
                return "true"
            case _:
                return None

    def _linger_before_lowering(self) -> Decimal:
        entry = load_catalogue().find("linger.ms")
        return Decimal(self._given.get(entry.name, entry.default or "0"))

    def _lowered_linger(self) -> str | None:
        timeout_ms = self.integer("delivery.timeout.ms")
        if timeout_ms == 0 or timeout_ms > self._linger_before_lowering():
            return None
        return str(timeout_ms - Decimal("0.1"))
