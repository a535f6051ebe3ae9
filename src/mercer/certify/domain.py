"""What is inside a composed kernel, and which points the kernels inside it see."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from typing import Any, TypeVar, cast

import numpy as np

from mercer.formula.parameters import is_vector
from mercer.kernels.algebra import Exp, Normalized, Power, Product, Scaled, Sum
from mercer.kernels.base import Domain, Kernel
from mercer.kernels.custom import Precomputed
from mercer.kernels.mapping import LinearMap
from mercer.kernels.prepared import ObjectKernel
from mercer.kernels.pullback import After, On
from mercer.kernels.sets.kernels import MeanEmbedding, PairSum

_DEMANDING: tuple[Domain, ...] = ("objects", "indices", "categories", "bits", "nonnegative", "directions", "real")
_POINTWISE = (Sum, Scaled, Product, Power, Exp, Normalized)
T = TypeVar("T")


def get_children(kernel: Kernel) -> dict[str, Kernel]:
    """Return the kernels that a kernel is made of, by the name of the parameter."""
    values = {field.name: getattr(kernel, field.name) for field in fields(cast(Any, kernel))}
    return {name: value for name, value in values.items() if isinstance(value, Kernel)}


def get_replaceable(kernel: Kernel) -> dict[str, Kernel]:
    """Return the kernels inside of which only a proof and a text matter for those of this one."""
    return get_children(kernel) if type(kernel) in (*_POINTWISE, On, After, PairSum, MeanEmbedding) else {}


def walk_inside_out(start: T, get_parts: Callable[[T], Iterable[T]], is_known: Callable[[T], bool]) -> Iterator[T]:
    """Yield what is not known yet, parts before the whole; in a loop, because a composition may be deep."""
    waiting = [start]
    while waiting:
        missing = [part for part in get_parts(waiting[-1]) if not is_known(part)]
        waiting += missing
        if not missing:
            done = waiting.pop()
            if not is_known(done):
                yield done


def count_features_inside(kernel: Kernel, dim: int | None) -> int | None:
    """Return how many features the kernels inside see where this one sees ``dim``; None if nobody knows.

    Arithmetic looks at the same points, and a choice of columns and a linear map say how many they make.  Any other
    kernel may look at something else: a kernel on bags at their elements, a kernel after a map at the images.
    """
    if type(kernel) is After and isinstance(kernel.map, LinearMap):
        return int(kernel.map.matrix.shape[1])
    if type(kernel) is On:
        return kernel.width(dim)
    return dim if type(kernel) in _POINTWISE else None


def count_parts(kernel: Kernel, most: int) -> int:
    """Return the number of kernels inside a kernel, itself included, shared ones counted each time, up to ``most``."""
    known: dict[int, int] = {}
    for part in walk_inside_out(kernel, lambda k: get_children(k).values(), lambda k: id(k) in known):
        known[id(part)] = min(most, 1 + sum(known[id(child)] for child in get_children(part).values()))
    return known[id(kernel)]


def walk_same_points(kernel: Kernel) -> Iterator[Kernel]:
    """Yield a kernel and the kernels inside it that see the same points (those behind a map or in bags see others)."""
    waiting = [kernel]
    while waiting:
        part = waiting.pop()
        yield part
        if not isinstance(part, After | ObjectKernel):
            waiting += reversed(get_children(part).values())


def find_domain(kernel: Kernel) -> Domain:
    """Return the most demanding domain of the kernels inside."""
    found = {part.domain for part in walk_same_points(kernel)}
    return next(domain for domain in _DEMANDING if domain in found)


def list_likely_dims(kernel: Kernel) -> list[int]:
    """Return numbers of features worth trying: 1, 2 and 3, and those that columns, maps and length scales ask for."""
    dims = {1, 2, 3} if find_domain(kernel) != "bits" else {3, 5, 12}  # fewer bits are a handful of points
    for part in walk_same_points(kernel):
        if isinstance(part, On) and count_features_inside(part, None) is not None:
            dims.update(int(c) + 1 for c in part.chosen() if isinstance(c, numbers.Integral) and int(c) >= 0)
        if isinstance(part, After) and isinstance(part.map, LinearMap):
            dims.add(len(part.map.matrix))
        scale = getattr(part, "length_scale", None)
        if scale is not None and is_vector(scale):
            dims.add(len(scale))
    return sorted(dims)


def get_matrix(kernel: Kernel) -> np.ndarray | None:
    """Return the matrix of a kernel that is nothing but a finished one."""
    return np.asarray(kernel.matrix) if isinstance(kernel, Precomputed) else None


def list_row_numbers(kernel: Kernel) -> np.ndarray:
    """Return the row numbers that every finished matrix inside a kernel has."""
    matrices = map(get_matrix, walk_same_points(kernel))
    return np.arange(min(len(matrix) for matrix in matrices if matrix is not None))
