"""The ``kernel`` argument of an estimator as one object: how its rows are checked, which kernel it is, and its points.

An argument is a kernel, one of scikit-learn's names, a function, or "precomputed", where X is the Gram matrix itself.
Estimators do not ask which: with a matrix the training points are its row numbers, and new points are rows of values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import Tags

from mercer.arrays.place import Place, list_devices
from mercer.arrays.tensors import host_array, is_tensor
from mercer.features.validate import takes_sparse, takes_vectors, validate_numbers
from mercer.formula.data import Rows
from mercer.kernels import Gaussian, Kernel, Precomputed
from mercer.kernels.custom import MatrixRows

from .kernels import check_psd, check_rows, default_gaussian, resolve_kernel


class KernelArgument:
    """What an estimator was given as kernel.

    Parameters
    ----------
    owner : estimator
        Whose argument it is: for messages, and for its parameters ``memory`` and ``device``.
    value : Kernel, str, callable or None
        The argument itself.
    """

    is_matrix = False

    def __init__(self, owner: Any, value: Any) -> None:
        self.owner, self.value = owner, value

    def check(self, X: Rows, *, reset: bool) -> Rows:
        """Return the data as the kernel can take it; names and functions get rows of numbers, as in scikit-learn."""
        return check_rows(self.owner, X, self.value, reset=reset)

    def resolve(self, X: Rows, *, assume_psd: bool = False, **options: Any) -> Kernel:
        """Return the kernel of checked training data, proved or searched; options are those of ``resolve_kernel``."""
        kernel = resolve_kernel(self.owner, self.value, X, **options)
        if isinstance(self.value, Kernel) and not assume_psd:
            check_psd(self.owner, kernel, X)
        return kernel

    def points(self, X: Rows) -> Rows:
        """Return what the kernel takes for checked training data."""
        return X

    def new_points(self, X: Rows) -> Rows:
        """Check new data, and return what the kernel takes for it."""
        return self.check(X, reset=False)

    def place(self, *data: object) -> Place:
        """Return where to compute with data: the device asked for, that of tensors, or the host.

        Of several devices it is the first, for models that share work among them; for all others there is one.
        """
        device = self.owner.device
        several = list_devices(device) if getattr(self.owner, "shares_devices", False) else None
        return Place.find(device if several is None else several[0], self.owner.memory, *data)

    def pass_on(self, kernel: Kernel) -> Any:
        """Return the argument for an estimator inside that is fitted to the same data with the resolved kernel."""
        return kernel

    def spread(self, coef: np.ndarray, positions: np.ndarray | None, n: int) -> np.ndarray:
        """Return coefficients as ``dual_coef_`` has them: with zeros for training points that are not among them.

        ``positions`` are where the coefficients belong; None where they are not those of training points.
        """
        return coef if positions is None else _scatter(coef, positions, n)

    def describe(self, tags: Tags) -> Tags:
        """Say in scikit-learn's tags which data there may be."""
        tags.input_tags.sparse = takes_sparse(self.value) if isinstance(self.value, Kernel) else True
        tags.input_tags.pairwise = self.is_matrix
        tags.array_api_support = not isinstance(self.value, Kernel) or takes_vectors(self.value)
        return tags


class MatrixArgument(KernelArgument):
    """kernel="precomputed": X is the kernel between all training points, and of new points with those."""

    is_matrix = True

    def check(self, X: Rows, *, reset: bool) -> Rows:
        """Return the values as numbers on the host; there are no points to compute with on a device."""
        X = host_array(X)
        shape = getattr(X, "shape", None) or np.shape(X)
        n = None if reset else getattr(self.owner, "n_features_in_", None)
        if n is not None and len(shape) == 2 and shape[1] != n:
            raise ValueError(
                f"{type(self.owner).__name__}: with kernel='precomputed' new points are given as the kernel between "
                f"them and all {n} training points, shape (points, {n}); got shape {tuple(shape)}"
            )
        return super().check(X, reset=reset)

    def resolve(self, X: Rows, *, assume_psd: bool = False, **options: Any) -> Kernel:
        """Return the matrix as a kernel on its row numbers."""
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                f"{type(self.owner).__name__}: with kernel='precomputed' X is the kernel between all pairs of training "
                f"points, a square matrix; got shape {X.shape}"
            )
        return Precomputed(X.toarray() if sparse.issparse(X) else X)

    def points(self, X: Rows) -> Rows:
        """Return the row numbers."""
        return np.arange(X.shape[0])

    def new_points(self, X: Rows) -> Rows:
        """Return rows of kernel values, with all training points."""
        return MatrixRows(self.check(X, reset=False))

    def place(self, *data: object) -> Place:
        """Return the host, where the matrix is."""
        return Place.find(None, self.owner.memory)

    def pass_on(self, kernel: Kernel) -> Any:
        """Return "precomputed" again."""
        return self.value


class TableArgument(KernelArgument):
    """No kernel, where one is found for the columns of a table of numbers."""

    def check(self, X: Rows, *, reset: bool) -> Rows:
        """Return rows of numbers, none of them left out."""
        if is_tensor(X):
            return super().check(X, reset=reset)
        return validate_numbers(self.owner, X, reset=reset, accept_sparse=False)

    def describe(self, tags: Tags) -> Tags:
        """Say that there may be no sparse data."""
        tags.input_tags.sparse, tags.array_api_support = False, True
        return tags


def kernel_argument(owner: Any, value: Any = None, matrix: type[MatrixArgument] = MatrixArgument) -> KernelArgument:
    """Return the kernel argument of an estimator, or another value in its place; ``matrix`` serves "precomputed"."""
    value = owner.kernel if value is None else value
    is_matrix = isinstance(value, str) and value == "precomputed"
    return (matrix if is_matrix else KernelArgument)(owner, value)


class DefaultGaussian:
    """A mixin of models that take a Gaussian of the data's own scale where they are given no kernel."""

    kernel: Any
    assume_psd: bool

    def _argument(self) -> Any:
        """Return the kernel as data is checked for it."""
        return Gaussian() if self.kernel is None else self.kernel

    def _kernel_argument(self) -> KernelArgument:
        """Return the kernel as one object, which knows how data is checked for it."""
        return kernel_argument(self, self._argument())

    def _resolve_kernel(self, argument: Any, data: Any) -> Kernel:
        """Return the kernel that an argument stands for, checked."""
        if argument is None:
            return default_gaussian(data.points, data.weights, self._kernel_argument().place(data.X).device)
        return kernel_argument(self, argument).resolve(data.X, assume_psd=self.assume_psd)

    def __sklearn_tags__(self) -> Tags:
        return kernel_argument(self).describe(super().__sklearn_tags__())  # type: ignore[misc]


def _scatter(coef: np.ndarray, positions: np.ndarray, n: int) -> np.ndarray:
    if len(positions) == n and np.array_equal(positions, np.arange(n)):
        return coef
    out = np.zeros((n, *coef.shape[1:]))
    out[positions] = coef
    return out
