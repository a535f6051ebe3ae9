"""The ``kernel`` argument of an estimator: a kernel, one of scikit-learn's names, a function, or "precomputed"."""

from __future__ import annotations

import numbers
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels

import mercer.kernels
from mercer.arrays.tensors import is_tensor, on_device
from mercer.certify.verdict import Refuted, Verdict
from mercer.features.validate import takes_sparse, takes_vectors, validate_numbers, validate_rows
from mercer.formula.data import Rows, length, pick
from mercer.formula.syntax import ExpressionError
from mercer.kernels import (
    Chi2,
    Constant,
    Custom,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    ObjectKernel,
    Sigmoid,
)
from mercer.kernels.base import show_given
from mercer.kernels.prepared import Sliced
from mercer.kernels.text import parse_kernel
from mercer.messages import KERNELS, did_you_mean
from mercer.words import find_close

from .transaction import remember_rows

NAMES = ("additive_chi2", "chi2", "cosine", "laplacian", "linear", "poly", "polynomial", "rbf", "sigmoid")
# What models take as kernel: one or several, a name or a text, or a function of two rows or collections.
KernelLike: TypeAlias = Kernel | Sequence[Kernel] | str | Callable[[Any, Any], float | np.floating | np.ndarray]
SAMPLE = 50  # objects a kernel on objects is examined at


class PairwiseKernel(ObjectKernel):
    """One of scikit-learn's kernels that has no formula here, computed by scikit-learn itself.

    Parameters
    ----------
    metric : str or callable
        Its name in ``sklearn.metrics.pairwise``, or a function of two rows of a sparse matrix.
    gamma : float, optional
        As there.
    degree : float
        As there.
    coef0 : float
        As there.
    """

    metric: Any
    gamma: float | None = None
    degree: float = 3
    coef0: float = 1

    def prepare(self, X: Rows, Z: Rows) -> tuple[Any, Any]:
        """Keep arrays and sparse matrices as they are."""
        A = _KeptRows(X)
        return A, A if Z is X else _KeptRows(Z)

    def block(self, A: Any, B: Any) -> np.ndarray:
        """Call scikit-learn."""
        options = (
            {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0} if isinstance(self.metric, str) else {}
        )
        values = pairwise_kernels(A.rows, B.rows, metric=self.metric, filter_params=True, **options)
        return np.asarray(values, dtype=float)

    def block_diag(self, A: Any) -> np.ndarray:
        """Take the diagonals of blocks."""
        return np.concatenate([self.block(A[s : s + 256], A[s : s + 256]).diagonal() for s in range(0, len(A), 256)])


@dataclass(frozen=True)
class _KeptRows(Sliced):
    """Rows of an array or a sparse matrix, which has no length, as a statistic wants them."""

    along = ("rows",)

    rows: Any


def resolve_kernel(
    owner: object,
    kernel: Any,
    X: Rows,
    *,
    gamma: float | None = None,
    degree: float = 3,
    coef0: float = 1,
    kernel_params: Mapping[str, Any] | None = None,
) -> Kernel:
    """Return the kernel an argument stands for, with scikit-learn's meaning of names and defaults.

    Parameters
    ----------
    owner : estimator
        Whose argument it is, for messages.
    kernel : Kernel, str or callable
        What was given; "precomputed" is not for this function.
    X : checked data
        Its number of columns is the default of ``gamma``.
    gamma, degree, coef0 : float
        Parameters of the names that have them.
    kernel_params : dict, optional
        Keyword arguments of a function.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.zeros((3, 2))
    >>> resolve_kernel(None, "rbf", X)
    Gaussian(length_scale=1.0)
    >>> resolve_kernel(None, "poly", X, degree=2)
    (0.5 * Linear() + Constant(value=1.0)) ** 2
    """
    if isinstance(kernel, Kernel):
        return kernel
    if callable(kernel) and not isinstance(kernel, type):
        function = partial(kernel, **kernel_params) if kernel_params else kernel
        return PairwiseKernel(function) if sparse.issparse(X) else Custom(function)
    if not isinstance(kernel, str) or kernel not in NAMES:
        raise refuse_kernel(owner, kernel)
    for name, value, least in (("gamma", gamma, 0.0), ("degree", degree, 0.0), ("coef0", coef0, -sys.float_info.max)):
        _check_number(owner, name, value, least)
    default = 1.0 if kernel == "chi2" else 1.0 / X.shape[1]
    scale = default if gamma is None else float(gamma)
    found = _formula(kernel, scale, float(degree), float(coef0))
    if found is None or (sparse.issparse(X) and not takes_sparse(found)):
        return PairwiseKernel(kernel, scale, degree, coef0)
    return found


def refuse_kernel(owner: object, kernel: Any) -> ValueError:
    """Return the error for what is no kernel, with what was meant where that can be told."""
    hint = ""
    if isinstance(kernel, type):
        return ValueError(f"{type(owner).__name__}: kernel must be a kernel, not {show_given(kernel)}")
    if isinstance(kernel, str):
        word = re.sub(r"\W.*", "", kernel.strip())
        try:
            hint = f": did you mean {parse_kernel(kernel)!r}, without quotes, from mercer.kernels?"
        except ExpressionError:
            near = find_close(word, NAMES)
            hint = f": did you mean {near!r}?" if near else did_you_mean(word, mercer.kernels.__all__, KERNELS)
    return ValueError(
        f"{type(owner).__name__}: kernel must be a mercer kernel such as Gaussian(), a function of two rows, "
        f"'precomputed', or one of {', '.join(map(repr, NAMES))}; got {kernel!r}{hint}"
    )


