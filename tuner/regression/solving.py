"""Linear algebra and minimisation for the Gaussian processes."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, solve_triangular
from scipy.linalg.lapack import dpotrf, dpotri  # type: ignore[attr-defined,unused-ignore]
from scipy.special import ndtr

Array = NDArray[np.float64]


def cholesky_factor(matrix: Array) -> Array:
    """Return the lower Cholesky factor of a positive definite matrix, with zeros above the diagonal."""
    return np.asarray(np.linalg.cholesky(matrix), dtype=np.float64)


def solve(root: Array, values: Array) -> Array:
    """Return the inverse of a positive definite matrix, multiplied by values.

    Args:
        root: The lower Cholesky factor of the matrix.
        values: A vector or a matrix.
    """
    found = cho_solve((root, True), values, check_finite=False)  # type: ignore[no-untyped-call,unused-ignore]
    return np.asarray(found, dtype=np.float64)


def whiten(root: Array, values: Array) -> Array:
    """Return the inverse of a lower Cholesky factor (`root`), multiplied by values."""
    return np.asarray(solve_triangular(root, values, lower=True, check_finite=False), dtype=np.float64)


def inverse_and_log_root(matrix: Array) -> tuple[Array, float]:
    """Return the inverse of a positive definite matrix, and the logarithm of the square root of its determinant."""
    root, _ = dpotrf(matrix, lower=1)
    half, _ = dpotri(root, lower=1)
    half = np.tril(half)
    inverse: Array = half + half.T
    inverse.flat[:: len(inverse) + 1] /= 2.0
    return inverse, float(np.log(np.diag(root)).sum())


def argmin(
    cost: Callable[[Array], tuple[float, Array]], start: Array, bounds: Sequence[tuple[float, float]], steps: int
) -> Array:
    """Return the point at which a function has its minimum, found by L-BFGS-B.

    Args:
        cost: Returns the value of the function and its gradient.
        start: The point to start from.
        bounds: The least and the greatest value of each coordinate.
        steps: The maximum number of steps.
    """
    # Imported here, because it takes a sixth of a second, and every search imports this module.
    from scipy.optimize import minimize

    found = minimize(  # type: ignore[no-untyped-call,unused-ignore]
        cost, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": steps}
    )
    return np.asarray(found.x, dtype=np.float64)


def normal_cdf(limit: Array) -> Array:
    """Return the probability that a standard normal number is below a limit."""
    return np.asarray(ndtr(limit), dtype=np.float64)
