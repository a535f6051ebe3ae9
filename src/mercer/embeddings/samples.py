"""Samples as the rest of this folder takes them: checked, joined, and with a kernel of their own scale."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.arrays.namespace import namespace
from mercer.arrays.place import Place
from mercer.arrays.tensors import is_tensor
from mercer.features.validate import takes_structures, takes_vectors
from mercer.formula.data import Rows, as_matrix, concatenate, length
from mercer.gram import Gram
from mercer.kernels import Gaussian, Kernel
from mercer.kernels.base import show_given
from mercer.learning.length_scales import median_distance

SINGLE = 2048  # points up to which kernel values are in float64: beyond, what rounding does is far below all noise
SCALES = (0.25, 0.5, 1.0, 2.0, 4.0)  # of several kernels, in units of the median distance

Kernels = Kernel | Sequence[Kernel] | None


def check_sample(owner: str, name: str, X: Rows, kernel: Kernel | None, least: int) -> Rows:
    """Return a sample as its kernel takes it, or say what is wrong with it; without a kernel it must be of numbers."""
    if isinstance(X, str | bytes):
        raise TypeError(f"{owner}: {name} must be a collection of objects such as a list, got the text {X!r}")
    if not is_tensor(X) and (kernel is None or takes_vectors(kernel)):
        try:
            X = as_matrix(X, owner, allow_sparse=True, copy=False)
        except (TypeError, ValueError) as error:
            objects = kernel is None and isinstance(error, TypeError)  # numbers that are wrong need no other kernel
            hint = "; give a kernel that takes such objects" if objects else ""
            raise type(error)(f"{error} ({name} of {owner}{hint})") from None
    n = length(X)
    if n < least:
        raise ValueError(f"{owner} needs at least {least} points in {name}, got {n}; draw a larger sample")
    return X


def check_two(
    owner: str, X: Rows, Y: Rows, kernel: Kernel | None, least: int, names: tuple[str, str] = ("X", "Y")
) -> tuple[Rows, Rows]:
    """Return two samples of the same kind of objects."""
    X, Y = check_sample(owner, names[0], X, kernel, least), check_sample(owner, names[1], Y, kernel, least)
    shapes: list[Any] = [getattr(side, "shape", ()) for side in (X, Y)]
    objects = kernel is not None and takes_structures(kernel)
    if not objects and all(len(shape) == 2 for shape in shapes) and shapes[0][1] != shapes[1][1]:
        raise ValueError(
            f"{owner} compares points of one space, but {names[0]} has {shapes[0][1]} features and {names[1]} has "
            f"{shapes[1][1]}; give both the same columns"
            + ", or use HSICTest to ask whether pairs depend on each other"
            * (names == ("X", "Y"))
        )
    return X, Y


def check_paired(owner: str, **samples: Rows) -> int:
    """Return how many pairs there are, or raise if samples are of different length."""
    sizes = {name: length(sample) for name, sample in samples.items()}
    if len(set(sizes.values())) > 1:
        shown = ", ".join(f"{name} has {size}" for name, size in sizes.items())
        raise ValueError(
            f"{owner} compares pairs, the i-th point of each sample with the i-th of the others, so all must have as "
            f"many points: {shown}"
        )
    return next(iter(sizes.values()))


def join(X: Rows, Y: Rows) -> Rows:
    """Return the points of X followed by those of Y.

    Examples
    --------
    >>> join(["a"], ["b", "c"])
    ['a', 'b', 'c']
    """
    if is_tensor(X) or is_tensor(Y):
        like = X if is_tensor(X) else Y
        place = Place.find(like.device, None)
        kind = np.float32 if all(str(getattr(side, "dtype", "")).endswith("float32") for side in (X, Y)) else np.float64
        return namespace(like).concat([place.put(X, kind), place.put(Y, kind)])
    return concatenate(X, Y)


def read_kernels(owner: str, kernel: Any, *, several: bool = True) -> tuple[Kernel, ...] | None:
    """Return one kernel or several as a tuple, None if none is given."""
    if kernel is None:
        return None
    found = (kernel,) if isinstance(kernel, Kernel) else kernel
    listed = isinstance(found, list | tuple) and found and all(isinstance(each, Kernel) for each in found)
    if not listed or (not several and len(found) > 1):
        kind = "a mercer kernel such as Gaussian()" + ", or a list of them" * several
        raise TypeError(f"{owner}: kernel must be {kind}; got {show_given(kernel)}")
    return tuple(found)


def default_kernel(X: Rows) -> Kernel:
    """Return the Gaussian whose length scale is the median distance.

    Examples
    --------
    >>> default_kernel(np.array([[0.0], [1.0], [3.0]]))
    Gaussian(length_scale=2.0)
    """
    return Gaussian(median_distance(X))


def default_kernels(owner: str, X: Rows) -> tuple[Kernel, ...]:
    """Return Gaussians of length scales from a quarter to four times the median distance."""
    scale = median_distance(X)
    return tuple(Gaussian(factor * scale) for factor in SCALES)


def make_gram(kernel: Kernel, X: Rows, place: Place, Z: Rows | None = None) -> Gram:
    """Return the Gram matrix in the precision that means of so many points need."""
    n = length(X) + (0 if Z is None else length(Z))
    dtype = np.float64 if n <= SINGLE else np.float32
    return Gram(kernel, X, Z, memory=place.memory, dtype=dtype, device=place.device)


def hold(gram: Gram) -> Array | None:
    """Return the whole matrix if it fits into a third of the memory and entries take long to compute again."""
    n, m = gram.shape
    return None if gram.cheap or 3 * n * m * gram.dtype.itemsize > gram.memory else gram.dense()


def check_level(owner: str, level: Any) -> float:
    """Return a probability between 0 and 1."""
    if not isinstance(level, numbers.Real) or not 0 < float(level) < 1:
        raise ValueError(f"{owner}: level must be between 0 and 1, got {level!r}")
    return float(level)
