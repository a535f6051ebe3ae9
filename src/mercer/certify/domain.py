"""Which points a composed kernel takes: the most demanding of the kernels inside decides."""

from __future__ import annotations

import numbers
from collections.abc import Iterator

import numpy as np

from mercer.kernels.base import Domain, Kernel
from mercer.kernels.custom import Precomputed
from mercer.kernels.parameters import is_vector
from mercer.kernels.pullback import After, On

_DEMANDING: tuple[Domain, ...] = ("objects", "indices", "categories", "nonnegative", "real")


def inside(kernel: Kernel) -> Iterator[Kernel]:
    """Yield a kernel and the kernels inside it that see the same points (those behind a map see others)."""
    yield kernel
    if isinstance(kernel, After):
        return
    for value in kernel.get_params(deep=False).values():
        if isinstance(value, Kernel):
            yield from inside(value)


def domain_of(kernel: Kernel) -> Domain:
    """Return the most demanding domain of the kernels inside.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Intersection
    >>> domain_of(Gaussian() + 2.0 * Intersection())
    'nonnegative'
    """
    found = {part.domain for part in inside(kernel)}
    return next(domain for domain in _DEMANDING if domain in found)


def likely_dims(kernel: Kernel) -> list[int]:
    """Numbers of features worth trying: 1, 2 and 3, and those that columns and length scales ask for.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> likely_dims(Gaussian([1.0, 2.0, 1.0, 1.0]))
    [1, 2, 3, 4]
    """
    dims = {1, 2, 3}
    for part in inside(kernel):
        if isinstance(part, On):
            dims.update(int(c) + 1 for c in part.chosen() if isinstance(c, numbers.Integral) and int(c) >= 0)
        scale = getattr(part, "length_scale", None)
        if scale is not None and is_vector(scale):
            dims.add(len(scale))
    return sorted(dims)


def row_numbers(kernel: Kernel) -> np.ndarray:
    """Return the row numbers that every finished matrix inside a kernel has."""
    sizes = [len(part.matrix) for part in inside(kernel) if isinstance(part, Precomputed)]
    return np.arange(min(sizes))
