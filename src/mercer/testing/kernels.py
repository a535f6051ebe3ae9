"""What every kernel must satisfy."""

from __future__ import annotations

import copy
import pickle

import numpy as np
from scipy import sparse

from mercer.certify.verdict import Refuted
from mercer.formula.data import Rows, is_frame, length, take
from mercer.formula.evaluation import Evaluation
from mercer.formula.expression import Stat, nodes
from mercer.formula.statistics import VectorStatistic
from mercer.kernels import Kernel

from .gram import check_gram
from .laws import expect, expect_close

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
    expect(K.shape == (n, n), kernel, f"k(X) has shape {K.shape} for {n} objects")
    expect(bool(np.isfinite(K).all()), kernel, "k(X) holds NaN or infinity")
    expect_close(K, K.T, tolerance, kernel, "symmetry: k(x, z) and k(z, x)")
    expect_close(kernel(X, copy.deepcopy(X)), K, tolerance, kernel, "k(X, Z) with Z equal to X and k(X)")
    half = n // 2
    expect_close(
        kernel(take(X, 0, half), take(X, half, n)), K[:half, half:], tolerance, kernel, "a block and the whole"
    )
    expect_close(kernel(take(X, 0, 1), take(X, n - 1, n)), K[:1, -1:], tolerance, kernel, "one pair and the whole")
    expect_close(kernel.diag(X), np.diag(K), tolerance, kernel, "diag(X) and the diagonal of k(X)")
    _check_distance(kernel, X)
    if psd:
        smallest = float(np.linalg.eigvalsh((K + K.T) / 2).min())
        bound = n * max(tolerance, 1e-12 * float(np.trace(K)))
        expect(smallest >= -bound, kernel, f"the Gram matrix of the sample has the eigenvalue {smallest}")
        verdict = kernel.certificate(sample=X)
        expect(not isinstance(verdict, Refuted), kernel, f"the certificate is a refutation:\n{verdict.explain()}")
    _check_gradient(kernel, X, K)
    _check_value(kernel)
    check_gram(kernel, X)


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
    expect_close(found, expected, allowed, kernel, "distance and k(x,x)+k(z,z)−2k(x,z)")


def _check_gradient(kernel: Kernel, X: Rows, K: np.ndarray) -> None:
    gradient = kernel.gradient(X)
    values = kernel.hyperparameters()
    expect(set(gradient) == set(values), kernel, f"gradient names {set(gradient)}, hyperparameters {set(values)}")
    if K.dtype == np.float32 or _is_single(X):
        return  # finite differences of float32 values say nothing
    for name, value in values.items():
        up = kernel.with_hyperparameters({name: value * np.exp(GRADIENT_STEP)})(X)
        down = kernel.with_hyperparameters({name: value * np.exp(-GRADIENT_STEP)})(X)
        difference = (up - down) / (2 * GRADIENT_STEP)
        tolerance = 1e-5 * max(float(np.abs(difference).max()), float(np.abs(K).max()))
        expect_close(gradient[name], difference, tolerance, kernel, f"gradient by log {name} and finite differences")


def _is_single(X: Rows) -> bool:
    return not is_frame(X) and not sparse.issparse(X) and getattr(X, "dtype", None) == np.float32


def _check_value(kernel: Kernel) -> None:
    rebuilt = kernel.with_params(**kernel.get_params(deep=False))
    expect(rebuilt == kernel, kernel, "with_params(**get_params()) gives another kernel")
    expect(hash(rebuilt) == hash(kernel), kernel, "an equal kernel has another hash")
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
    expect(pickle.loads(text) == kernel, kernel, "pickling changes it")
