"""The rules between the knobs of the Java client, and their conditions."""

from collections.abc import Callable
from typing import Final

from search_spaces.client_facts.effective_values import EffectiveValues
from search_spaces.client_facts.knobs import IDEMPOTENCE, IN_FLIGHT
from search_spaces.client_facts.rules import (
    IDEMPOTENT_MAX_IN_FLIGHT,
    Condition,
    Rule,
    RuleOutcome,
    idempotence_limits_in_flight,
    idempotence_needs_acks_all,
    idempotence_needs_retries,
    show,
    transactional_needs_idempotence,
)
from search_spaces.java_client.levels import LEVEL_PROPERTIES, LEVELS_SINCE
from search_spaces.java_client.versions import Minor
from search_spaces.properties.catalogue import INT_MAX

ADAPTIVE: Final = "partitioner.adaptive.partitioning.enable"
AVAILABILITY: Final = "partitioner.availability.timeout.ms"
PARTITIONER: Final = "partitioner.class"
IGNORE_KEYS: Final = "partitioner.ignore.keys"
_OWN_PARTITIONERS: Final = "org.apache.kafka.clients.producer."
_REFUSED: Final = "kafka-clients refuses to create the producer"
_SILENT: Final = "kafka-clients accepts it but does not do it"

# The adaptive partitioner arrived with 3.3 (KIP-794). Since 4.0, more than five requests in flight no longer switch
# idempotence off.
ADAPTIVE_SINCE: Final[Minor] = (3, 3)
_IN_FLIGHT_REFUSED_SINCE: Final[Minor] = (4, 0)


def rules_of(minor: Minor) -> tuple[Rule, ...]:
    """Return the rules of a minor version."""
    refuses = minor >= _IN_FLIGHT_REFUSED_SINCE
    rules: tuple[Rule, ...] = (*_ALWAYS, _IN_FLIGHT_4 if refuses else _IN_FLIGHT_3)
    if minor >= ADAPTIVE_SINCE:
        rules = (*rules, *_PARTITIONING)
    if minor >= LEVELS_SINCE:
        # The client refuses the level 0 with every codec, so this rule comes before those that set levels aside.
        rules = (_GZIP_LEVEL, *rules, *(_level_needs(codec) for codec in LEVEL_PROPERTIES))
    return rules


def _delivery_below(config: EffectiveValues) -> str | None:
    # Source: KafkaProducer.configureDeliveryTimeout, which lowers the sum to what an int holds.
    least_ms = min(INT_MAX, config.integer("linger.ms") + config.integer("request.timeout.ms"))
    if not config.is_given("delivery.timeout.ms") or config.integer("delivery.timeout.ms") >= least_ms:
        return None
    return show(config, "delivery.timeout.ms", "linger.ms", "request.timeout.ms")


def _too_many_in_flight(config: EffectiveValues) -> str | None:
    # The client checks this before acks and retries switch idempotence off, so the stated value counts.
    asked = config.stated(IDEMPOTENCE) == "true"
    if not asked or config.integer(IN_FLIGHT) <= IDEMPOTENT_MAX_IN_FLIGHT:
        return None
    return show(config, IDEMPOTENCE, IN_FLIGHT) if config.is_given(IDEMPOTENCE) else show(config, IN_FLIGHT)


def _foreign_partitioner(config: EffectiveValues) -> str | None:
    if not config.is_given(PARTITIONER) or config.text(PARTITIONER).startswith(_OWN_PARTITIONERS):
        return None
    return show(config, PARTITIONER)


def _given_but(name: str, other: str, holds: Callable[[EffectiveValues], bool]) -> Condition:
    """Return the condition of a rule that a config breaks if it gives `name` although `holds` returns False."""
    return lambda config: show(config, name, other) if config.is_given(name) and not holds(config) else None