def _check_number(owner: object, name: str, value: Any, least: float) -> None:
    if value is None and name == "gamma":
        return
    if not isinstance(value, numbers.Real) or not least <= float(value) < np.inf:
        kind = "a finite number" if least < 0 else "a finite number that is not negative"
        raise ValueError(f"{type(owner).__name__}: {name} must be {kind}, got {value!r}")


def _formula(name: str, gamma: float, degree: float, coef0: float) -> Kernel | None:
    """Return a name as a kernel of ours, or None where it cannot be expressed."""
    if name == "linear":
        return Linear()
    if name == "cosine":
        return Linear().normalize()
    if name == "sigmoid":
        return Sigmoid(scale=gamma, offset=coef0)
    if name in ("poly", "polynomial"):
        whole = degree == int(degree) and degree >= 1
        return (gamma * Linear() + coef0) ** int(degree) if whole and coef0 >= 0 else None
    if name == "additive_chi2":
        return None
    if gamma == 0:
        return Constant(1.0)
    if name == "rbf":
        return Gaussian.from_gamma(gamma)
    return Laplacian.from_gamma(gamma) if name == "laplacian" else Chi2(gamma)


def variance(X: Any, weights: np.ndarray | None) -> float:
    """Return the variance of all entries."""
    if is_tensor(X):
        return _tensor_variance(X, weights)
    mean = float(np.average(np.asarray(X.mean(axis=1)).ravel(), weights=weights))
    squares = X.multiply(X) if sparse.issparse(X) else (X - mean) ** 2
    of_rows = np.asarray(squares.mean(axis=1)).ravel()
    return float(np.average(of_rows, weights=weights)) - (mean**2 if sparse.issparse(X) else 0.0)


def _tensor_variance(X: Any, weights: np.ndarray | None) -> float:
    values = on_device(X, X.device, np.float64)
    shares = values.new_ones(len(X)) if weights is None else on_device(weights, X.device, np.float64)
    shares = shares / shares.sum()
    mean = shares @ values.mean(1)
    return float(shares @ (values - mean).square_().mean(1))


def default_gaussian(X: Any, weights: np.ndarray | None, device: Any = None) -> Gaussian:
    """Return the Gaussian of scikit-learn's gamma="scale", 1/(columns · variance), for data that may be weighted."""
    if device is not None and isinstance(X, np.ndarray):
        X = on_device(X, device, X.dtype)  # which sums up sooner than the host has read it
    spread = X.shape[1] * variance(X, weights)
    return Gaussian.from_gamma(1.0 / spread) if spread > 0 else Gaussian()


def check_rows(estimator: Any, X: Rows, kernel: object, *, reset: bool) -> Any:
    """Return the data as its kernel can take it; names and functions get rows of numbers, as in scikit-learn."""
    if is_tensor(X):
        return check_tensor(estimator, X, reset=reset)
    if not isinstance(kernel, Kernel):
        named = isinstance(kernel, str) and kernel in (*NAMES, "precomputed")
        if isinstance(kernel, type) or not (named or callable(kernel)):
            raise refuse_kernel(estimator, kernel)
        try:
            return validate_numbers(estimator, X, reset=reset)
        except TypeError as error:  # of objects that are no numbers
            name = type(estimator).__name__
            raise TypeError(f"{error}; {name} with kernel={kernel!r} takes rows of numbers") from None
    rows = validate_rows(estimator, X, kernel, reset=reset)
    if reset:
        remember_rows(kernel, rows)
    return rows


def check_tensor(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return a tensor of points, with its shape and number of columns checked; kernels check its values."""
    name = type(estimator).__name__
    if X.ndim != 2 or min(X.shape) == 0:
        raise ValueError(f"{name} needs a tensor of shape (points, features), got shape {tuple(X.shape)}")
    if X.is_complex():
        raise ValueError(f"{name} needs real numbers, got a tensor of {X.dtype}")
    if reset:
        estimator.n_features_in_ = int(X.shape[1])
        vars(estimator).pop("feature_names_in_", None)
    elif X.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but {name} is expecting {estimator.n_features_in_} features as input"
        )
    return X.detach()


def check_psd(owner: object, kernel: Kernel, X: Rows) -> None:
    """Raise if there are points at which the kernel is not positive semi-definite.

    Kernels with a theorem pass at once.  Others are searched at vectors as long as those of X, or at some objects of X.
    """
    if kernel.theorem() is not None:
        return
    if takes_vectors(kernel):
        verdict = _certificate(kernel, X.shape[1])
    else:
        n = length(X)
        verdict = kernel.certificate(sample=pick(X, np.unique(np.arange(SAMPLE) * n // SAMPLE)) if n > SAMPLE else X)
    if isinstance(verdict, Refuted):
        raise ValueError(
            f"{type(owner).__name__} needs a positive semi-definite kernel. {verdict.explain()}\nUse "
            f"{kernel.instead}, or pass assume_psd=True to go on all the same."
        )


@lru_cache(maxsize=256)
def _certificate(kernel: Kernel, d: int) -> Verdict:
    return kernel.certificate(dim=d)
