"""Dependencies between knobs: how the value of one knob limits the range of another.

A search space draws only configs that keep the rules between knobs. For example, `linger.ms` must stay below
`delivery.timeout.ms`. The space first draws the knob that is the bound, and then limits the range of the other knob to
the drawn value. The limited range is never empty, because the range of the bound starts no lower than the range of the
other knob. Before anything is drawn, `narrow` cuts the ranges of a space to the values that the rules and the guarantee
allow. If a knob has no value left, `narrow` raises `EmptySpace`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from search_spaces.domains import Words
from search_spaces.effective import IDEMPOTENT_MAX_IN_FLIGHT, Effective
from search_spaces.errors import EmptySpace, InvalidKnob
from search_spaces.knobs import IDEMPOTENCE, IN_FLIGHT, KNOBS, LEVEL, LEVEL_KNOBS
from search_spaces.parameters import Parameter
from search_spaces.producer_config import Guarantee
from search_spaces.record_size import QUEUE_KBYTES, QUEUE_MESSAGES, Sizes
from search_spaces.rules import RULES

UNBOUNDED: Final = (float("-inf"), float("inf"))
STRATEGY: Final = "queuing.strategy"
BACKPRESSURE: Final = "queue.buffering.backpressure.threshold"
# Knobs whose ranges depend on idempotence, with the lowest and highest number that an idempotent producer allows.
IDEMPOTENT_BOUNDS: Final = {
    IN_FLIGHT: (1, IDEMPOTENT_MAX_IN_FLIGHT),
    "retries": (1, UNBOUNDED[1]),
    BACKPRESSURE: (1, 1),
}
SAFETY: Final = ("acks", IDEMPOTENCE, "retries", STRATEGY, BACKPRESSURE, IN_FLIGHT)
Parameters = dict[str, Parameter]
Values = dict[str, str]


@dataclass(frozen=True, slots=True)
class Ordering:
    """A rule that bounds one property by another: `small + gap <= large * factor`.

    Attributes:
        small: The property that is bounded.
        large: The property that bounds `small`.
        rule: The name of the rule that this ordering keeps.
        factor: How many units of `small` make one unit of `large`.
        gap: How far `small` must stay below the bound, in the unit of `small`.
        unlimited: The value of `large` that means "no limit"; None if there is none.
        with_default: Whether the rule also applies if `small` has its default value.
    """

    small: str
    large: str
    rule: str
    factor: float = 1
    gap: float = 0
    unlimited: float | None = None
    with_default: bool = False


@lru_cache
def orderings(sizes: Sizes) -> tuple[Ordering, ...]:
    """Return the rules by which one numeric property bounds another, for the given sizes of records and topic."""
    timeout, backoff = "delivery.timeout.ms", "retry.backoff.max.ms"
    refresh = "topic.metadata.refresh.fast.interval.ms"
    return (
        Ordering("message.max.bytes", QUEUE_KBYTES, "message-within-queue-bytes", factor=1024),
        Ordering("batch.size", QUEUE_KBYTES, "batch-within-queue-bytes", factor=1024),
        Ordering("batch.size", "message.max.bytes", "batch-within-message-max"),
        # Not a rule of the client. But a batch that the queue can't fill waits for linger.ms with the queue full.
        Ordering("batch.size", QUEUE_MESSAGES, FILL_RULE, factor=sizes.in_batch_bytes, unlimited=0),
        Ordering("batch.num.messages", QUEUE_MESSAGES, "batch-within-queue-messages", unlimited=0),
        Ordering("linger.ms", timeout, "linger-within-delivery-timeout", gap=1, unlimited=0),
        Ordering("request.timeout.ms", timeout, "request-timeout-within-delivery-timeout", unlimited=0),
        Ordering("request.timeout.ms", "socket.timeout.ms", "request-timeout-within-socket-timeout"),
        Ordering("retry.backoff.ms", backoff, "retry-backoff-within-limit"),
        Ordering(refresh, backoff, "metadata-backoff-within-limit"),
        Ordering(
            "reconnect.backoff.ms", "reconnect.backoff.max.ms", "reconnect-backoff-within-limit", with_default=True
        ),
    )


FILL_RULE: Final = "queue-fills-a-batch"
STATEMENTS: Final = {
    **{rule.name: rule.statement for rule in RULES},
    FILL_RULE: "the queue must hold the records of one full batch",
}
# Properties that are not in KNOBS but bound a knob. If a study searches them, they are drawn before most knobs.
_FIRST: Final = ("retries", STRATEGY, BACKPRESSURE, "delivery.timeout.ms", "socket.timeout.ms")
_LAST: Final = ("request.timeout.ms", "retry.backoff.ms", "topic.metadata.refresh.fast.interval.ms")


def ties(sizes: Sizes) -> tuple[frozenset[str], ...]:
    """Return the groups of knobs whose ranges or effects depend on each other."""
    pairs = (frozenset({ordering.small, ordering.large}) for ordering in orderings(sizes))
    return frozenset(SAFETY), frozenset({"compression.type", *LEVEL_KNOBS}), *pairs


def drawing_order(name: str) -> tuple[int, str]:
    """Return a knob's sort key for the order in which knobs are drawn: a knob comes before the knobs that it bounds."""
    knobs = [knob.name for knob in KNOBS]
    order = [*knobs[:2], *_FIRST, *knobs[2:], "retry.backoff.max.ms", "reconnect.backoff.max.ms", *_LAST]
    return (order.index(name) if name in order else len(order)), name


