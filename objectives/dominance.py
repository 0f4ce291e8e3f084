"""Which of several points are better than which, in all of their numbers."""

import numpy as np
from numpy.typing import NDArray


def dominated_by(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """How many others dominate each row, more being better in every column; equal rows do not dominate each other.

    Args:
        values: Shape (rows, objectives).

    Returns:
        Shape (rows,).
    """
    nowhere_worse = (values[:, None, :] >= values[None, :, :]).all(axis=2)
    somewhere_better = (values[:, None, :] > values[None, :, :]).any(axis=2)
    return np.asarray((nowhere_worse & somewhere_better).sum(axis=0), dtype=np.int64)
