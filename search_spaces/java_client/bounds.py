"""The dependencies between the values of the Java client's knobs."""

from functools import lru_cache
from typing import Final

from search_spaces.client_facts.bounds import UNBOUNDED, Bounds, Ordering
from search_spaces.client_facts.effective_values import EffectiveValues
from search_spaces.client_facts.knobs import IDEMPOTENCE, IN_FLIGHT
from search_spaces.client_facts.rules import IDEMPOTENT_MAX_IN_FLIGHT
from search_spaces.client_facts.sizes import Sizes
from search_spaces.java_client.levels import LEVEL_PROPERTIES
from search_spaces.java_client.limits import BUFFER, LARGEST, most_buffer_bytes
from search_spaces.java_client.rules import ADAPTIVE, AVAILABILITY

_PARTITIONS_RULE: Final = "buffer-holds-a-batch-per-partition"
_COVERS: Final = "delivery-covers-linger-and-request"
_TIMEOUT: Final = "delivery.timeout.ms"
_REQUEST: Final = "request.timeout.ms"


@lru_cache
def _orderings(sizes: Sizes) -> tuple[Ordering, ...]:
    # Not a rule of the client. But with a smaller buffer, send() waits for the batches of other partitions. With more
    # partitions than the largest buffer has room for, the rule can't hold for all of them.
    room = max(1, most_buffer_bytes(sizes) // sizes.batch_low_bytes)
    open_batches = max(1, min(sizes.partitions, room))
    return (
        Ordering("batch.size", BUFFER, _PARTITIONS_RULE, factor=1 / open_batches),
        Ordering("linger.ms", _TIMEOUT, _COVERS, plus=_REQUEST, if_given=True, with_default=True),
        Ordering(_REQUEST, _TIMEOUT, _COVERS, plus="linger.ms", if_given=True, with_default=True),
    )


def _adjusted(config: EffectiveValues, sizes: Sizes) -> dict[str, str]:
    """Return new values of properties, by name, so that client and topic accept the config's batches and records.

    A `max.request.size` that is too small for the record is raised, and a `batch.size` that the topic does not accept
    is lowered, unless the config gives them. If other values switch idempotence off, the config says so, because
    releases since 4.0 otherwise refuse more than five requests in flight.
    """
    following: dict[str, str] = {}
    if not config.is_given(LARGEST) and sizes.message_bytes > config.integer(LARGEST):
        following[LARGEST] = str(sizes.message_bytes)
    if not config.is_given("batch.size") and config.integer("batch.size") > sizes.topic_max_message_bytes:
        following["batch.size"] = str(sizes.topic_max_message_bytes)
    if config.stated(IDEMPOTENCE) == "true" and not config.flag(IDEMPOTENCE):
        following[IDEMPOTENCE] = "false"
    return following


BOUNDS: Final = Bounds(
    orderings=_orderings,
    idempotent_numbers={IN_FLIGHT: (1, IDEMPOTENT_MAX_IN_FLIGHT), "retries": (1, UNBOUNDED[1])},
    idempotent_words={},
    drawn_early=("retries", _TIMEOUT),
    drawn_late=(_REQUEST,),
    adjusted=_adjusted,
    undone_with=dict.fromkeys(LEVEL_PROPERTIES.values(), "compression.type"),
    statements={_PARTITIONS_RULE: "buffer.memory must hold a batch for each partition, or send() waits for room"},
    needs={AVAILABILITY: (ADAPTIVE, "true")},
)
