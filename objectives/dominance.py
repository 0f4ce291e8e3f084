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


def best_and_newest(
    values: NDArray[np.float64], missed: NDArray[np.float64] | NDArray[np.bool_], best: int, kept: int
) -> list[int]:
    """Return the numbers of the rows to keep of a list that has become too long: the best ones and the newest ones.

    The rows that miss the constraints least are the best, and among these, the rows that fewer others dominate. The
    choice depends only on the rows, in their order.

    Args:
        values: One row for each trial or config, from the oldest to the newest. Larger values are better. Shape (rows,
            objectives).
        missed: How far each row misses the constraints; 0 or False for not at all. Shape (rows,).
        best: How many of the best rows to keep.
        kept: How many rows to keep; fewer if some of the best are among the newest. At most the number of rows.
    """
    ranked = np.lexsort((dominated_by(values), missed))
    return sorted({*ranked[:best].tolist(), *range(len(values) - (kept - best), len(values))})
