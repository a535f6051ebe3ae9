"""What kernel PCA is given, checked."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from scipy import sparse

from mercer.features._validate import takes_vectors
from mercer.kernels import Kernel

from ._kernel_argument import is_precomputed

SOLVERS = ("auto", "dense", "arpack", "randomized", "nystroem")
COUNTS = (("n_components", 1, None), ("max_iter", 1, None), ("n_centers", 1, None), ("iterated_power", 0, "auto"))


def check_parameters(model: Any) -> None:
    """Raise unless solver and counts are what they may be."""
    if model.eigen_solver not in SOLVERS:
        raise ValueError(f"KernelPCA: eigen_solver must be one of {SOLVERS}, got {model.eigen_solver!r}")
    if model.eigen_solver == "nystroem" and is_precomputed(model.kernel):
        raise ValueError("KernelPCA: eigen_solver='nystroem' needs a kernel, not kernel='precomputed'")
    for name, least, default in COUNTS:
        value = getattr(model, name)
        if value is default or (isinstance(value, str) and value == default):
            continue
        if isinstance(value, bool) or not isinstance(value, numbers.Integral) or int(value) < least:
            raise ValueError(
                f"KernelPCA: {name} must be a whole number of at least {least} or {default!r}, got {value!r}"
            )
    if not isinstance(model.tol, numbers.Real) or not float(model.tol) >= 0:
        raise ValueError(f"KernelPCA: tol must be a number that is not negative, got {model.tol!r}")


def check_invertible(kernel: Any, X: Any) -> None:
    """Raise unless the points are vectors, which a regression can give back."""
    if is_precomputed(kernel):
        raise ValueError("Cannot fit_inverse_transform with a precomputed kernel; give the points and a kernel")
    if sparse.issparse(X):
        raise TypeError("KernelPCA: the inverse is not implemented for sparse matrices; use X.toarray()")
    if isinstance(kernel, Kernel) and not takes_vectors(kernel):
        raise ValueError(f"KernelPCA: fit_inverse_transform needs vectors, which {kernel!r} does not take as such")


def square(X: Any) -> np.ndarray:
    """Return a precomputed kernel as an array."""
    if X.shape[0] != X.shape[1]:
        raise ValueError(
            "KernelPCA: with kernel='precomputed' X is the kernel between all pairs of training points, a square "
            f"matrix; got shape {X.shape}"
        )
    return X.toarray() if sparse.issparse(X) else np.asarray(X)
