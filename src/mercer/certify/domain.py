"""What is inside a composed kernel, and which points the kernels inside it see."""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, cast

import numpy as np

from mercer.formula.parameters import is_vector
from mercer.kernels.algebra import Exp, Normalized, Power, Product, Scaled, Sum
from mercer.kernels.base import Domain, Kernel, ObjectKernel
from mercer.kernels.custom import Precomputed
from mercer.kernels.pullback import After, On
from mercer.kernels.sets.kernels import MeanEmbedding, PairSum

_DEMANDING: tuple[Domain, ...] = ("objects", "indices", "categories", "nonnegative", "real")
_POINTWISE = (Sum, Scaled, Product, Power, Exp, Normalized)


def children(kernel: Kernel) -> dict[str, Kernel]:
    """Return the kernels that a kernel is made of, by the name of the parameter.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> children(2.0 * Gaussian())
    {'kernel': Gaussian(length_scale=1.0)}
    """
    values = {field.name: getattr(kernel, field.name) for field in fields(cast(Any, kernel))}
    return {name: value for name, value in values.items() if isinstance(value, Kernel)}


def replaceable(kernel: Kernel) -> dict[str, Kernel]:
    """Return the kernels inside of which only a proof and a text matter for those of this one."""
    return children(kernel) if type(kernel) in (*_POINTWISE, On, After, PairSum, MeanEmbedding) else {}


def features_inside(kernel: Kernel, dim: int | None) -> int | None:
    """Return how many features the kernels inside see where this one sees ``dim``; None if nobody knows.

    Arithmetic looks at the same points, and a choice of columns says how many it keeps.  Any other kernel may look at
    something else: a kernel on bags at their elements, a kernel after a map at the images.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, MeanEmbedding
    >>> features_inside(2.0 * Gaussian(), 5), features_inside(Gaussian().on([0, 3]), None)
    (5, 2)
    >>> features_inside(MeanEmbedding(Gaussian()), 5) is None
    True
    """
    if type(kernel) is On:
        return kernel.width(dim)
    return dim if type(kernel) in _POINTWISE else None


def size(kernel: Kernel, most: int) -> int:
    """Return the number of kernels inside a kernel, itself included, shared ones counted each time, up to ``most``."""
    known: dict[int, int] = {}
    waiting = [kernel]
    while waiting:
        inner = list(children(waiting[-1]).values())
        missing = [part for part in inner if id(part) not in known]
        if missing:
            waiting += missing
        else:
            done = waiting.pop()
            known[id(done)] = min(most, 1 + sum(known[id(part)] for part in inner))
    return known[id(kernel)]


def inside(kernel: Kernel) -> Iterator[Kernel]:
    """Yield a kernel and the kernels inside it that see the same points (those behind a map or in bags see others)."""
    waiting = [kernel]
    while waiting:
        part = waiting.pop()
        yield part
        if not isinstance(part, After | ObjectKernel):
            waiting += reversed(children(part).values())


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
        if isinstance(part, On) and features_inside(part, None) is not None:
            dims.update(int(c) + 1 for c in part.chosen() if isinstance(c, numbers.Integral) and int(c) >= 0)
        scale = getattr(part, "length_scale", None)
        if scale is not None and is_vector(scale):
            dims.add(len(scale))
    return sorted(dims)


def row_numbers(kernel: Kernel) -> np.ndarray:
    """Return the row numbers that every finished matrix inside a kernel has."""
    sizes = [len(part.matrix) for part in inside(kernel) if isinstance(part, Precomputed)]
    return np.arange(min(sizes))
