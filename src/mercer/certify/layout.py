"""How verdicts are laid out as text: numbers, points, tables and proof trees."""

from __future__ import annotations

import math
import reprlib
import sys
import textwrap
from collections.abc import Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction

import numpy as np

from mercer.kernels.theorem import Theorem
from mercer.markup import Markup, show_fold, show_text

WIDTH = 110
MOST_STEPS = 200  # of a proof that is folded
DEEPEST = 24  # claims inside each other there
_DIGITS = "0123456789"


def format_number(value: float | Fraction | Decimal, digits: int = 5) -> str:
    """Return a number in a few significant digits, with a true minus sign."""
    near = to_float(value)
    if value and (math.isinf(near) or abs(near) < sys.float_info.min):  # beyond what floats hold in full
        with localcontext(Context(prec=digits + 5, Emax=MAX_EMAX, Emin=MIN_EMIN)):
            exact = Decimal(value.numerator) / Decimal(value.denominator) if isinstance(value, Fraction) else value
            mantissa, _, power = f"{Decimal(exact):.{digits - 1}e}".partition("e")
            text = f"{mantissa.rstrip('0').rstrip('.')}e{power}"
    else:
        text = f"{near + 0.0:.{digits}g}"
    return text.replace("-", "−")


def to_float(value: float | Fraction | Decimal) -> float:
    """Return the nearest float, infinite for what is too large."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def raise_digits(n: int) -> str:
    """Return a whole number in superscript."""
    return str(n).translate(str.maketrans(_DIGITS, "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def lower_digits(n: int) -> str:
    """Return a whole number in subscript."""
    return str(n).translate(str.maketrans(_DIGITS, "₀₁₂₃₄₅₆₇₈₉"))


def format_point(x: object) -> str:
    """Return a point: coordinates in parentheses, or the object's own text."""
    if isinstance(x, np.ndarray) and x.dtype.kind in "biuf":
        flat = x.ravel()
        if flat.size == 1:
            return _format_coordinate(flat[0])
        shown = [_format_coordinate(value) for value in flat[:12]]
        return f"({', '.join(shown)}{', …' if flat.size > 12 else ''})"
    if isinstance(x, float | np.floating):
        return _format_coordinate(x)
    return reprlib.repr(x.item() if isinstance(x, np.generic) else x)


def _format_coordinate(value: float | np.generic) -> str:
    # Points must be copied exactly to reproduce a value, so unlike other numbers they are never shortened.
    return repr(float(value) + 0.0).removesuffix(".0").replace("-", "−")


def align_columns(rows: Sequence[Sequence[str]], right: bool = False) -> list[str]:
    """Return rows of text with aligned columns."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    justify = str.rjust if right else str.ljust
    return ["   ".join(justify(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def draw_proof(proof: Theorem) -> list[str]:
    """Return a proof as a tree: under each claim what it rests on, and only the name of a claim shown before."""
    shown: set[Theorem] = set()

    def wrap(text: str, first: str, rest: str) -> list[str]:
        lines = textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False)
        return lines or [first]

    def draw(node: Theorem) -> list[str]:
        if node in shown and (node.parts or len(node.because) > 40):
            return [f"{node.claim}  (shown above)"]
        shown.add(node)
        bar = "│ " if node.parts else "  "
        lines = wrap(node.claim, "", bar) + wrap(node.because, f"{bar}because ", f"{bar}        ")
        for i, part in enumerate(node.parts, start=1):
            first, *others = draw(part)
            joint, rest = ("└─ ", "   ") if i == len(node.parts) else ("├─ ", "│  ")
            lines += [f"{joint}{first}", *(f"{rest}{line}" for line in others)]
        return lines

    return draw(proof)


def fold_proof(proof: Theorem) -> Markup:
    """Return a proof as a tree of parts that unfold, the conclusion open; a claim shown before is only named again."""
    shown: set[Theorem] = set()

    def fold(node: Theorem, depth: int) -> Markup:
        if node in shown and (node.parts or len(node.because) > 40):
            return show_text(f"{node.claim} (shown above)")
        if depth == DEEPEST or len(shown) >= MOST_STEPS:
            return show_text("… and more: print the certificate to read all of it")
        shown.add(node)
        parts = [fold(part, depth + 1) for part in node.parts]
        return show_fold(node.claim, show_text(f"because {node.because}"), *parts, is_open=depth == 0)

    return fold(proof, 0)
