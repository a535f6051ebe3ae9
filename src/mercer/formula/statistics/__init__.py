"""Statistics: the numbers about a pair of points that a kernel's formula is written in.

A statistic prepares both collections once (selects columns, centres, divides by length scales), then gives the
matrix of its values for any tile of pairs.  Most are sums over coordinates; dot products and squared distances
have faster forms through matrix products, and work on sparse matrices.
"""

from .base import LOOKED_AT, PREPARED, BlockStatistic, Prepared, Statistic, VectorStatistic, middle
from .vectors import (
    FURTHEST,
    AbsoluteDistance,
    CoordinateSum,
    DirectSquaredDistance,
    Dot,
    ScaledDistance,
    SquaredDistance,
    make_dense,
    square_norms,
    sum_of_terms,
)

__all__ = [
    "FURTHEST",
    "LOOKED_AT",
    "PREPARED",
    "AbsoluteDistance",
    "BlockStatistic",
    "CoordinateSum",
    "DirectSquaredDistance",
    "Dot",
    "Prepared",
    "ScaledDistance",
    "SquaredDistance",
    "Statistic",
    "VectorStatistic",
    "make_dense",
    "middle",
    "square_norms",
    "sum_of_terms",
]
