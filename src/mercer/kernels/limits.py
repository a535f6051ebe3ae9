"""What no kernel from a text or a file may ask for, because its evaluation would take forever.

Whoever writes Python may write any kernel; texts and model files come from others.
"""

from __future__ import annotations

import math
from typing import Any

from mercer.formula.parameters import find_large

from .algebra import Power
from .value import Value, inner_values

LARGEST_POWER = 1000  # of powers of powers, multiplied
LARGEST_CHOICE = 100_000  # ways to choose the gaps of a word


def find_excess(value: Value) -> str | None:
    """Return what is too large in a kernel or loss whose parts were looked at before; None if nothing is.

    Examples
    --------
    >>> from mercer.kernels import GappedKmer, Polynomial
    >>> from mercer.kernels.limits import find_excess
    >>> find_excess(Polynomial(10**6))
    'Polynomial: degree goes up to 10000 here, got 1000000'
    >>> find_excess(GappedKmer(40, 20))
    'GappedKmer: there are too many ways to choose so many positions of a word'
    """
    if isinstance(value, Power) and _multiply_powers(value) > LARGEST_POWER:
        return f"powers of kernels go up to {LARGEST_POWER}, powers of powers multiplied"
    values: dict[str, Any] = value.get_params(deep=False)
    large, gaps = find_large(type(value), values), values.get("gaps", values.get("mismatches"))
    if large is None and gaps is not None and math.comb(int(values.get("length", 0)), int(gaps)) > LARGEST_CHOICE:
        return f"{type(value).__name__}: there are too many ways to choose so many positions of a word"
    return large


def _multiply_powers(kernel: Power) -> float:
    """Return the largest product of exponents from the outside to a leaf."""
    totals: dict[int, float] = {}
    for inner in inner_values(kernel):
        below = (totals[id(part)] for part in vars(inner).values() if id(part) in totals)
        totals[id(inner)] = max(below, default=1.0) * (float(inner.exponent) if isinstance(inner, Power) else 1.0)
    return totals[id(kernel)]
