"""Kernels in exact rational arithmetic, for formulas made of rational operations only."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from mercer.kernels.data import Rows
from mercer.kernels.expression import Call, Const, Expression, Param, Stat, nodes
from mercer.kernels.statistics import Dot, SquaredDistance


def exact_gram(formula: Expression, points: Rows) -> list[list[Fraction]] | None:
    """Return the matrix of a formula over all pairs of points as fractions, or None if it is not rational.

    Every float is a fraction, so nothing is rounded at all.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Linear
    >>> exact_gram(((Linear() - 1) ** 2).traced(), np.array([[0.5]]))
    [[Fraction(9, 16)]]
    """
    images: dict[Stat, list[list[Fraction]]] = {}
    for node in nodes(formula):
        if isinstance(node, Stat):
            if type(node.statistic) not in (Dot, SquaredDistance):
                return None
            try:
                images[node] = _image(node.statistic, points)
            except (TypeError, ValueError):
                return None  # not numbers in a plain array, such as a sparse matrix
        elif not (isinstance(node, Const | Param) or (isinstance(node, Call) and node.op in _OPERATIONS)):
            return None
    n = len(points)

    def value(node: Any, i: int, j: int) -> Fraction:
        if isinstance(node, Stat):
            x, z = images[node][i], images[node][j]
            if isinstance(node.statistic, Dot):
                return sum((a * b for a, b in zip(x, z, strict=True)), Fraction(0))
            return sum(((a - b) ** 2 for a, b in zip(x, z, strict=True)), Fraction(0))
        if isinstance(node, Call):
            return _OPERATIONS[node.op](*(value(arg, i, j) for arg in node.args), *node.constants)
        return Fraction(node.value)

    return [[value(formula, i, j) for j in range(n)] for i in range(n)]


def _image(statistic: Any, points: Rows) -> list[list[Fraction]]:
    images = np.asarray(statistic.view.apply(points), dtype=float)
    scale = [Fraction(param.value) for param in getattr(statistic, "scale", ())] or [Fraction(1)] * images.shape[1]
    return [[Fraction(float(x)) / s for x, s in zip(row, scale, strict=True)] for row in images]


_OPERATIONS: dict[str, Any] = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "powi": lambda a, exponent: a ** int(exponent),
    "recip": lambda a: 1 / a if a else Fraction(0),  # as kernels define it
}