def bounds(name: str, so_far: Effective, sizes: Sizes, floor: Guarantee) -> tuple[float, float]:
    """Return the lowest and the highest value allowed for a numeric knob, given the values already drawn.

    Args:
        name: The knob's name.
        so_far: The fixed values, and the values drawn before this knob.
        sizes: The sizes of records and of the topic.
        floor: The weakest guarantee that the config may have.
    """
    low, high = UNBOUNDED
    if so_far.flag(IDEMPOTENCE):
        low, high = IDEMPOTENT_BOUNDS.get(name, UNBOUNDED)
    elif name == IN_FLIGHT and floor.ordered and so_far.integer("retries") > 0:
        high = 1
    for ordering in orderings(sizes):
        if ordering.small == name:
            high = min(high, limit(ordering, so_far))
    return low, high


def limit(ordering: Ordering, config: Effective) -> float:
    """Return the largest value that `ordering` allows for its smaller property in `config`."""
    if ordering.large == "message.max.bytes" and not config.is_given(ordering.large):
        return UNBOUNDED[1]
    large = config.number(ordering.large)
    return UNBOUNDED[1] if large == ordering.unlimited else large * ordering.factor - ordering.gap


def follow(config: Effective, sizes: Sizes) -> dict[str, str]:
    """Return new values of properties, by name, so that client and topic accept the config's batches and records.

    If a batch or the record is larger than the default of `message.max.bytes`, this property is raised. If the config
    leaves `batch.size` at its default and the topic does not accept batches of that size, `batch.size` is lowered.
    """
    following: dict[str, str] = {}
    needed = sizes.message_bytes
    if config.is_given("batch.size"):
        needed = max(needed, config.integer("batch.size"))
    elif config.integer("batch.size") > sizes.topic_max_message_bytes:
        limits = (limit(ordering, config) for ordering in orderings(sizes) if ordering.small == "batch.size")
        following["batch.size"] = str(int(min(sizes.topic_max_message_bytes, *limits)))
    if not config.is_given("message.max.bytes") and needed > config.integer("message.max.bytes"):
        following["message.max.bytes"] = str(needed)
    return following


def is_drawn(name: str, so_far: Effective) -> bool:
    """Return whether to draw a value for a knob: only if the knob has an effect, given the values drawn before it."""
    if name == IDEMPOTENCE:
        return so_far.integer("acks") == -1
    if name == STRATEGY:
        return not so_far.flag(IDEMPOTENCE)
    if name.startswith(f"{LEVEL}."):
        return name == f"{LEVEL}.{so_far.text('compression.type')}"
    return True


def narrow(parameters: Parameters, fixed: Values, sizes: Sizes, floor: Guarantee) -> None:
    """Remove from the parameters, in place, all values that the rules or the guarantee exclude.

    A parameter with only one value left moves to `fixed`.

    Args:
        parameters: The parameters of the search space, by name.
        fixed: The values that every config has.
        sizes: The sizes of records and of the topic.
        floor: The weakest guarantee that a config may have.

    Raises:
        EmptySpace: A knob has no value left.
    """
    _keep_guarantee(parameters, fixed, sizes, floor)
    # A chain of orderings has two links at most, so a cut at one end has reached the other end after three rounds.
    for _ in range(3):
        for ordering in orderings(sizes):
            _keep_ordering(parameters, fixed, ordering)
    for name, parameter in list(parameters.items()):
        value = parameter.domain.only
        if name not in LEVEL_KNOBS and value is not None:
            del parameters[name]
            if value != Effective(fixed).text(parameter.sets):
                fixed[parameter.sets] = value


def check_acks(acks: Parameter | None, floor: Guarantee) -> None:
    """Check that the study file's choices for acks keep the required guarantee.

    Without choices in the study file, the default choices that promise too little are dropped silently. But a choice
    that the user wrote is refused, so that nobody wonders why it was never tried.

    Args:
        acks: The parameter for acks; None if acks is not searched.
        floor: The weakest guarantee that a config may have.

    Raises:
        InvalidKnob: A choice promises less than `floor`.
        InvalidValue: A choice is a number of replicas, such as 2.
    """
    if acks is None or not isinstance(acks.domain, Words):
        return
    for word, value in zip(acks.domain.values, acks.domain.canonical, strict=True):
        if not _acknowledged(int(value)).at_least(floor):
            raise InvalidKnob("acks", f"every choice must keep the guarantee, which is {floor}", word)


def _acknowledged(acks: int) -> Guarantee:
    """Return the strongest guarantee that a config with this value of acks can give."""
    return Guarantee(acks, ordered=True, idempotent=True)


