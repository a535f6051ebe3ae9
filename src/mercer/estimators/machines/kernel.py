"""The kernel of a support vector machine: names with γ, functions of two collections, matrices, and mercer kernels."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from mercer.arrays.budget import parse_memory, require
from mercer.arrays.tensors import check_finite, host_array, is_tensor
from mercer.certify.verdict import Refuted
from mercer.formula.data import Rows, length, pick
from mercer.kernels import Custom, Kernel, Precomputed

from ..kernels import check_psd, checked_rows, is_precomputed, resolve_kernel, variance

EXAMINED = 300  # rows of a matrix whose eigenvalues are computed: a small part of the time of a fit
NOISE = 1e-6  # of the norm: a matrix computed in float32 may have eigenvalues this far below 0


@dataclass(frozen=True)
class TrainingKernel:
    """What a solver is given, and what the fitted model shows.

    Parameters
    ----------
    solved : Kernel
        The kernel of the problem.
    points : collection
        What it is evaluated at.
    shown : Kernel
        The same kernel for new points.
    """

    solved: Kernel
    points: Rows
    shown: Kernel


def is_function(kernel: object) -> bool:
    """Whether the argument is a plain function of two collections, as in scikit-learn, and not a mercer kernel."""
    return callable(kernel) and not isinstance(kernel, Kernel)


def rows_of(estimator: Any, X: Rows, *, reset: bool) -> Any:
    """Return data as the kernel of an estimator takes it, by the rules of scikit-learn's machines."""
    kernel, name = estimator.kernel, type(estimator).__name__
    if is_function(kernel):
        return checked_rows(estimator, host_array(X), Custom(kernel, vectorized=True), reset=reset)
    if is_precomputed(kernel):
        if sparse.issparse(X):
            raise TypeError(f"{name}: Sparse precomputed kernels are not supported. Use X.toarray() if it fits.")
        return _matrix_rows(estimator, X, reset)
    rows = checked_rows(estimator, X, kernel, reset=reset)
    if reset and is_tensor(rows):
        check_finite(rows, name)
    if not reset:
        trained = estimator.support_vectors_
        if sparse.issparse(rows) and not sparse.issparse(trained):
            raise ValueError(f"cannot use sparse input in {name!r} trained on dense data; use X.toarray() if it fits")
        if sparse.issparse(trained) and not sparse.issparse(rows):
            rows = type(trained)(rows)
    return rows


def _matrix_rows(estimator: Any, X: Rows, reset: bool) -> Any:
    """Return a matrix given as such, checked by scikit-learn, whose message about columns needs a word on rows."""
    try:
        return checked_rows(estimator, X, estimator.kernel, reset=reset)
    except ValueError as error:
        if reset or "features" not in str(error):
            raise
        raise ValueError(
            f"{error} With kernel='precomputed', X holds the kernel between the new points and all training points, of "
            "which only the columns in support_ matter."
        ) from None


def gamma_of(estimator: Any, X: Any) -> float:
    """Return γ: "scale" is 1 / (d·Var(X)), "auto" is 1/d."""
    gamma, name = estimator.gamma, type(estimator).__name__
    given = isinstance(gamma, numbers.Real) and 0 <= float(gamma) < np.inf
    if not given and not (isinstance(gamma, str) and gamma in ("scale", "auto")):
        raise ValueError(
            f"{name}: gamma must be 'scale', 'auto' or a finite number that is not negative; got {gamma!r}"
        )
    if given or not isinstance(estimator.kernel, str) or is_precomputed(estimator.kernel):
        return float(gamma) if given else 0.0
    if gamma == "auto":
        return 1.0 / int(X.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        spread = variance(X if is_tensor(X) else X.astype(np.float64, copy=False), None)
    if not np.isfinite(spread):
        raise ValueError(
            f"{name}: The dual coefficients or intercepts are not finite, because the variance of X, which "
            "gamma='scale' divides by, overflows. Divide the data first, for example by StandardScaler."
        )
    return 1.0 / (int(X.shape[1]) * spread) if spread > 0 else 1.0


def with_weight(X: Any, kept: np.ndarray) -> Any:
    """Return the points that have a weight, which are all that a kernel is guessed and judged by."""
    return X if len(kept) == length(X) else pick(X, kept)


def training_kernel(estimator: Any, X: Any, kept: np.ndarray) -> TrainingKernel:
    """Return the kernel an estimator's argument stands for, at checked data X of which some points are kept."""
    kernel, n = estimator.kernel, length(X)
    if is_precomputed(kernel):
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                f"{type(estimator).__name__}: Precomputed matrix must be a square matrix, the kernel between all pairs "
                f"of training points; got shape {X.shape}"
            )
        matrix = Precomputed(X)
        if not estimator.assume_psd:
            check_matrix(estimator, matrix, kept)
        return TrainingKernel(matrix, np.arange(n), matrix)
    if is_function(kernel):
        values = Precomputed(function_matrix(estimator, X, X))
        return TrainingKernel(values, np.arange(n), Custom(kernel, vectorized=True))
    found = resolve_kernel(estimator, kernel, X, gamma=estimator._gamma, degree=estimator.degree, coef0=estimator.coef0)
    if isinstance(kernel, Kernel) and not estimator.assume_psd:
        check_psd(estimator, found, with_weight(X, kept))
    return TrainingKernel(found, X, found)


