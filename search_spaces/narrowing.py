"""Cuts the ranges of a space to what rules and guarantee leave of them, or says why nothing is left."""

from collections.abc import Callable
from dataclasses import replace

from search_spaces.dependencies import IDEMPOTENT_BOUNDS, STATEMENTS, STRATEGY, Ordering, bounds, limit, orderings
from search_spaces.domains import Words
from search_spaces.effective import Effective
from search_spaces.errors import EmptySpace, InvalidKnob
from search_spaces.guarantee import Guarantee
from search_spaces.knobs import IDEMPOTENCE, IN_FLIGHT, LEVEL_KNOBS
from search_spaces.parameters import Parameter
from search_spaces.record_size import Sizes

Parameters = dict[str, Parameter]
Values = dict[str, str]


def narrow(parameters: Parameters, fixed: Values, sizes: Sizes, floor: Guarantee) -> None:
    """Cut the domains of `parameters` in place; what is left with one value moves to `fixed`.

    Raises:
        EmptySpace: nothing is left of a knob.
    """
    _keep_guarantee(parameters, fixed, sizes, floor)
    # Orderings form chains of two; a cut at one end has reached the other after as many rounds.
    for _ in range(3):
        for ordering in orderings(sizes):
            _keep_ordering(parameters, fixed, ordering)
    for name, parameter in list(parameters.items()):
        value = parameter.domain.only
        if name not in LEVEL_KNOBS and value is not None:
            del parameters[name]
            if value != _in_force(fixed).text(parameter.sets):
                fixed[parameter.sets] = value


def check_acks(acks: Parameter | None, floor: Guarantee) -> None:
    """Check the choices that a study itself gives for acks: nobody should wonder where one of them went.

    Raises:
        InvalidKnob: one of them is below the floor.
        InvalidValue: one of them is a number of replicas.
    """
    if acks is None or not isinstance(acks.domain, Words):
        return
    for word, value in zip(acks.domain.values, acks.domain.canonical, strict=True):
        if not _acknowledged(int(value)).at_least(floor):
            raise InvalidKnob("acks", f"its choices keep the guarantee, which is {floor}", word)


def _acknowledged(acks: int) -> Guarantee:
    """The most that a config with these acks may promise."""
    return Guarantee(acks, ordered=True, idempotent=True)


def _keep_guarantee(parameters: Parameters, fixed: Values, sizes: Sizes, floor: Guarantee) -> None:
    promise = f"the guarantee is at least {floor}"
    _keep_words(parameters, fixed, "acks", lambda value: _acknowledged(int(value)).at_least(floor), promise)
    plain, idempotent = _can_be_plain(parameters, fixed, floor), _can_be_idempotent(parameters, fixed)
    allowed = [value for value, possible in (("false", plain), ("true", idempotent)) if possible]
    if IDEMPOTENCE in parameters or not _in_force(fixed).flag(IDEMPOTENCE):
        _keep_words(parameters, fixed, IDEMPOTENCE, lambda value: value in allowed, promise)
    choice = parameters.get(IDEMPOTENCE)
    decided = fixed.get(IDEMPOTENCE, "false") if choice is None else choice.domain.only
    if decided == "true":
        promise = "an idempotent producer needs acks=all, at most 5 requests in flight and retries"
        _keep_words(parameters, fixed, "acks", lambda value: value == "-1", promise)
    if decided is None or "retries" in parameters:
        return
    for name in IDEMPOTENT_BOUNDS:
        so_far = _in_force({**fixed, IDEMPOTENCE: decided})
        _cut(parameters, name, *bounds(name, so_far, sizes, floor), promise, f"{IDEMPOTENCE}={decided}")


def _keep_words(parameters: Parameters, fixed: Values, name: str, keep: Callable[[str], bool], rule: str) -> None:
    parameter = parameters.get(name)
    if parameter is None or not isinstance(parameter.domain, Words):
        value = _in_force(fixed).text(name)
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
        return _in_force(fixed).text(name) == value
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
        highest = limit(ordering, _in_force(fixed))
        against = f"{ordering.large}={_in_force(fixed).text(ordering.large)}"
    else:
        highest = _span(large)[1] * ordering.factor - ordering.gap
        against = f"{ordering.large} is {large.text}"
    if small is not None:
        _cut(parameters, ordering.small, float("-inf"), highest, rule, against)
        lowest = _span(parameters[ordering.small])[0]
        against = f"{ordering.small} is {small.text}"
    elif ordering.small in fixed or ordering.with_default:
        lowest = _in_force(fixed).number(ordering.small)
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


def _in_force(fixed: Values) -> Effective:
    return Effective(fixed)
