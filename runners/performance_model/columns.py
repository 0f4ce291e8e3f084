"""Collects the numbers of several configs or hosts in arrays, so that the model computes all of them together."""

from collections.abc import Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
_NUMBERS: Final = (float, int, bool)


class Columns:
    """Several objects of one dataclass. Each numeric field is an array with a number per object. A flag is 0 or 1.

    Args:
        rows: The objects.
        shape: The shape of the arrays: (-1, 1) puts the objects in rows, and (1, -1) in columns.
    """

    def __init__(self, rows: Sequence[Any], shape: tuple[int, int]) -> None:
        names = [each.name for each in fields(rows[0]) if each.type in _NUMBERS]
        read = attrgetter(*names)
        table = np.array([read(row) for row in rows], dtype=float).T
        self._columns = dict(zip(names, table.reshape(len(names), *shape), strict=True))

    def __getattr__(self, name: str) -> Array:
        return self._columns[name]