def _level_needs(codec: str) -> Rule:
    level = LEVEL_PROPERTIES[codec]
    return Rule(
        name=f"{codec}-level-needs-{codec}",
        knobs=("compression.type", level),
        statement=f"{level} has an effect only with compression.type={codec}",
        source=_SILENT,
        broken=_given_but(level, "compression.type", lambda config: config.text("compression.type") == codec),
        idle=level,
        outcome=RuleOutcome.IGNORED,
    )


def _needs_default_partitioner(name: str) -> Rule:
    return Rule(
        name=f"default-partitioner-for-{name.split('.')[1]}",
        knobs=(name, PARTITIONER),
        statement=f"{name} has an effect only with the client's default partitioner",
        source="KIP-794; the description of the property in kafka-clients",
        broken=_given_but(name, PARTITIONER, lambda config: not config.is_given(PARTITIONER)),
        idle=name,
        outcome=RuleOutcome.IGNORED,
    )


_ALWAYS: Final = (
    idempotence_needs_acks_all(_REFUSED),
    idempotence_needs_retries(_REFUSED),
    Rule(
        name="delivery-covers-linger-and-request",
        knobs=("delivery.timeout.ms", "linger.ms", "request.timeout.ms"),
        statement="delivery.timeout.ms must be at least linger.ms + request.timeout.ms",
        source=f"{_REFUSED}, but raises a delivery.timeout.ms that is not given",
        broken=_delivery_below,
    ),
    Rule(
        name="batch-within-buffer",
        knobs=("batch.size", "buffer.memory"),
        statement="a batch must fit in buffer.memory, from which the client takes it",
        source="BufferPool.allocate of kafka-clients: every send() fails",
        broken=lambda config: (
            show(config, "batch.size", "buffer.memory")
            if config.integer("batch.size") > config.integer("buffer.memory")
            else None
        ),
    ),
    Rule(
        name="partitioner-of-the-client",
        knobs=(PARTITIONER,),
        statement="partitioner.class must be one of the client's own, because the load generator has no other code",
        source="the load generator's class path",
        broken=_foreign_partitioner,
        idle=PARTITIONER,
        outcome=RuleOutcome.UNMEASURED,
    ),
)
_IN_FLIGHT_3: Final = idempotence_limits_in_flight(_REFUSED, IN_FLIGHT)
_IN_FLIGHT_4: Final = Rule(
    name="idempotence-limits-in-flight",
    knobs=(IDEMPOTENCE, IN_FLIGHT),
    statement=(
        f"an idempotent producer may have at most {IDEMPOTENT_MAX_IN_FLIGHT} requests in flight, and a Java producer "
        "since 4.0 counts as idempotent unless it sets enable.idempotence=false"
    ),
    source=_REFUSED,
    broken=_too_many_in_flight,
)
_PARTITIONING: Final = (
    _needs_default_partitioner(ADAPTIVE),
    _needs_default_partitioner(AVAILABILITY),
    Rule(
        name="availability-needs-adaptive",
        knobs=(ADAPTIVE, AVAILABILITY),
        statement=f"{AVAILABILITY} has an effect only with {ADAPTIVE}=true",
        source="the description of the property in kafka-clients",
        broken=_given_but(AVAILABILITY, ADAPTIVE, lambda config: config.flag(ADAPTIVE)),
        idle=AVAILABILITY,
        outcome=RuleOutcome.IGNORED,
    ),
    _needs_default_partitioner(IGNORE_KEYS),
)
_GZIP_LEVEL: Final = Rule(
    name="gzip-has-no-level-0",
    knobs=("compression.gzip.level",),
    statement="compression.gzip.level must be 1 to 9, or -1 for the codec's default",
    source=_REFUSED,
    broken=lambda config: (
        show(config, "compression.gzip.level") if config.integer("compression.gzip.level") == 0 else None
    ),
)
TRANSACTION_RULES: Final = (transactional_needs_idempotence(_REFUSED),)
"""The rules of transactional producers."""
