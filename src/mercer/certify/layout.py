"""How verdicts are laid out as text: numbers, points, tables and proof trees."""

from __future__ import annotations

import math
import reprlib
import sys
import textwrap
from collections.abc import Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np

from mercer.kernels.theorem import Theorem

WIDTH = 110


def number(value: float | Fraction | Decimal, digits: int = 5) -> str:
    """Return a number in a few significant digits, with a true minus sign.

    Examples
    --------
    >>> number(-0.1234567), number(Fraction(10) ** 400 / 3)
    ('−0.12346', '3.3333e+399')
    """
    near = _near(value)
    if value and (math.isinf(near) or abs(near) < sys.float_info.min):  # beyond what floats hold in full
        with localcontext(Context(prec=digits + 5, Emax=MAX_EMAX, Emin=MIN_EMIN)):
            exact = Decimal(value.numerator) / Decimal(value.denominator) if isinstance(value, Fraction) else value
            mantissa, _, power = f"{Decimal(exact):.{digits - 1}e}".partition("e")
            text = f"{mantissa.rstrip('0').rstrip('.')}e{power}"
    else:
        text = f"{near + 0.0:.{digits}g}"
    return text.replace("-", "−")


def _near(value: float | Fraction | Decimal) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def point(x: Any) -> str:
    """Return a point: coordinates in parentheses, or the object's own text."""
    if isinstance(x, np.ndarray) and x.dtype.kind in "biuf":
        flat = x.ravel()
        if flat.size == 1:
            return _coordinate(flat[0])
        shown = [_coordinate(value) for value in flat[:12]]
        return f"({', '.join(shown)}{', …' if flat.size > 12 else ''})"
    if isinstance(x, np.generic):
        return point(x.item()) if not isinstance(x, np.floating) else _coordinate(x)
    if isinstance(x, float):
        return _coordinate(x)
    return reprlib.repr(x)


def _coordinate(value: Any) -> str:
    # Points must be copied exactly to reproduce a value, so unlike other numbers they are never shortened.
    text = repr(float(value) + 0.0)
    return text.removesuffix(".0").replace("-", "−")


def table(rows: Sequence[Sequence[str]], right: bool = False) -> list[str]:
    """Return rows of text with aligned columns."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    justify = str.rjust if right else str.ljust
    return ["   ".join(justify(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def proof_lines(proof: Theorem) -> list[str]:
    """Return a proof as a tree: the conclusion first, and under each claim what it rests on.

    A claim that was shown before is only named.
    """
    shown: set[Theorem] = set()

    def lines(node: Theorem, prefix: str) -> list[str]:
        if node in shown and (node.parts or len(node.because) > 40):
            return [f"{prefix}{node.claim}  (shown above)"]
        shown.add(node)
        bar = "│ " if node.parts else "  "
        out = _wrapped(node.claim, prefix, prefix + bar)
        out += _wrapped(node.because, f"{prefix}{bar}because ", f"{prefix}{bar}        ")
        for i, part in enumerate(node.parts):
            last = i == len(node.parts) - 1
            inner = lines(part, "")
            joint, rest = ("└─ ", "   ") if last else ("├─ ", "│  ")
            out += [f"{prefix}{joint}{inner[0]}", *(f"{prefix}{rest}{line}" for line in inner[1:])]
        return out

    return lines(proof, "")


def _wrapped(text: str, first: str, rest: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False) or [first]
