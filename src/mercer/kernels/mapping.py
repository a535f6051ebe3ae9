"""Functions and transformers of the user in front of a kernel, called in the way they want to be called."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from mercer.formula.data import Rows, as_objects, is_frame, length, pick
from mercer.formula.parameters import make_hashable

SINGLE_OBJECTS = 16  # that a function is tried on alone, before it is called on all of them at once


@dataclass(frozen=True)
class Mapped:
    """Pass every object through a function or a fitted transformer."""

    map: Any
    owner: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mapped) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    @functools.cached_property
    def _stand_in(self) -> Any:
        return make_hashable(self.map)  # maps need not be hashable

    def _key(self) -> tuple[Any, str]:
        return self._stand_in, self.owner

    def apply(self, X: Rows) -> Rows:
        """Return the images of the objects of X."""
        if not hasattr(self.map, "transform"):
            return apply_function(self.map, X, self.owner)
        images = self.map.transform(X)
        if length(images) != length(X):
            raise ValueError(
                f"{self.owner}: the transformer made {length(images)} rows of {length(X)} objects; it must keep each"
            )
        return images


def apply_function(function: Callable[[Any], Any], X: Rows, owner: str) -> Rows:
    """Call ``function`` on the whole collection if it is vectorised, and on one object after the other if not.

    A function counts as vectorised when its result on the collection has one row for each object; when it gives the
    same rows for the collection turned round, for every other object of it, and for some objects alone; and when it
    does not give another vector for the first or the last object itself: ``x[:2]`` means two numbers of x, not the
    first two points.  A function that centres, scales or sorts the collection it is given is therefore called object
    by object, or refused by its own error.
    """
    if not (isinstance(X, np.ndarray) or is_frame(X) or sparse.issparse(X)):
        X = as_objects(X, owner)
    whole = _try_whole(function, X)
    if whole is not None:
        return whole
    images = []
    for position, item in enumerate(as_objects(X, owner)):
        try:
            images.append(function(item))
        except Exception as error:
            raise ValueError(
                f"{owner}: the function raised {type(error).__name__}: {error} on object {position}, {item!r}"
            ) from error
    return _stack(images)


def _try_whole(function: Callable[[Any], Any], X: Rows) -> Rows | None:
    if not (isinstance(X, np.ndarray) or is_frame(X) or sparse.issparse(X)):
        return None
    n = length(X)
    try:
        with np.errstate(all="ignore"):
            whole = function(X)
    except Exception:  # a function of one object may fail on a collection in any way it likes
        return None
    shape: tuple[int, ...] = getattr(whole, "shape", ())
    if len(shape) != 2 or shape[0] != n:
        return None
    if not sparse.issparse(X) and any(_differs(function, as_objects(X, "map")[i], whole, i) for i in (0, -1)):
        return None
    everything = np.arange(n)
    some = np.unique(np.linspace(0, n - 1, SINGLE_OBJECTS).astype(int))
    parts = [everything[::-1], everything[::2], everything[1::2], *(everything[i : i + 1] for i in some)]
    try:
        with np.errstate(all="ignore"):
            agrees = all(_agree(function(pick(X, part)), pick(whole, part)) for part in parts if len(part))
    except Exception:  # it takes this collection, but not any
        return None
    return whole if agrees else None


def _agree(found: Any, expected: Any) -> bool:
    """Whether two matrices of features are the same up to rounding."""
    sides = (side.toarray() if sparse.issparse(side) else side for side in (found, expected))
    found, expected = (np.asarray(side, dtype=float) for side in sides)
    if found.shape != expected.shape:
        return False
    rounding = 1e-9 * np.nanmax(np.abs(expected), initial=0.0)
    return bool(np.allclose(found, expected, rtol=1e-6, atol=rounding, equal_nan=True))


def _differs(function: Callable[[Any], Any], item: Any, whole: Rows, position: int) -> bool:
    """Whether the function takes a single object too, and makes other features of it than of the collection."""
    try:
        with np.errstate(all="ignore"):
            alone = np.asarray(function(item))
        if alone.ndim > 1:  # a function of collections that takes the object's numbers for points
            return False
        row = whole.toarray() if sparse.issparse(whole) else np.asarray(whole)
        alone, row = np.atleast_1d(alone).astype(float), row[position].astype(float)
    except Exception:  # then it only takes collections
        return False
    return alone.shape != row.shape or not np.allclose(alone, row, rtol=1e-6, atol=0, equal_nan=True)


def _stack(images: list[Any]) -> Rows:
    """Numeric images of equal size become a matrix, anything else stays a list of objects."""
    if isinstance(images[0], str | bytes):
        return images
    try:
        rows = [
            np.concatenate([np.ravel(part) for part in image]) if isinstance(image, list | tuple) else np.ravel(image)
            for image in images
        ]
    except (ValueError, TypeError):
        return images
    same = all(row.shape == rows[0].shape and row.dtype.kind in "biuf" for row in rows)
    return np.stack(rows) if same else images
