"""Kernels between fingerprints of molecules: what two of them have in common over what either of them has."""

from __future__ import annotations

from mercer.formula.expression import Expression
from mercer.formula.pair import Pair
from mercer.formula.parameters import NotNegative

from ..base import Kernel
from ..dot import Linear
from ..histogram import Intersection
from ..theorem import Theorem, strictly
from .statistics import Common, CommonCounts, mark_empty

EMPTY = "; at two points without entries, which are 0 with all others, it is 1"
INTEGRAL = (
    "product: c times 1/(s(a + b) − tc) = ∫₀^∞ e^(−usa) e^(−usb) e^(utc) du, a limit of conical sums of products of "
    "kernels for 0 ≤ t < 2s, where a = k(x, x), b = k(z, z), c = k(x, z) of the kernel below, and 2c ≤ a + b"
)
MONOMIALS = strictly(
    "the features include all monomials but the constant, times a positive function, and 1[x = 0]; at distinct points "
    "these are independent"
)


class Tanimoto(Kernel):
    """The Tanimoto kernel k(x, z) = xᵀz / (‖x‖² + ‖z‖² − xᵀz) between fingerprints, of bits the Jaccard index.

    Of bits it is the number that both have over the number that either has.  Points are rows of bits, of counts, or of
    any numbers, dense or sparse, or sets of hashes; two without any entry have the value 1.  It is a kernel because
    1/(a + b − c) = ∫ e^(−ta) e^(−tb) e^(tc) dt is one.  See Ralaivola et al., Neural Networks 18 (2005).

    Where all entries are 0 or 1, Gram matrices count bits, 64 at a time.

    See Also
    --------
    MinMax : the one for counts that is 1 − a metric; the same on bits.

    Examples
    --------
    >>> from mercer.kernels import Tanimoto
    >>> Tanimoto()([[1, 1, 0, 1], [1, 0, 0, 1], [0, 0, 1, 0]]).round(4)
    array([[1.    , 0.6667, 0.    ],
           [0.6667, 1.    , 0.    ],
           [0.    , 0.    , 1.    ]])
    >>> Tanimoto()([{3, 17, 99}], [{17, 99}, {4}]).round(4)
    array([[0.6667, 0.    ]])
    """

    because = INTEGRAL + EMPTY
    lemmas = (Linear().theorem(),)
    definite = MONOMIALS

    def formula(self, pair: Pair) -> Expression:
        """C / (a + b − c)."""
        common = pair.statistic(Common)
        return common / (pair.left(common) + pair.right(common) - common) + mark_empty(pair, common)


class MinMax(Kernel):
    """The min-max kernel k(x, z) = Σ_d min(x_d, z_d) / Σ_d max(x_d, z_d) between counts, also called Ruzicka.

    Points are rows without negative entries, dense or sparse (then of whole numbers), sets of hashes, or counts by
    hash; two without any entry have the value 1.  On bits it is :class:`Tanimoto`.  It is a kernel because Σ min is
    one, with Σ max = Σ x + Σ z − Σ min, and it is the chance that random hashes of two points agree.  See Ioffe, ICDM
    (2010).

    Examples
    --------
    >>> from mercer.kernels import MinMax
    >>> MinMax()([[2, 0, 1]], [[1, 0, 1], [0, 5, 0], [2, 0, 1]]).round(4)
    array([[0.6667, 0.    , 1.    ]])
    >>> MinMax()([{17: 2, 99: 1}], [{17: 1, 99: 1}]).round(4)
    array([[0.6667]])
    """

    domain = "nonnegative"
    because = INTEGRAL + EMPTY
    lemmas = (Intersection().theorem(),)
    definite = MONOMIALS

    def formula(self, pair: Pair) -> Expression:
        """Σ min / (Σ x + Σ z − Σ min)."""
        common = pair.statistic(CommonCounts)
        return common / (pair.left(common) + pair.right(common) - common) + mark_empty(pair, common)


class Tversky(Kernel):
    """Tversky's index k(x, z) = c / (c + α(a − c) + β(b − c)) of bits, where x has a, z has b and both have c.

    It is a kernel for α = β ≥ ½: ½ is Dice's coefficient, 1 is Tanimoto's, 2 that of Sokal and Sneath.  With α = β < ½
    it is none, and the certificate has points that show it.  Two points without any bit have the value 1.

    Parameters
    ----------
    alpha : float, default=1.0
        The weight α of what only x has.
    beta : float, default=1.0
        The weight β of what only z has.

    Raises
    ------
    ValueError
        If α ≠ β, which makes a function that is not symmetric, and so no kernel.

    Examples
    --------
    >>> from mercer.kernels import Tversky
    >>> Tversky(0.5, 0.5)([[1, 1, 0, 1]], [[1, 0, 0, 1]]).round(4)
    array([[0.8]])
    >>> Tversky(0.1, 0.1).certificate(dim=3)
    <Refuted: Tversky(alpha=0.1, beta=0.1) is not a kernel (3 points, value −0.33333)>
    """

    alpha: NotNegative = 1.0
    beta: NotNegative = 1.0

    domain = "bits"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.alpha != self.beta:
            one, other = 1.0 / (1.0 + self.alpha), 1.0 / (1.0 + self.beta)
            raise ValueError(
                f"Tversky: alpha and beta must be equal, got {self.alpha!r} and {self.beta!r}: otherwise "
                f"k([1, 1], [1, 0]) = {one:.4g} but k([1, 0], [1, 1]) = {other:.4g}, and a kernel is symmetric; take "
                "their mean for both"
            )

    def formula(self, pair: Pair) -> Expression:
        """C / (c + α(a − c) + β(b − c))."""
        common, weight = pair.statistic(Common, True), float(self.alpha)  # no parameter to learn: both move or none
        return common / (common + weight * (pair.left(common) + pair.right(common) - 2.0 * common)) + mark_empty(
            pair, common
        )

    def theorem(self) -> Theorem | None:
        """As for Tanimoto, if what only one of both has weighs enough."""
        return self.prove(INTEGRAL + EMPTY, Linear().theorem()) if self.alpha >= 0.5 else None
