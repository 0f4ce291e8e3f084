"""The value in force for a property: the one given, or the default, which may be derived from others."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from search_spaces.catalogue import load_catalogue

# Source: RD_KAFKA_IDEMP_MAX_INFLIGHT, a broker keeps the last five batches of each producer to recognise
# repeats.
IDEMPOTENT_MAX_IN_FLIGHT: Final = 5
_STICKY_LIMIT_MS: Final = 900_000


class Effective:
    """A look at given values through the client's defaults. Names may be aliases.

    Source of the derived defaults: `rd_kafka_conf_finalize` of librdkafka, and `rd_kafka_conf_get` on a
    producer constructed with 2.16.0, which the tests compare with. One is left out: `connections.max.idle.ms`
    becomes 230,000 when the address of the cluster contains "azure".
    """

    __slots__ = ("_given",)

    def __init__(self, given: Mapping[str, str]) -> None:
        """Look at `given`, canonical values by canonical name."""
        self._given = given

    def is_given(self, name: str) -> bool:
        """Whether the config itself sets the property."""
        return load_catalogue().find(name).name in self._given

    def text(self, name: str) -> str:
        """Return the value in force; "" when the client has neither value nor default.

        Raises:
            UnknownProperty: the client has no such property.
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
                # From the linger before it is lowered: the client derives this one first.
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
