"""The functions that Nyström centres span, as features of their own."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from mercer.arrays.tensors import host_array
from mercer.formula.data import Rows
from mercer.gram import Gram
from mercer.linalg.decomposition import decompose

from ..base import Problem
from ..rounding import SURE
from .fit import RidgeFit


class Features(Protocol):
    """A function in explicit features: φ(x)ᵀw + b."""

    w: np.ndarray
    intercept: Any

    def features(self, X: Rows) -> np.ndarray:
        """Return φ at points, shape (points, D)."""


class CenterFeatures:
    """The features that Nyström centres span, φ(x) = Λ^{-1/2}Qᵀk(z, x) with K_mm = QΛQᵀ, and the function in them.

    Leaving a point out leaves the centres as they are.
    """

    def __init__(self, record: RidgeFit, problem: Problem) -> None:
        function = record.expansion
        self._kernel, self._centers, self._memory = function.kernel, host_array(function.centers), problem.memory
        values, vectors = decompose(Gram(self._kernel, self._centers, memory=self._memory, dtype=np.float64).dense())
        kept = values > SURE * max(float(values[-1]), 0.0)
        roots = np.sqrt(values[kept])
        self._map = vectors[:, kept] / roots
        coef = np.asarray(function.coef).reshape(len(vectors), -1)
        self.w = (vectors[:, kept] * roots).T @ coef
        self.intercept = function.intercept

    def features(self, X: Rows) -> np.ndarray:
        """Return φ at points, shape (points, D)."""
        values = Gram(self._kernel, X, self._centers, memory=self._memory, dtype=np.float64).dense()
        return np.asarray(values @ self._map)
