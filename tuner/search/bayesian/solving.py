"""Linear algebra and minimisation: the one place of this package that knows scipy."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, solve_triangular
from scipy.linalg.lapack import dpotrf, dpotri  # type: ignore[attr-defined,unused-ignore]
from scipy.optimize import minimize
from scipy.special import ndtr

Array = NDArray[np.float64]


def root_of(matrix: Array) -> Array:
    """The lower Cholesky factor of a positive definite matrix, 0 above the diagonal."""
    return np.asarray(np.linalg.cholesky(matrix), dtype=np.float64)


def solved(root: Array, values: Array) -> Array:
    """The inverse of the matrix whose root is given, times values."""
    found = cho_solve((root, True), values, check_finite=False)  # type: ignore[no-untyped-call,unused-ignore]
    return np.asarray(found, dtype=np.float64)


def whitened(root: Array, values: Array) -> Array:
    """The inverse of the root, times values."""
    return np.asarray(solve_triangular(root, values, lower=True, check_finite=False), dtype=np.float64)


def inverse_and_log_root(matrix: Array) -> tuple[Array, float]:
    """The inverse of a positive definite matrix, and the logarithm of its determinant's square root."""
    root, _ = dpotrf(matrix, lower=1)
    half, _ = dpotri(root, lower=1)
    half = np.tril(half)
    inverse: Array = half + half.T
    inverse.flat[:: len(inverse) + 1] /= 2.0
    return inverse, float(np.log(np.diag(root)).sum())


def least(
    cost: Callable[[Array], tuple[float, Array]], start: Array, bounds: Sequence[tuple[float, float]], steps: int
) -> Array:
    """Where a function that gives its gradient too is least, as far as so many steps lead. Source: L-BFGS-B."""
    found = minimize(  # type: ignore[no-untyped-call,unused-ignore]
        cost, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": steps}
    )
    return np.asarray(found.x, dtype=np.float64)


def normal_below(limit: Array) -> Array:
    """The probability that a standard normal number is less."""
    return np.asarray(ndtr(limit), dtype=np.float64)
