"""What kernel PCA is given, checked."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from scipy import sparse

from mercer.arrays.tensors import host_array
from mercer.features.validate import takes_vectors
from mercer.kernels import Kernel

from .kernels import default_gaussian, is_precomputed

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
    if isinstance(kernel, Kernel) and not _is_table(X):
        raise ValueError(
            f"KernelPCA: fit_inverse_transform gives points back, so that they must be rows of numbers; {kernel!r} was "
            "given others. Leave fit_inverse_transform out."
        )


def kernel_of_scores(kernel: Kernel, scores: np.ndarray) -> Kernel:
    """Return the kernel of the map from components back to points.

    The kernel itself serves if it takes all vectors of any length, as in scikit-learn.  One that looks at chosen
    columns, has a length scale for each, or takes no negative numbers means columns of X, which components are not:
    then it is the Gaussian that adapts to the scale and the number of the components.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> kernel_of_scores(Gaussian(3.0), np.eye(2)), kernel_of_scores(Gaussian([1.0, 2.0, 3.0]), np.eye(2))
    (Gaussian(length_scale=3.0), Gaussian(length_scale=0.5))
    """
    return kernel if takes_vectors(kernel) and _takes_any(kernel) else default_gaussian(scores, None)


def _takes_any(kernel: Kernel) -> bool:
    """Whether no kernel of a composition asks for signs, or has a parameter with an entry for each column."""
    values = kernel.get_params(deep=False).values()
    parts = [value for value in values if isinstance(value, Kernel)]
    columns = any(np.ndim(value) > 0 for value in values if not isinstance(value, Kernel | str))
    return kernel.domain == "real" and not columns and all(map(_takes_any, parts))


def _is_table(X: Any) -> bool:
    try:
        table = np.asarray(host_array(X))
    except ValueError:
        return False
    return table.ndim == 2 and table.dtype.kind in "biuf"


def square(X: Any) -> np.ndarray:
    """Return a precomputed kernel as an array."""
    if X.shape[0] != X.shape[1]:
        raise ValueError(
            "KernelPCA: with kernel='precomputed' X is the kernel between all pairs of training points, a square "
            f"matrix; got shape {X.shape}"
        )
    return X.toarray() if sparse.issparse(X) else np.asarray(X)
