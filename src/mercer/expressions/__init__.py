"""Kernels and functions of two points, read from text without running any of it."""

from __future__ import annotations

from mercer.kernels import Kernel

from ._syntax import ExpressionError, read
from .functions import PointFunction, is_function, parse_function
from .kernels import parse_kernel

__all__ = ["ExpressionError", "PointFunction", "parse_expression", "parse_function", "parse_kernel"]


def parse_expression(text: str) -> Kernel | PointFunction:
    """Read a function if the text mentions x or z, and otherwise a kernel.

    Parameters
    ----------
    text : str
        The expression.

    Examples
    --------
    >>> from mercer.expressions import parse_expression
    >>> parse_expression("2*gaussian + Linear()")
    2.0 * Gaussian(length_scale=1.0) + Linear()
    >>> parse_expression("min(x[0], z[0])")
    <function of x and z: min(x[0], z[0])>
    """
    return parse_function(text) if is_function(read(text).tree) else parse_kernel(text)
