"""The kernel of a text that someone typed."""

from __future__ import annotations

import numpy as np

from mercer.arrays.threads import silence_warnings
from mercer.formula.syntax import ExpressionError
from mercer.kernels import Kernel
from mercer.kernels.text import parse_kernel

from ..limits import LONGEST_KERNEL, PlayError

DIMENSIONS = (1, 2)  # columns of points in a picture
LARGEST_ORDER = 100  # of sums that kernels are, such as Fourier's
MOST_PARTS = 100  # kernels inside a kernel


def read_kernel(text: str, dim: int | None = None) -> Kernel:
    """Return the kernel of a text, which is parsed and never run.

    Parameters
    ----------
    text : str
        What :func:`~mercer.kernels.text.parse_kernel` reads.
    dim : int, optional
        How many columns points have; one or two if not given.

    Returns
    -------
    Kernel

    Raises
    ------
    PlayError
        If the text is no kernel, or none of such points; ``column`` says where.

    Examples
    --------
    >>> from mercer.playground.composing import read_kernel
    >>> read_kernel("2*gaussian(1) + linear")
    2.0 * Gaussian(length_scale=1) + Linear()
    """
    if not isinstance(text, str):
        raise PlayError(f"a kernel is a text such as Gaussian(1.0); got {type(text).__name__}")
    if len(text) > LONGEST_KERNEL:
        raise PlayError(
            f"a kernel has at most {LONGEST_KERNEL} characters here, and this one has {len(text)}. Make it shorter.",
            LONGEST_KERNEL + 1,
        )
    try:
        kernel = parse_kernel(text)
    except ExpressionError as error:
        start = len(text) - len(text.lstrip())  # which the parser does not count
        raise PlayError(str(error), None if error.column is None else error.column + start) from None
    refused = ""
    if not is_quick(kernel):
        raise PlayError(
            f"{kernel!r} has an order, degree or number of parts that takes too long to draw. Choose smaller ones: "
            f"orders up to {LARGEST_ORDER}, and {MOST_PARTS} kernels in all."
        )
    for d in DIMENSIONS if dim is None else (dim,):
        try:
            with silence_warnings():
                kernel(np.full((1, d), 0.5))
        except (ValueError, TypeError, IndexError, KeyError, ArithmeticError) as error:
            if "overflow" in str(error):
                raise PlayError(f"{kernel!r} has values too large for a computer. Choose smaller parameters.") from None
            refused = f"{d} column{'s' * (d > 1)}: {' '.join(str(error).split())[:300]}"
        else:
            return kernel
    raise PlayError(
        f"this is no kernel of points with {refused}. Write one of vectors, such as Gaussian(1.0), or choose columns "
        "with .on([0])."
    )


def is_quick(kernel: Kernel) -> bool:
    """Whether a kernel can be drawn while someone waits.

    Examples
    --------
    >>> from mercer.kernels import Fourier
    >>> from mercer.playground.composing.reading import is_quick
    >>> is_quick(Fourier(8)), is_quick(Fourier(5000))
    (True, False)
    """
    values = kernel.get_params().items()
    large = [name for name, value in values if name.endswith("order") and value > LARGEST_ORDER]
    return not large and sum(isinstance(value, Kernel) for _, value in values) <= MOST_PARTS
