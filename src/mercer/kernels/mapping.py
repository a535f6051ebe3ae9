"""Maps in front of a kernel: linear ones, and functions and transformers of the user, called as they want to be."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from mercer.arrays import Array
from mercer.arrays.tensors import is_tensor
from mercer.formula.data import Rows, as_matrix, as_objects, is_frame, length, pick, short
from mercer.formula.notation.tree import Apply, Node, Unnamed, Word
from mercer.formula.parameters import freeze, make_hashable, show

from .value import Value

SINGLE_OBJECTS = 16  # that a function is tried on alone, before it is called on all of them at once


class LinearMap(Value):
    """The linear map x ↦ xR of rows, to put in front of a kernel: ``k.after(LinearMap(R))``.

    A kernel of the distance ‖x − z‖ then measures it in the metric M = RRᵀ, as √((x − z)M(x − z)ᵀ).  R may have any
    rank: directions that it takes to 0 do not count.

    Parameters
    ----------
    matrix : array of shape (d, r)
        R, with a row for each of the d features of the data.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, LinearMap
    >>> LinearMap([[1.0, 0.5], [0.0, 2.0]])([[1.0, 1.0]])
    array([[1. , 2.5]])

    The Gaussian of the Mahalanobis distance, in which the first feature is measured in other units:

    >>> k = Gaussian().after(LinearMap([[0.1, 0.0], [0.0, 1.0]]))
    >>> k([[0.0, 0.0]], [[10.0, 0.0], [0.0, 1.0]]).round(4)
    array([[0.6065, 0.6065]])
    >>> k
    Gaussian(length_scale=1.0).after(LinearMap([[0.1, 0.0], [0.0, 1.0]]))
    """

    matrix: Any

    def __post_init__(self) -> None:
        try:
            matrix = np.asarray(self.matrix)
            numeric = matrix.dtype.kind in "biuf"
        except ValueError:  # rows of different lengths
            numeric = False
        if not numeric or matrix.ndim != 2 or min(matrix.shape) == 0:
            raise ValueError(
                "LinearMap: the matrix must be a two-dimensional array of numbers with a row for each feature, got "
                + (f"shape {matrix.shape}" if numeric else short(self.matrix))
            )
        if not np.isfinite(matrix).all():
            row, column = np.argwhere(~np.isfinite(matrix))[0]
            raise ValueError(
                f"LinearMap: the matrix must be finite, but row {row}, column {column} is {matrix[row, column]}"
            )
        object.__setattr__(self, "matrix", freeze(np.ascontiguousarray(matrix, dtype=np.float64)))

    def __call__(self, X: Rows) -> Any:
        """Return XR for the rows of an array, frame, sparse matrix or tensor."""
        return Multiplied(self, "LinearMap").apply(X)

    def __repr__(self) -> str:
        return f"LinearMap({show(self.matrix.tolist())})"

    def expression(self) -> str:
        """Return the text of the map inside that of a kernel, without the numbers of a large matrix."""
        return f"LinearMap({show(self.matrix)})"

    @functools.cached_property
    def injective(self) -> bool | None:
        """Whether distinct points have distinct images; None if rounding errors leave that open."""
        sizes = np.abs(self.matrix).max(axis=1, keepdims=True)
        d, r = self.matrix.shape
        if r < d or not sizes.all():
            return False
        return bool(np.linalg.matrix_rank(self.matrix / sizes) == d) or None


@dataclass(frozen=True)
class Multiplied:
    """Multiply every row by a matrix."""

    map: LinearMap
    owner: str = field(compare=False)
    reads_rows: ClassVar[bool] = True

    def notation(self, point: Node) -> Node:
        """R(x)."""
        return Apply(Unnamed("R", self.map), (point,))

    def apply(self, X: Rows) -> Array:
        """Return XR, in float64; tensors stay where they are."""
        A = X if is_tensor(X) else as_matrix(X, self.owner, allow_sparse=True)
        R = self.map.matrix
        if A.ndim != 2 or A.shape[1] != len(R):
            given = f"{A.shape[1]} columns" if A.ndim == 2 else f"the shape {tuple(A.shape)}"
            raise ValueError(
                f"{self.owner}: the linear map takes rows of {len(R)} numbers, but the data has {given}; give it the "
                f"{len(R)} columns that its matrix has rows for"
            )
        if is_tensor(A):
            return A.double() @ A.new_tensor(R, dtype=A.double().dtype)
        with np.errstate(all="ignore"):  # what overflows is reported by what reads it
            return np.asarray(A @ R)

    def width(self, d: int) -> int:
        """Return the number of columns that d of them become."""
        return int(self.map.matrix.shape[1])

    def pull_back(self, G: Array, X: Rows) -> Array:
        """Return G Rᵀ, the gradients by rows such as those of X from the gradients by their images."""
        R = self.map.matrix
        return G @ (G.new_tensor(R.T) if is_tensor(G) else R.T)


@dataclass(frozen=True)
class Mapped:
    """Pass every object through a function or a fitted transformer."""

    map: Any
    owner: str
    reads_rows: ClassVar[bool] = False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mapped) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    @functools.cached_property
    def _stand_in(self) -> Any:
        return make_hashable(self.map)  # maps need not be hashable

    def _key(self) -> tuple[Any, str]:
        return self._stand_in, self.owner

    def width(self, d: int) -> int:
        """Return 0: only the function knows how many numbers it makes."""
        return 0

    def notation(self, point: Node) -> Node:
        """Return the point after the function."""
        return Apply(name_function(self.map, "g"), (point,))

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


def name_function(function: Any, letter: str) -> Node:
    """Return the name of a function or transformer in a formula: its own, or a letter if it has none."""
    name = getattr(function, "__name__", type(function).__name__ if hasattr(function, "transform") else "")
    return Word(name) if str(name).isidentifier() else Unnamed(letter, make_hashable(function))


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
