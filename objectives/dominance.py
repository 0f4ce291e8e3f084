"""Pareto dominance between the rows of an array."""

import numpy as np
from numpy.typing import NDArray


def dominated_by(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return for each row how many other rows dominate it.

    A row dominates another row if it is at least as good in every column and better in one. Larger values are better.
    Equal rows do not dominate each other.

    Args:
        values: Shape (rows, objectives).

    Returns:
        The counts. Shape (rows,).
    """
    nowhere_worse = (values[:, None, :] >= values[None, :, :]).all(axis=2)
    somewhere_better = (values[:, None, :] > values[None, :, :]).any(axis=2)
    return np.asarray((nowhere_worse & somewhere_better).sum(axis=0), dtype=np.int64)