def function_matrix(estimator: Any, X: Rows, Z: Rows) -> np.ndarray:
    """Return the matrix of a plain function in one call on all data, which is scikit-learn's promise to it."""
    shape = (length(X), length(Z))
    require(
        8 * shape[0] * shape[1],
        parse_memory(estimator.memory),
        f"the {shape[0]} × {shape[1]} matrix of the function given as kernel",
        "pass mercer.kernels.Custom(function, vectorized=True), which is called for blocks of it",
    )
    name = f"{type(estimator).__name__}: the function given as kernel"
    wanted = (
        f"takes two collections and returns the matrix of all pairs; for {shape[0]} and {shape[1]} points it must have "
        f"shape {shape} and hold numbers"
    )
    try:
        returned = estimator.kernel(X, Z)
    except Exception as error:
        raise ValueError(
            f"{name} {wanted}, but it raised {type(error).__name__}: {error}. {_remedy(estimator, X)}"
        ) from error
    values = np.asarray(returned.toarray() if sparse.issparse(returned) else returned)
    if values.shape != shape or values.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} {wanted}, but has shape {values.shape} and dtype {values.dtype}. {_remedy(estimator, X)}"
        )
    values = values.astype(np.float64, copy=False)
    if not np.isfinite(values).all():
        i, j = np.argwhere(~np.isfinite(values))[0]
        raise ValueError(f"{name} returned {values[i, j]} for points {i} and {j}; it must be finite")
    return values


def _remedy(estimator: Any, X: Rows) -> str:
    """Return what to do about a function that is none of two collections; one of two points is found by trying."""
    wrapped = "kernel=mercer.kernels.Custom(function)"
    try:
        value = np.asarray(estimator.kernel(*(pick(X, [0, length(X) - 1])[i] for i in (0, 1))))
    except Exception:
        return f"Wrap a function of two points as {wrapped}."
    if value.size == 1 and value.dtype.kind in "biuf":
        return f"It is a function of two points, and returned {value.item():g} for two of them: wrap it as {wrapped}."
    return f"Wrap a function of two points as {wrapped}."


def check_matrix(estimator: Any, kernel: Precomputed, kept: np.ndarray) -> None:
    """Raise if a matrix at the points kept, or at some of many, is not positive semi-definite by more than rounding."""
    matrix = np.asarray(kernel.matrix, dtype=np.float64)
    n = len(kept)
    chosen = kept if n <= EXAMINED else kept[np.arange(EXAMINED) * n // EXAMINED]
    eigenvalues = np.linalg.eigvalsh(matrix[np.ix_(chosen, chosen)])
    if eigenvalues[0] >= -NOISE * np.abs(eigenvalues).max():
        return
    verdict = kernel.certificate(sample=chosen)
    if isinstance(verdict, Refuted):
        raise ValueError(
            f"{type(estimator).__name__} needs a positive semi-definite matrix. {verdict.explain()}\nUse another "
            "kernel, or pass assume_psd=True to go on to a local optimum of a problem that is not convex."
        )
