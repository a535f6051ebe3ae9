"""Conformance suites: what every kernel, every Gram matrix and every solver must satisfy, for ours and for yours.

Each check raises ``AssertionError`` with a sentence that says which law is broken, and where.
"""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
from scipy import sparse

from mercer._solver_laws import check_solver
from mercer.certify.verdict import Refuted
from mercer.formula.data import Rows, is_frame, length, take
from mercer.formula.evaluation import Evaluation
from mercer.formula.expression import Stat, nodes
from mercer.formula.statistics import VectorStatistic
from mercer.gram import Gram
from mercer.kernels import Kernel

__all__ = ["check_gram", "check_kernel", "check_solver"]

GRADIENT_STEP = 1e-5


def check_kernel(kernel: Kernel, X: Rows, *, psd: bool = True, rtol: float = 1e-10) -> None:
    """Check the laws of a kernel on a sample.

    Symmetry, agreement of whole and single evaluations, the diagonal, positive semi-definiteness, the gradient
    against finite differences, the certificate against the sample, immutability, equality, pickling and parameters.

    Parameters
    ----------
    kernel : Kernel
        The kernel to check.
    X : collection
        A sample of at least two objects; a dozen or two are enough.
    psd : bool, default=True
        Whether the kernel claims to be positive semi-definite.
    rtol : float, default=1e-10
        Allowed error relative to the largest kernel value.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.testing import check_kernel
    >>> check_kernel(Gaussian(length_scale=2.0), np.random.default_rng(0).normal(size=(12, 3)))
    """
    n = length(X)
    if n < 2:
        raise ValueError(f"check_kernel needs a sample of at least two objects, got {n}")
    K = kernel(X)
    tolerance = rtol * max(float(np.abs(K).max()), 1e-300)
    _expect(K.shape == (n, n), kernel, f"k(X) has shape {K.shape} for {n} objects")
    _expect(bool(np.isfinite(K).all()), kernel, "k(X) holds NaN or infinity")
    _close(K, K.T, tolerance, kernel, "symmetry: k(x, z) and k(z, x)")
    _close(kernel(X, copy.deepcopy(X)), K, tolerance, kernel, "k(X, Z) with Z equal to X and k(X)")
    half = n // 2
    _close(kernel(take(X, 0, half), take(X, half, n)), K[:half, half:], tolerance, kernel, "a block and the whole")
    _close(kernel(take(X, 0, 1), take(X, n - 1, n)), K[:1, -1:], tolerance, kernel, "one pair and the whole")
    _close(kernel.diag(X), np.diag(K), tolerance, kernel, "diag(X) and the diagonal of k(X)")
    _check_distance(kernel, X)
    if psd:
        smallest = float(np.linalg.eigvalsh((K + K.T) / 2).min())
        bound = n * max(tolerance, 1e-12 * float(np.trace(K)))
        _expect(smallest >= -bound, kernel, f"the Gram matrix of the sample has the eigenvalue {smallest}")
        verdict = kernel.certificate(sample=X)
        _expect(not isinstance(verdict, Refuted), kernel, f"the certificate is a refutation:\n{verdict.explain()}")
    _check_gradient(kernel, X, K)
    _check_value(kernel)
    check_gram(kernel, X)


def check_gram(kernel: Kernel, X: Rows, Z: Rows | None = None, *, rtol: float | None = None) -> None:
    """Check that every operation of the Gram matrix agrees with the dense matrix, on every backend there is.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    X, Z : collections
        The data; Z = None means X again.
    rtol : float, optional
        Allowed error relative to the largest value; by default 1e-10 for float64 and 1e-4 for float32 data.
    """
    K = np.asarray(kernel(X, Z))
    reference = np.asarray(K, dtype=float)
    rtol = rtol if rtol is not None else (1e-4 if K.dtype == np.float32 else 1e-10)
    size = max(float(np.abs(K).max()), 1e-300)
    V = np.cos(np.arange(K.shape[1] * 3, dtype=float)).reshape(K.shape[1], 3)
    for backend in _backends(kernel, X, Z):
        gram = Gram(kernel, X, Z, backend=backend)
        label = f"the {backend} backend: "
        _expect(gram.shape == K.shape, kernel, f"{label}shape {gram.shape} instead of {K.shape}")
        _close(gram.dense(), reference, rtol * size, kernel, f"{label}dense and k(X, Z)")
        tolerance = rtol * size * K.shape[1]
        _close(gram @ V, reference @ V, tolerance, kernel, f"{label}products with several columns")
        _close(gram @ V[:, 0], reference @ V[:, 0], tolerance, kernel, f"{label}product with one column")
        _close(gram.T @ V[:1].T.repeat(K.shape[0], 1)[0], _transposed(reference, V), tolerance, kernel, f"{label}T")
        _close(gram.rows(0), reference[0], rtol * size, kernel, f"{label}one row")
        some = [K.shape[0] - 1, 0]
        _close(gram.rows(some), reference[some], rtol * size, kernel, f"{label}some rows")
        if gram.symmetric:
            _close(gram.diag(), np.diag(reference), rtol * size, kernel, f"{label}diag")