def _keep_guarantee(parameters: Parameters, fixed: Values, sizes: Sizes, floor: Guarantee) -> None:
    promise = f"the guarantee must be at least {floor}"
    _keep_words(parameters, fixed, "acks", lambda value: _acknowledged(int(value)).at_least(floor), promise)
    plain, idempotent = _can_be_plain(parameters, fixed, floor), _can_be_idempotent(parameters, fixed)
    allowed = [value for value, possible in (("false", plain), ("true", idempotent)) if possible]
    if IDEMPOTENCE in parameters or not Effective(fixed).flag(IDEMPOTENCE):
        _keep_words(parameters, fixed, IDEMPOTENCE, lambda value: value in allowed, promise)
    choice = parameters.get(IDEMPOTENCE)
    decided = fixed.get(IDEMPOTENCE, "false") if choice is None else choice.domain.only
    if decided == "true":
        promise = "an idempotent producer needs acks=all, at most 5 requests in flight and retries"
        _keep_words(parameters, fixed, "acks", lambda value: value == "-1", promise)
    if decided is None or "retries" in parameters:
        return
    for name in IDEMPOTENT_BOUNDS:
        so_far = Effective({**fixed, IDEMPOTENCE: decided})
        _cut(parameters, name, *bounds(name, so_far, sizes, floor), promise, f"{IDEMPOTENCE}={decided}")


def _keep_words(parameters: Parameters, fixed: Values, name: str, keep: Callable[[str], bool], rule: str) -> None:
    parameter = parameters.get(name)
    if parameter is None or not isinstance(parameter.domain, Words):
        value = Effective(fixed).text(name)
        if not keep(value):
            raise EmptySpace(name, rule, f"{name}={value}")
        return
    pairs = zip(parameter.domain.values, parameter.domain.canonical, strict=True)
    kept = [pair for pair in pairs if keep(pair[1])]
    if not kept:
        raise EmptySpace(name, rule, f"its choices are {parameter.text}")
    values, canonical = zip(*kept, strict=True)
    parameters[name] = replace(parameter, domain=Words(values, canonical))


def _can_be_idempotent(parameters: Parameters, fixed: Values) -> bool:
    return (
        _can_be(parameters, fixed, "acks", "-1")
        and _can_be(parameters, fixed, STRATEGY, "fifo")
        and all(_reaches(parameters, fixed, name, low, high) for name, (low, high) in IDEMPOTENT_BOUNDS.items())
    )


def _can_be_plain(parameters: Parameters, fixed: Values, floor: Guarantee) -> bool:
    if floor.idempotent:
        return False
    one_at_a_time = (IN_FLIGHT in parameters or IN_FLIGHT in fixed) and _reaches(parameters, fixed, IN_FLIGHT, 1, 1)
    return not floor.ordered or one_at_a_time or fixed.get("retries") == "0"


def _can_be(parameters: Parameters, fixed: Values, name: str, value: str) -> bool:
    parameter = parameters.get(name)
    if parameter is None or not isinstance(parameter.domain, Words):
        return Effective(fixed).text(name) == value
    return value in parameter.domain.canonical


def _reaches(parameters: Parameters, fixed: Values, name: str, low: float, high: float) -> bool:
    parameter = parameters.get(name)
    if parameter is None or isinstance(parameter.domain, Words):
        return name not in fixed or low <= float(fixed[name]) <= high
    return parameter.domain.narrowed(low, high) is not None


def _keep_ordering(parameters: Parameters, fixed: Values, ordering: Ordering) -> None:
    rule = f"{STATEMENTS[ordering.rule]} (rule {ordering.rule})"
    small, large = parameters.get(ordering.small), parameters.get(ordering.large)
    if large is None:
        highest = limit(ordering, Effective(fixed))
        against = f"{ordering.large}={Effective(fixed).text(ordering.large)}"
    else:
        highest = _span(large)[1] * ordering.factor - ordering.gap
        against = f"{ordering.large} is {large.text}"
    if small is not None:
        _cut(parameters, ordering.small, float("-inf"), highest, rule, against)
        lowest = _span(parameters[ordering.small])[0]
        against = f"{ordering.small} is {small.text}"
    elif ordering.small in fixed or ordering.with_default:
        lowest = Effective(fixed).number(ordering.small)
        against = f"{ordering.small}={lowest:g}"
    else:
        return
    _cut(parameters, ordering.large, (lowest + ordering.gap) / ordering.factor, float("inf"), rule, against)


def _cut(parameters: Parameters, name: str, low: float, high: float, rule: str, against: str) -> None:
    parameter = parameters.get(name)
    if parameter is None or isinstance(parameter.domain, Words):
        return
    domain = parameter.domain.narrowed(low, high)
    if domain is None:
        raise EmptySpace(name, rule, against)
    parameters[name] = replace(parameter, domain=domain)


def _span(parameter: Parameter) -> tuple[float, float]:
    return (float("-inf"), float("inf")) if isinstance(parameter.domain, Words) else parameter.domain.span
