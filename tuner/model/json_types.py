"""Checks of values from JSON before they become the fields of a dataclass: each value must have its field's type."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

_Check = Callable[[Any], bool]


def check_types(cls: type, values: Mapping[str, Any]) -> None:
    """Check that each value from JSON has the type of its field: a list for a tuple, a text for an enum.

    Args:
        cls: The dataclass that has the fields.
        values: The values by the names of the fields.

    Raises:
        TypeError: A value has another type than its field. The message names the field.
    """
    checks = _checks(cls)
    for name, value in values.items():
        if not checks[name](value):
            raise TypeError(f"{name} is of the wrong type: {str(value)[:60]!r}")


@cache
def _checks(cls: type) -> dict[str, _Check]:
    return {name: _check(wanted) for name, wanted in get_type_hints(cls).items()}


def _check(wanted: Any) -> _Check:
    """Return a function that tells whether a value has the wanted type.

    Stored trials contain long lists of numbers, so the function looks at each number only once.
    """
    if wanted is Any:
        return lambda _: True
    if get_origin(wanted) is Mapping:
        inner = _check_all(get_args(wanted)[1])
        return lambda value: type(value) is dict and inner(value.values())
    if get_origin(wanted) is tuple:
        inner = _check_all(get_args(wanted)[0])
        return lambda value: type(value) is list and inner(value)
    plain = _plain(wanted)
    return lambda value: type(value) in plain


def _check_all(wanted: Any) -> _Check:
    if wanted is Any or get_origin(wanted) in (Mapping, tuple):
        check = _check(wanted)
        return lambda values: all(map(check, values))
    plain = _plain(wanted)
    return lambda values: plain.issuperset(map(type, values))


def _plain(wanted: Any) -> frozenset[type]:
    """Return the Python types that are allowed in JSON for a field with a simple type, such as `float | None`."""
    if get_origin(wanted) is UnionType:
        return frozenset().union(*map(_plain, get_args(wanted)))
    if wanted is float:
        return frozenset({int, float})
    return frozenset({str if issubclass(wanted, StrEnum) else wanted})
