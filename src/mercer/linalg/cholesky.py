"""Cholesky factors of arrays and tensors, with a shift where rounding has left a matrix without one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.arrays.namespace import add_to_diagonal, namespace
from mercer.arrays.tensors import is_tensor, load_torch

from . import blocked
from .long_rows import multiply_rows
from .products import divide
from .triangles import mirror

Factor = Any  # the lower factor as a tensor, or SciPy's pair for an array

SURE = 10.0  # times the rounding of all pivots together, by which each is above what counts as nothing
MANY = 64  # columns from which a triangular system takes blocks, and products of all columns with them
SHIFTS = 40  # enlargements of a shift: more than from rounding to the whole trace


def factorize(A: Array) -> Factor:
    """Return the Cholesky factor of a matrix, which is overwritten; raise LinAlgError where there is none.

    Examples
    --------
    >>> import numpy as np
    >>> solve_factorized(factorize(np.array([[4.0, 0.0], [0.0, 2.0]])), np.array([4.0, 2.0]))
    array([1., 1.])
    """
    if is_tensor(A):
        L, info = load_torch().linalg.cholesky_ex(A)
        if int(info):
            raise np.linalg.LinAlgError("the matrix is not positive definite")
        return L
    L = np.asfortranarray(A)
    if not blocked.factor(L):
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    return L, True


def factorize_shifted(A: Array, shift: Array | float, least: float, growth: float = 10.0) -> tuple[Factor, float]:
    """Return the factor of A + diag(shift), and what was added to that diagonal until there was one.

    Parameters
    ----------
    A : array of shape (n, n)
        The matrix, which is left as it is.
    shift : float or array of shape (n,)
        What is to be on its diagonal.
    least : float
        The first further shift: the rounding that A may have.
    growth : float
        By which it grows until there is a factor.

    Examples
    --------
    >>> import numpy as np
    >>> factorize_shifted(np.ones((2, 2)), 0.0, 1e-12)[1] > 0
    True
    """
    found: list[Factor] = []

    def attempt(more: float) -> bool:
        matrix = namespace(A).asarray(A, copy=True)
        add_to_diagonal(matrix, shift + more)
        try:
            found.append(factorize(matrix))
        except np.linalg.LinAlgError:
            return False
        return True

    more = find_shift(attempt, least, growth)
    return found[0], more


def find_shift(attempt: Callable[[float], bool], least: float, growth: float) -> float:
    """Return the first of 0, ``least``, ``growth``·least, … with which an attempt works, or raise LinAlgError.

    Examples
    --------
    >>> find_shift(lambda shift: shift > 3.0, 1.0, 2.0)
    4.0
    """
    shift = 0.0
    for _ in range(SHIFTS + 1):
        if attempt(shift):
            return shift
        shift = max(growth * shift, least)
    raise np.linalg.LinAlgError("the matrix is far from positive semi-definite")


def solve_factorized(factor: Factor, V: Array) -> Array:
    """Return A⁻¹V for the factor of A, V one column or several."""
    if is_tensor(factor):
        columns = V[:, None] if V.ndim == 1 else V
        return load_torch().cholesky_solve(columns, factor).reshape(V.shape)
    from scipy.linalg import cho_solve

    return cho_solve(factor, V, check_finite=False)


def make_inverse(A: Array) -> Callable[[Array], Array]:
    """Return the map V ↦ A⁻¹V for many V of few columns; A is overwritten.

    That is a product with the inverse, because triangles solved for few columns wait for themselves.
    """
    factor = factorize(A)
    if is_tensor(factor):
        inverse = load_torch().cholesky_inverse(factor)
    else:
        from scipy.linalg.lapack import dpotri

        inverse = mirror(dpotri(factor[0], lower=1, overwrite_c=1)[0]).T  # symmetric, and in the order of rows
    return lambda V: multiply_rows(inverse, V)


def solve_triangle(L: Array, V: Array, *, transposed: bool = False, overwrite: bool = False) -> Array:
    """Return L⁻¹V, or L⁻ᵀV, for a lower triangle L; V may be overwritten if that is allowed."""
    if is_tensor(L):
        return load_torch().linalg.solve_triangular(L.T if transposed else L, V, upper=transposed)
    if V.ndim == 2 and V.shape[1] >= MANY and not transposed:
        found = V if overwrite else V.copy()
        divide(L, found)
        return found
    from scipy.linalg import solve_triangular

    return solve_triangular(L, V, lower=True, trans=int(transposed), overwrite_b=overwrite, check_finite=False)


def pick_independent(K: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rows that explain all others to rounding, and the lower Cholesky factor of K at them.

    Examples
    --------
    >>> import numpy as np
    >>> kept, L = pick_independent(np.array([[4.0, 4.0, 2.0], [4.0, 4.0, 2.0], [2.0, 2.0, 5.0]]))
    >>> kept.tolist(), L.tolist()
    ([2, 1], [[2.23606797749979, 0.0], [0.8944271909999159, 1.7888543819998317]])
    """
    from scipy.linalg.lapack import dpotrf, dpstrf

    precision = K.dtype if K.dtype == np.float32 else np.float64  # what is left below it is rounding
    tolerance = 32 * float(np.finfo(precision).eps) * float(K.diagonal().max())
    if tolerance <= 0:
        raise ValueError("Nystroem: the kernel is 0 or negative at all centres, so there are no features to learn")
    K = K.astype(np.float64)
    factor, failed = dpotrf(K.T, lower=1, clean=1)
    if not failed and float(factor.diagonal().min()) ** 2 > SURE * len(K) * tolerance:
        return np.arange(len(K)), factor  # nothing is near to being explained by the rest, and no pivots are needed
    factor, order, rank, _ = dpstrf(K, lower=1, tol=tolerance)
    return order[:rank] - 1, np.tril(factor[:rank, :rank])
