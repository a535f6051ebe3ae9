"""What every feature map shares: scikit-learn's transformer protocol around one function of a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from mercer import checks
from mercer.formula.data import Rows
from mercer.kernels import Gaussian, Kernel
from mercer.kernels.base import show_given

from .params import KernelParams
from .validate import takes_sparse, validate_numbers, validate_rows

Matrix: TypeAlias = "np.ndarray | sparse.csr_array"  # one row for each object
Seed: TypeAlias = int | np.random.RandomState | None


class FeatureMap(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A map φ with k(x, z) = φ(x)ᵀφ(z), exactly or approximately, as a transformer.

    Subclasses say what they learn from checked data (:meth:`_learn`), and either the name of the fitted attribute that
    maps it and names its features, or how to map it (:meth:`_map`) and how many features there are, to be numbered.
    """

    _takes_sparse = False
    _node: ClassVar[str] = ""

    def fit(self, X: Rows, y: object = None) -> Self:
        """Learn what the map needs to know of the data, at least its number of columns.

        Parameters
        ----------
        X : array or frame of shape (n, d)
            The data.
        y : ignored
            Here because pipelines pass it.

        Returns
        -------
        self
        """
        self._learn(self._check(X, reset=True))
        return self

    def transform(self, X: Rows) -> Matrix:
        """Return the features φ(x) of all points.

        Parameters
        ----------
        X : array or frame of shape (n, d)
            The data.

        Returns
        -------
        array of shape (n, n_features_out)
        """
        check_is_fitted(self)
        return self._map(self._check(X, reset=False))

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> np.ndarray:
        """Return the name of every feature.

        It is made of the names of the inputs (``x0``, ``x1``, … if they have none), or numbered (``nystroem0``,
        ``nystroem1``, …) where features have no formula worth reading.
        """
        check_is_fitted(self)
        if not self._node:
            return np.array(number_features(self, self._count_features()), dtype=object)
        columns = input_features is not None or hasattr(self, "n_features_in_")  # objects have none
        inputs = [str(name) for name in _check_feature_names_in(self, input_features)] if columns else []
        return np.array(number_repeated(getattr(self, self._node).names(inputs)), dtype=object)

    def _check(self, X: Rows, *, reset: bool) -> Rows:
        accepted = "csr" if self._takes_sparse else False
        return validate_numbers(self, X, reset=reset, accept_sparse=accepted)

    def _learn(self, X: Rows) -> None:
        """Set the fitted attributes."""

    def _map(self, X: Rows) -> Matrix:
        return getattr(self, self._node)(X)

    def _count_features(self) -> int:
        return int(getattr(self, self._node).width)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class KernelMap(KernelParams, FeatureMap):
    """A map made from a kernel, of whatever objects the kernel takes."""

    kernel_: Kernel

    kernel: Kernel | None
    _default: ClassVar[Kernel] = Gaussian()

    def _choose_kernel(self) -> Kernel:
        given: object = self._default if self.kernel is None else self.kernel
        if isinstance(given, Kernel):
            return given
        name = getattr(given, "__name__", "function")
        is_function = callable(given) and not isinstance(given, type)
        hint = f"mercer.kernels.Custom({name})" if is_function else "Gaussian()"
        raise TypeError(
            f"{type(self).__name__}: kernel must be a mercer kernel, for example {hint}; got {show_given(given)}"
        )

    def _check(self, X: Rows, *, reset: bool) -> Rows:
        return validate_rows(self, X, self._choose_kernel() if reset else self.kernel_, reset=reset)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse or self.kernel is None or takes_sparse(self.kernel)
        return tags


def number_repeated(names: list[str]) -> list[str]:
    """Return the names with repeated ones numbered, because frames need distinct column names."""
    seen: dict[str, int] = {}
    result = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        result.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return result


def number_features(owner: object, count: int) -> list[str]:
    """Return ``nystroem0``, ``nystroem1``, …: scikit-learn's names for features that have no formula worth reading."""
    return [f"{type(owner).__name__.lower()}{i}" for i in range(count)]


def check_count(owner: object, name: str) -> int:
    """Return a parameter that counts something, or raise if it is not a whole number of at least 1."""
    return checks.check_count(type(owner).__name__, name, getattr(owner, name))
