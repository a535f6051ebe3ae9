"""Normalised formulas, k(x, z) / √(k(x, x) k(z, z)), without the large and small numbers that cancel in them.

Positive multiples cancel, products and powers are normalised factor by factor, an exponential exp(f) becomes exp(−d/2)
of the distance d = f(x, x) + f(z, z) − 2 f(x, z), and rows have unit length before dot products are formed of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .expression import Call, Const, Diagonal, Expression, Param, Stat, inverse_norms, power
from .statistics import Dot, UnitDot


def normalize_formula(formula: Expression) -> Expression:
    """Return a formula divided by the norms of its features, 0 where they vanish."""
    if isinstance(formula, Const | Param) and formula.value > 0:
        return Call("powi", (formula,), (0.0,))  # 1, and still a function of its hyperparameter
    if isinstance(formula, Stat) and type(formula.statistic) is Dot:
        return Stat(UnitDot(formula.statistic.view, formula.statistic.owner))
    if isinstance(formula, Call):
        first = formula.args[0]
        if formula.op == "exp":
            return np.exp(-0.5 * _spread_apart(first))
        if formula.op == "powi" and _is_not_negative(first):
            return power(normalize_formula(first), formula.constants[0])
        if formula.op == "mul" and all(map(_is_not_negative, formula.args)):
            return normalize_formula(first) * normalize_formula(formula.args[1])
    return formula * inverse_norms(formula)  # in this order the matrix is exactly symmetric


def _is_not_negative(formula: Expression) -> bool:
    """Whether a formula is known to be at least 0 where both points are the same, so that it has a square root."""
    if isinstance(formula, Const | Param):
        return formula.value > 0
    if isinstance(formula, Stat):
        return bool(getattr(formula.statistic, "degree", ""))
    if isinstance(formula, Call) and formula.op in ("add", "mul", "powi"):
        return all(map(_is_not_negative, formula.args))
    return isinstance(formula, Call) and formula.op in ("exp", "bessel")


def _spread_apart(formula: Expression) -> Expression:
    """Return f(x, x) + f(z, z) − 2 f(x, z)."""
    if isinstance(formula, Const | Param):
        return Const(0.0)
    if isinstance(formula, Stat):
        return formula.statistic.apart_formula()
    if isinstance(formula, Call):
        a, b = (*formula.args, *formula.args)[:2]
        if formula.op == "add":
            return _spread_apart(a) + _spread_apart(b)
        if formula.op == "mul" and isinstance(a, Const | Param):
            return a * _spread_apart(b)
        if formula.op == "mul" and isinstance(b, Const | Param):
            return b * _spread_apart(a)
    both: Any = Diagonal("left", formula) + Diagonal("right", formula)
    return both - 2.0 * formula