def _transposed(K: np.ndarray, V: np.ndarray) -> np.ndarray:
    return np.asarray(K.T @ np.full(K.shape[0], V[0, 0]))


def _backends(kernel: Kernel, X: Rows, Z: Rows | None) -> list[Any]:
    automatic = Gram(kernel, X, Z).backend_name
    return ["numpy"] if automatic == "numpy" else ["numpy", automatic]


def _check_distance(kernel: Kernel, X: Rows) -> None:
    """Compare with the difference in extended precision, where 11 bits more survive the cancellation."""
    formula = kernel.traced()
    wide = Evaluation(formula, X, None, repr(kernel), dtype=np.longdouble).dense()
    plain = any(
        not isinstance(node.statistic, VectorStatistic)
        if isinstance(node, Stat)
        else getattr(node, "op", "") == "bessel"
        for node in nodes(formula)
    )  # what is not computed in extended precision
    unit = np.finfo(np.float64 if plain or _is_single(X) else np.longdouble).eps
    sizes = np.abs(np.diag(wide))[:, None] + np.abs(np.diag(wide))[None, :] + 2 * np.abs(wide)
    expected = np.maximum(np.diag(wide)[:, None] + np.diag(wide)[None, :] - 2 * wide, 0)
    allowed = 1e-9 * expected + 64 * unit * sizes.max()
    found = kernel.distance(X)
    if found.dtype == np.float32:
        allowed = allowed + 1e-5 * sizes.max()
    _close(found, expected, allowed, kernel, "distance and k(x,x)+k(z,z)−2k(x,z)")


def _check_gradient(kernel: Kernel, X: Rows, K: np.ndarray) -> None:
    gradient = kernel.gradient(X)
    values = kernel.hyperparameters()
    _expect(set(gradient) == set(values), kernel, f"gradient names {set(gradient)}, hyperparameters {set(values)}")
    if K.dtype == np.float32 or _is_single(X):
        return  # finite differences of float32 values say nothing
    for name, value in values.items():
        up = kernel.with_hyperparameters({name: value * np.exp(GRADIENT_STEP)})(X)
        down = kernel.with_hyperparameters({name: value * np.exp(-GRADIENT_STEP)})(X)
        difference = (up - down) / (2 * GRADIENT_STEP)
        tolerance = 1e-5 * max(float(np.abs(difference).max()), float(np.abs(K).max()))
        _close(gradient[name], difference, tolerance, kernel, f"gradient by log {name} and finite differences")


def _is_single(X: Rows) -> bool:
    return not is_frame(X) and not sparse.issparse(X) and getattr(X, "dtype", None) == np.float32


def _check_value(kernel: Kernel) -> None:
    rebuilt = kernel.with_params(**kernel.get_params(deep=False))
    _expect(rebuilt == kernel, kernel, "with_params(**get_params()) gives another kernel")
    _expect(hash(rebuilt) == hash(kernel), kernel, "an equal kernel has another hash")
    for name in kernel.get_params(deep=False):
        try:
            setattr(kernel, name, None)
        except AttributeError:
            continue
        raise AssertionError(f"{kernel!r}: the parameter {name} can be changed in place; kernels are immutable")
    try:
        text = pickle.dumps(kernel)
    except (AttributeError, TypeError, pickle.PicklingError):
        return  # a lambda or another local function inside; the kernel cannot help it
    _expect(pickle.loads(text) == kernel, kernel, "pickling changes it")


def _expect(holds: bool, kernel: Kernel, message: str) -> None:
    if not holds:
        raise AssertionError(f"{kernel!r}: {message}")


def _close(actual: np.ndarray, expected: np.ndarray, tolerance: float | np.ndarray, kernel: Kernel, what: str) -> None:
    actual, expected = np.asarray(actual, dtype=float), np.asarray(expected, dtype=float)
    _expect(actual.shape == expected.shape, kernel, f"{what} have shapes {actual.shape} and {expected.shape}")
    tolerance = np.broadcast_to(np.asarray(tolerance, dtype=float), expected.shape)
    gap = np.abs(actual - expected)
    if not (gap <= tolerance).all():
        where = np.unravel_index(int(np.argmax(np.where(np.isnan(gap), np.inf, gap))), gap.shape)
        raise AssertionError(
            f"{kernel!r}: {what} differ at {tuple(int(i) for i in where)}: "
            f"{actual[where]} and {expected[where]} (allowed: {tolerance[where]:.2g})"
        )
