"""Arithmetic of the numbers in an expression, which can neither overflow nor take long."""

from __future__ import annotations

import ast
import math
import operator
from typing import Any

from .syntax import Source, show

CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf}
LARGEST = 1e300
EXACT = 2**53  # whole numbers up to here stay whole

_OPERATIONS: dict[type[ast.operator], Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def is_number(value: object) -> bool:
    """Whether a value is a number and no truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def literal(source: Source, node: ast.Constant) -> int | float:
    """Return a number as it is written, unless it is no number or too large."""
    if not is_number(node.value):
        raise source.refuse(node)
    return _bounded(source, node, node.value)  # type: ignore[arg-type]


def combine(source: Source, node: ast.BinOp, left: int | float, right: int | float) -> int | float:
    """Return left ∘ right."""
    try:
        if isinstance(node.op, ast.Pow):
            return _bounded(source, node, _power(left, right))
        return _bounded(source, node, _OPERATIONS[type(node.op)](left, right))
    except KeyError:
        raise source.refuse(node) from None
    except ZeroDivisionError:
        raise source.error(node, "division by zero") from None
    except OverflowError:
        raise source.error(node, f"the number {show(left)} ** {show(right)} is too large") from None


def _power(base: int | float, exponent: int | float) -> int | float:
    # In floats, so that no whole number of a million digits is ever computed.
    value = float(base) ** float(exponent)
    if isinstance(value, complex):
        return math.nan
    whole = isinstance(base, int) and isinstance(exponent, int) and exponent >= 0 and abs(value) <= EXACT
    return base**exponent if whole else value


def _bounded(source: Source, node: ast.AST, value: int | float) -> int | float:
    if isinstance(value, float) and math.isnan(value):
        raise source.error(node, "this is not a real number")
    if abs(value) > LARGEST and not (isinstance(value, float) and math.isinf(value)):
        raise source.error(node, f"the number is too large; numbers go up to {LARGEST:g}")
    return value if abs(value) <= EXACT else float(value)
