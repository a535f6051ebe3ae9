"""What every feature map shares: scikit-learn's transformer protocol around one function of a matrix."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from mercer.formula.data import Rows, refuse_masked


class FeatureMap(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A map φ with k(x, z) = φ(x)ᵀφ(z), exactly or approximately, as a transformer.

    Subclasses say what they learn (:meth:`_learn`), how they map a checked matrix (:meth:`_map`) and what their
    columns are called (:meth:`_names`).
    """

    _takes_sparse = False

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
        self._learn(self._checked(X, reset=True))
        return self

    def transform(self, X: Rows) -> Any:
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
        return self._map(self._checked(X, reset=False))

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> np.ndarray:
        """Return the name of every feature, made of the names of the inputs (``x0``, ``x1``, … if they have none)."""
        check_is_fitted(self)
        columns = input_features is not None or hasattr(self, "n_features_in_")  # objects have none
        inputs = [str(name) for name in _check_feature_names_in(self, input_features)] if columns else []
        return np.array(distinct(self._names(inputs)), dtype=object)

    def _checked(self, X: Rows, *, reset: bool) -> Any:
        sparse = "csr" if self._takes_sparse else False
        refuse_masked(X, type(self).__name__)
        return validate_data(self, X, reset=reset, accept_sparse=sparse, dtype=[np.float64, np.float32])

    def _learn(self, X: Any) -> None:
        """Set the fitted attributes."""

    def _map(self, X: Any) -> Any:
        """Return the features of a checked matrix."""
        raise NotImplementedError

    def _names(self, inputs: list[str]) -> list[str]:
        """Return one name for each feature."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def distinct(names: list[str]) -> list[str]:
    """Return the names with repeated ones numbered, because frames need distinct column names.

    Examples
    --------
    >>> distinct(["x0", "x1", "x0"])
    ['x0', 'x1', 'x0 (2)']
    """
    seen: dict[str, int] = {}
    result = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        result.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return result


def numbered(owner: object, count: int) -> list[str]:
    """Return ``nystroem0``, ``nystroem1``, …: scikit-learn's names for features that have no formula worth reading."""
    return [f"{type(owner).__name__.lower()}{i}" for i in range(count)]


def check_count(owner: object, name: str) -> int:
    """Return a parameter that counts something, or raise if it is not a whole number of at least 1."""
    value = getattr(owner, name)
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 1:
        raise ValueError(f"{type(owner).__name__}: {name} must be a whole number of at least 1, got {value!r}")
    return int(value)
