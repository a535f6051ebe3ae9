"""The names of features as mathematics, for the axes of pictures."""

from __future__ import annotations

import math
import re
from typing import Any

from mercer.kernels import Kernel, Polynomial


def feature_names(kernel: Kernel, explicit: Any, names: tuple[str, str]) -> list[str]:
    """Return the names of features as formulas; monomials of a polynomial kernel with their weights."""
    found = [formula(str(name)) for name in explicit.get_feature_names_out(list(names))]
    if not isinstance(kernel, Polynomial):
        return found
    from mercer.features.polynomial import Monomials

    weights = Monomials(2, int(kernel.degree), float(kernel.offset)).weights()
    return [f"${_weight(w)}{text[1:]}" for w, text in zip(weights, found, strict=True)]


def _weight(weight: float) -> str:
    square = weight**2
    if math.isclose(square, 1.0):
        return ""
    return rf"\sqrt{{{round(square)}}}\," if math.isclose(square, round(square)) else rf"{weight:.3g}\,"


def formula(name: str) -> str:
    r"""Return a name such as ``x0^2`` as mathematics, if it is made of inputs without names of their own.

    Examples
    --------
    >>> formula("x0 x1"), formula("age^2")
    ('$x_{0} x_{1}$', '$\\mathrm{age}^{2}$')
    """
    text = re.sub(r"\bx(\d+)\b", r"x_{\1}", name)
    text = re.sub(r"\b([A-Za-z]{2,}\w*)", lambda m: rf"\mathrm{{{m[1]}}}".replace("_", r"\_"), text)
    return "$" + re.sub(r"\^(\d+)", r"^{\1}", text) + "$"
