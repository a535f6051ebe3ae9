"""Tensor sketch: polynomial kernels of any degree in few features, by hashing and fast Fourier transforms."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.formula.parameters import LARGEST_EXACT, check_integer, check_positive

from .base import FeatureMap, Matrix, Seed, check_count
from .polynomial import MOST_FEATURES


class TensorSketch(FeatureMap):
    """Random features for the polynomial kernel, E φ(x)ᵀφ(z) = (xᵀz + c)^q, whatever the number of monomials.

    Built on scikit-learn's ``PolynomialCountSketch`` (Pham and Pagh, 2013); the error falls like 1/√D.

    Parameters
    ----------
    degree : int, default=2
        The power q, a whole number of at least 1.
    offset : float, default=1.0
        The constant c, zero or more.
    n_components : int, default=100
        D, the number of features.
    random_state : int, RandomState or None, default=None
        The seed.

    Attributes
    ----------
    sketch_ : PolynomialCountSketch
        The fitted sketch.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.features import TensorSketch
    >>> X = np.eye(3)
    >>> features = TensorSketch(degree=3, n_components=4096, random_state=0).fit_transform(X)
    >>> (features @ features.T).round(0)
    array([[8., 1., 1.],
           [1., 8., 1.],
           [1., 1., 8.]])
    """

    sketch_: Any  # PolynomialCountSketch, which is loaded late

    _takes_sparse = True

    def __init__(
        self, degree: int = 2, offset: float = 1.0, n_components: int = 100, random_state: Seed = None
    ) -> None:
        self.degree = degree
        self.offset = offset
        self.n_components = n_components
        self.random_state = random_state

    def _check_fitted(self) -> None:
        """Raise if the sketch is none of so many inputs; files call this."""
        from sklearn.kernel_approximation import PolynomialCountSketch

        sketch = self.sketch_
        if not isinstance(sketch, PolynomialCountSketch):
            raise ValueError("TensorSketch: the sketch is none")
        inputs = getattr(self, "n_features_in_", None)
        if any(isinstance(part, int) and part > LARGEST_EXACT for part in (sketch.gamma, sketch.coef0)):
            raise ValueError("TensorSketch: a number is too large")
        check_positive(sketch, "gamma")
        check_positive(sketch, "coef0", allow_zero=True)
        for name in ("degree", "n_components"):
            check_integer(sketch, name, 1)
        if sketch.n_components > MOST_FEATURES:
            raise ValueError(f"TensorSketch: there are more than {MOST_FEATURES} features")
        shape = (sketch.degree, getattr(sketch, "n_features_in_", 0) + (sketch.coef0 != 0))
        places, signs = sketch.indexHash_, sketch.bitHash_
        right = places.shape == signs.shape == shape and places.dtype.kind == signs.dtype.kind == "i"
        if not right or inputs != sketch.n_features_in_ or not 0 <= places.min() <= places.max() < sketch.n_components:
            raise ValueError(f"TensorSketch: the hashes of {inputs} inputs do not fit them")

    def _learn(self, X: Matrix) -> None:
        from sklearn.kernel_approximation import PolynomialCountSketch

        check_integer(self, "degree", 1)
        check_positive(self, "offset", allow_zero=True)
        self.sketch_ = PolynomialCountSketch(
            gamma=1.0,
            degree=int(self.degree),
            coef0=float(self.offset),
            n_components=check_count(self, "n_components"),
            random_state=self.random_state,
        ).fit(X)

    def _map(self, X: Matrix) -> np.ndarray:
        return self.sketch_.transform(X).astype(X.dtype, copy=False)

    def _count_features(self) -> int:
        return int(self.sketch_.n_components)
