"""Random hashes of counts: two rows have the same hash as often as they have something in common.

Consistent weighted sampling (Ioffe, ICDM 2010) chooses a place and a level of a row such that two rows agree with the
probability Σ min(x, z) / Σ max(x, z), which is the min-max kernel, and on bits Tanimoto's.  A random sign of what was
chosen makes one feature of each sample: signs of different choices cancel in the mean.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from scipy import sparse
from sklearn.utils import Tags, check_random_state

from mercer.arrays.shapes import Axes
from mercer.formula.data import Rows
from mercer.kernels.fingerprints.data import check_counts

from .base import FeatureMap, Matrix, Seed, check_count

FACTORS = np.array([0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB], dtype=np.uint64)  # of splitmix64


class MinMaxHash(FeatureMap):
    """Random features for the min-max kernel, E φ(x)ᵀφ(z) = Σ min(x, z) / Σ max(x, z), on bits Tanimoto's.

    Each feature is the sign, ± 1/√D, of a random hash of a row, which two rows share with that probability; the error
    falls like 1/√D, and φ(x)ᵀφ(x) = 1.  With them, a linear model learns from millions of molecules.

    Parameters
    ----------
    n_components : int, default=100
        D, the number of features.
    random_state : int, RandomState or None, default=None
        The seed.

    Attributes
    ----------
    rates_, offsets_, logarithms_ : arrays of shape (D, d)
        The random numbers of each sample and place: the steps between levels, where levels begin, and logarithms of
        what places are compared by.
    seeds_ : array of shape (D,)
        What signs are drawn from.

    Examples
    --------
    >>> from mercer.features import MinMaxHash
    >>> features = MinMaxHash(n_components=4000, random_state=0).fit_transform([[2, 0, 1], [1, 0, 1], [0, 3, 0]])
    >>> (features @ features.T).round(1) + 0.0
    array([[1. , 0.7, 0. ],
           [0.7, 1. , 0. ],
           [0. , 0. , 1. ]])
    """

    rates_: Annotated[np.ndarray, Axes("D+ d")]
    offsets_: Annotated[np.ndarray, Axes("D d")]
    logarithms_: Annotated[np.ndarray, Axes("D d")]
    seeds_: Annotated[np.ndarray, Axes("D", of="i")]

    _takes_sparse = True

    def __init__(self, n_components: int = 100, random_state: Seed = None) -> None:
        self.n_components = n_components
        self.random_state = random_state

    def _check(self, X: Rows, *, reset: bool) -> Rows:
        checked = super()._check(X, reset=reset)
        try:
            check_counts(checked, type(self).__name__)
        except ValueError as error:
            raise ValueError(f"Negative values in data: {error}") from None  # as scikit-learn says it
        return checked

    def _learn(self, X: Matrix) -> None:
        shape, rng = (check_count(self, "n_components"), X.shape[1]), check_random_state(self.random_state)
        self.rates_ = rng.gamma(2.0, size=shape)
        self.offsets_ = rng.uniform(size=shape)
        self.logarithms_ = np.log(rng.gamma(2.0, size=shape))
        self.seeds_ = rng.randint(0, 2**62, size=shape[0], dtype=np.int64)

    def _map(self, X: Matrix) -> np.ndarray:
        count = len(self.seeds_)
        out = np.empty((X.shape[0], count), dtype=X.dtype)
        for i in range(X.shape[0]):
            places, values = _read_row(X, i)
            if len(places) == 0:
                out[i] = self._draw_signs(np.full(count, -1), np.zeros(count, dtype=np.int64))
                continue
            rates, offsets = self.rates_[:, places], self.offsets_[:, places]
            levels = np.floor(np.log(values) / rates + offsets)
            chosen = np.argmin(self.logarithms_[:, places] - rates * (levels - offsets + 1.0), axis=1)
            level = levels[np.arange(count), chosen].astype(np.int64)
            out[i] = self._draw_signs(places[chosen], level)
        return out

    def _draw_signs(self, places: np.ndarray, levels: np.ndarray) -> np.ndarray:
        """Return ± 1/√D for each sample, the same wherever place and level are."""
        first, second, third = FACTORS
        mixed = self.seeds_.astype(np.uint64) + first * places.astype(np.uint64) + second * levels.astype(np.uint64)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * second
        mixed = (mixed ^ (mixed >> np.uint64(27))) * third
        signs = np.where((mixed >> np.uint64(63)) == 1, 1.0, -1.0)
        return np.asarray(signs / np.sqrt(len(self.seeds_)))

    def _count_features(self) -> int:
        return len(self.seeds_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


def _read_row(X: Any, i: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the places of a row that are not 0, and what they hold."""
    if sparse.issparse(X):
        part = slice(X.indptr[i], X.indptr[i + 1])
        places, values = X.indices[part], X.data[part]
        kept = values > 0
        return places[kept], values[kept].astype(np.float64)
    places = np.flatnonzero(X[i])
    return places, X[i, places].astype(np.float64)
