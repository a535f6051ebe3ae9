"""Kernels that are functions of the dot product xᵀz."""

from __future__ import annotations

import math

import numpy as np

from mercer.formula.expression import Expression
from mercer.formula.pair import Pair
from mercer.formula.parameters import Finite, Natural, NotNegative

from .base import Kernel
from .theorem import Definiteness, finitely


class Linear(Kernel):
    """The linear kernel k(x, z) = xᵀz.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    because = "Σ aᵢaⱼ xᵢᵀxⱼ = ‖Σ aᵢxᵢ‖² ≥ 0"
    definite = finitely(separates=True, positive=False)

    def formula(self, pair: Pair) -> Expression:
        """xᵀz."""
        return pair.dot()

    def feature_dim(self, d: int) -> float:
        """The inputs themselves."""
        return d


class Polynomial(Kernel):
    """The polynomial kernel k(x, z) = (xᵀz + c)^q.

    Parameters
    ----------
    degree : int, default=2
        The power q, a whole number of at least 1.
    offset : float, default=1.0
        The constant c, zero or more.  With 0 only monomials of degree q are features, otherwise all up to q.

    Examples
    --------
    >>> from mercer.kernels import Polynomial
    >>> Polynomial(degree=2, offset=1.0)([[-1.0], [0.0], [1.0]])
    array([[4., 1., 0.],
           [1., 1., 1.],
           [0., 1., 4.]])
    """

    degree: Natural = 2
    offset: NotNegative = 1.0
    because = "power of a conical sum: xᵀz + c has the features (x, √c), and powers of kernels are kernels (Schur)"
    lemmas = (Linear().theorem(),)

    def formula(self, pair: Pair) -> Expression:
        """(xᵀz + c)^q."""
        return (pair.dot() + pair.param("offset")) ** self.degree

    def definiteness(self, d: int | None) -> Definiteness:
        """Finitely many features, which are those of −x as well if all are of even degree."""
        return finitely(separates=self.offset > 0 or self.degree % 2 == 1, positive=self.offset > 0)

    def feature_dim(self, d: int) -> float:
        """Monomials of degree up to q, or exactly q when c = 0."""
        return math.comb(d + int(self.degree) - (0 if self.offset > 0 else 1), int(self.degree))


class Sigmoid(Kernel):
    """The hyperbolic tangent k(x, z) = tanh(a·xᵀz + c), which is *not* positive semi-definite.

    It is kept because it has been used for long; its certificate is Refuted.

    Parameters
    ----------
    scale : float, default=1.0
        The factor a.
    offset : float, default=1.0
        The constant c.
    """

    scale: Finite = 1.0
    offset: Finite = 1.0

    def formula(self, pair: Pair) -> Expression:
        """tanh(a·xᵀz + c)."""
        return np.tanh(pair.param("scale") * pair.dot() + pair.param("offset"))
