"""What kernels are given: arrays, frames, sparse matrices or plain lists of objects.

Raw data stays as the user gave it until a statistic asks for it; on the way it passes through a :class:`Steps`, the
steps that ``k.on(columns)`` and ``k.after(map)`` put in front of a kernel.  A frame with text columns is therefore
fine as long as each kernel of a composition only looks at columns it understands.
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Protocol, cast, runtime_checkable

import numpy as np
from scipy import sparse

from mercer.arrays import Array
from mercer.arrays.holes import IMPUTE, name_column, name_holes
from mercer.arrays.namespace import zeros_beside
from mercer.arrays.shapes import Positions
from mercer.arrays.tensors import host_array, pack
from mercer.messages import name_kernels

from .notation.tree import Indexed, Node, Word, given, list_values
from .parameters import show

Rows = Any  # any ordered collection of objects with a length: array, frame, sparse matrix, list


class Step(Protocol):
    """One thing done to raw data before a kernel sees it."""

    @property
    def reads_rows(self) -> bool:
        """Whether it takes rows of a table, so that a plain number is none."""

    def width(self, d: int) -> int:
        """Return how many columns it makes of d; 0 if nobody knows."""

    def apply(self, X: Rows) -> Rows:
        """Return the transformed collection, one object for each object of X."""

    def notation(self, point: Node) -> Node:
        """Return the transformed point as people write it."""


@runtime_checkable
class LinearStep(Step, Protocol):
    """A step that is a linear map of rows, x ↦ xR, so that gradients pass back through it."""

    def pull_back(self, G: Array, X: Rows) -> Array:
        """Return G Rᵀ, the gradients by rows such as those of X from the gradients by what is made of them.

        G is an array or tensor whose last axis is that of the features; X has one row.
        """


@dataclass(frozen=True)
class Steps:
    """The steps between the user's data and a kernel, first step first."""

    steps: tuple[Step, ...] = ()

    def then(self, step: Step) -> Steps:
        """Return this view followed by one more step."""
        return Steps((*self.steps, step))

    def apply(self, X: Rows) -> Rows:
        """Pass raw data through every step."""
        for step in self.steps:
            X = step.apply(X)
        return X

    def notation(self, point: Node) -> Node:
        """Return a point after all steps, as people write it."""
        for step in self.steps:
            point = step.notation(point)
        return point

    def check_slopes(self, owner: str) -> None:
        """Raise if gradients do not pass back through a step."""
        for step in self.steps:
            if not isinstance(step, LinearStep):
                raise ValueError(
                    f"{owner} has no slope in x: the derivative of the map in front of it is not known. Apply the map "
                    "to the data first, and take the slope by its images"
                )

    def pull_back(self, G: Array, X: Rows) -> Array:
        """Return the gradients by the rows of X from those by what the steps make of them."""
        seen = [host_array(take(X, 0, 1))] if self.steps else []  # one row tells which columns there are
        for step in self.steps[:-1]:
            seen.append(step.apply(seen[-1]))
        for step, row in zip(reversed(self.steps), reversed(seen), strict=True):
            G = cast(LinearStep, step).pull_back(G, row)
        return G


def is_frame(X: Rows) -> bool:
    """Whether X has named columns (pandas, polars)."""
    return hasattr(X, "columns") and hasattr(X, "to_numpy")


def refuse_masked(X: Rows, owner: str = "a kernel") -> None:
    """Raise on entries that are masked out, which plain arrays would bring back."""
    rows = X if isinstance(X, list | tuple) else ()
    # Strings, which are many, are asked first, because that takes a tenth of the time.
    if np.ma.is_masked(X) or any(not isinstance(row, str) and np.ma.is_masked(row) for row in rows):
        raise ValueError(
            f"{owner} needs every entry, but some of the array are masked; fill them with X.filled(value), impute them "
            "from X.filled(numpy.nan) with sklearn.impute.SimpleImputer, or drop their rows"
        )


def length(X: Rows) -> int:
    """Return the number of objects in a collection."""
    if isinstance(X, np.ma.MaskedArray):  # rows of a list are looked at where they are read, once
        refuse_masked(X)
    shape = getattr(X, "shape", None)
    if shape is None and not hasattr(X, "__len__"):
        raise TypeError(f"expected a collection of objects with a length such as an array or a list, got {X!r}")
    if shape is not None and len(shape) == 0:
        raise ValueError(f"expected a collection of objects, got the single value {X!r}; put it in a list")
    return int(shape[0]) if shape is not None else len(X)


def take(X: Rows, start: int, stop: int) -> Rows:
    """Rows ``start`` to ``stop`` of any collection."""
    return X.iloc[start:stop] if hasattr(X, "iloc") else X[start:stop]


def pick(X: Rows, positions: Any) -> Rows:
    """Objects of any collection at some positions, in the order given, in a collection of the same kind."""
    positions = np.asarray(positions, dtype=np.intp)
    if hasattr(X, "iloc"):
        return X.iloc[positions]
    return X[positions] if hasattr(X, "shape") else [X[i] for i in positions]


def check_same_columns(X: Rows, Z: Rows) -> None:
    """Refuse two frames whose columns have other names or another order."""
    if is_frame(X) and is_frame(Z) and list(X.columns) != list(Z.columns):
        raise ValueError(
            f"X has columns {list(X.columns)} but Z has columns {list(Z.columns)}; "
            "give both the same columns in the same order"
        )


def result_dtype(*data: Rows) -> np.dtype[Any]:
    """float32 when everything given is float32, float64 otherwise."""

    def is_single(X: Rows) -> bool:
        if is_frame(X):
            kinds = X.dtypes if isinstance(X.dtypes, list) else list(X.dtypes)
            return len(kinds) > 0 and all(str(kind).lower() == "float32" for kind in kinds)
        return getattr(X, "dtype", None) == np.float32

    return np.dtype(np.float32 if all(is_single(X) for X in data) else np.float64)


def as_matrix(X: Rows, owner: str, *, allow_sparse: bool = False, copy: bool = True) -> Any:
    """Return X as a finite two-dimensional array (or CSR matrix), float32 kept and everything else float64.

    Without ``copy`` it may be X itself.
    """
    refuse_masked(X, owner)
    if sparse.issparse(X):
        return _as_csr(X, owner, allow_sparse)
    try:
        array = X.to_numpy() if is_frame(X) else np.asarray(X)
    except ValueError:
        raise ValueError(
            f"{owner} needs rows of equal length, one number for each feature, got {short(X)}. {name_kernels([])}."
        ) from None
    if array.dtype != np.float32:
        array = array if array.dtype == np.float64 and not copy else _as_float64(array, X, owner)
    if array.ndim != 2:
        raise ValueError(
            f"{owner} needs a two-dimensional array of shape (points, features), got shape {array.shape}. "
            "Reshape with X.reshape(-1, 1) if it holds one feature, or X.reshape(1, -1) if it is one point."
        )
    if array.shape[0] == 0 or array.shape[1] == 0:
        raise ValueError(f"{owner} needs at least one point and one feature, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{owner} needs finite numbers, but {name_holes(array, list_columns(X))}. {IMPUTE}")
    return pack(array)


def _as_csr(X: Any, owner: str, allow_sparse: bool) -> Any:
    if not allow_sparse:
        raise TypeError(
            f"{owner} does not work on sparse matrices (dot-product and radial kernels do); use X.toarray() if it fits"
        )
    matrix = sparse.csr_array(X)
    if matrix.dtype not in (np.float32, np.float64):
        matrix = matrix.astype(np.float64)
    if min(matrix.shape) == 0:
        raise ValueError(f"{owner} needs at least one point and one feature, got shape {matrix.shape}")
    if not np.isfinite(matrix.data).all():
        where = name_holes(matrix, None)
        raise ValueError(
            f"{owner} needs finite numbers, but the sparse matrix holds NaN or infinity: {where}. {IMPUTE}"
        )
    return matrix


def _as_float64(array: np.ndarray, X: Rows, owner: str) -> np.ndarray:
    if array.dtype.kind == "c":
        raise TypeError(f"{owner} needs real numbers, got complex ones; pass real and imaginary parts as columns")
    if array.dtype.kind in "biuf":
        return array.astype(np.float64)
    try:
        if array.dtype.kind in "USMm" or any(isinstance(value, str | bytes) for value in array.flat):
            raise ValueError
        return array.astype(np.float64)
    except (ValueError, TypeError):
        flat = array.reshape(len(array), -1) if array.ndim else array.reshape(1, 1)
        row, column, value = next(
            ((i, j, v) for j in range(flat.shape[1]) for i, v in enumerate(flat[:, j]) if not _is_number(v)),
            (0, 0, flat.flat[0] if flat.size else None),
        )
        raise TypeError(
            f"{owner} needs numbers, but row {row}, column {name_column(column, list_columns(X))} is {show(value)}. "
            f"{name_kernels(value)}; of a table, pick the columns for each kernel with k.on(columns), or give it to "
            "mercer.AutoRegressor or AutoClassifier as it is."
        ) from None


def list_columns(X: Rows) -> list[Any] | None:
    """Return the names of the columns of a table, None if they have none."""
    return list(X.columns) if is_frame(X) else None


def short(value: object, width: int = 80) -> str:
    """Return the text of a value, cut where it gets long."""
    text = repr(value)
    return text if len(text) <= width else text[: width - 1] + "…"


def _is_number(value: object) -> bool:
    return isinstance(value, numbers.Real)


def is_missing(value: Any) -> bool:
    """Whether a value is none: None, NaN, or pandas' NA."""
    try:
        return value is None or bool(value != value)  # NaN differs from itself
    except TypeError:  # pandas.NA does not say
        return True


def is_missing_object(value: Any) -> bool:
    """Whether an object is none at all: None, NaN, or pandas' NA, rather than one that has holes in it."""
    return value is None or (isinstance(value, numbers.Real) and is_missing(value)) or type(value).__name__ == "NAType"


def advise_on(value: Any) -> str:
    """Return what to do with an object that a kernel on other objects was given, as a sentence without its end."""
    return f"{name_kernels(None)}, or pass missing='own'" if is_missing_object(value) else name_kernels(value)


class Present(list[Any]):
    """The objects of a collection that are there, and the row that each has in the collection."""

    def __init__(self, objects: list[Any], rows: list[int]) -> None:
        super().__init__(objects)
        self.rows = rows


def number_objects(X: Rows, owner: str) -> list[tuple[int, Any]]:
    """Return every object of a collection behind the row it has in what the user gave."""
    objects = as_objects(X, owner)
    return list(zip(getattr(objects, "rows", range(len(objects))), objects, strict=True))


def as_objects(X: Rows, owner: str) -> Sequence[Any]:
    """Return X as a sequence of objects: rows of an array, values of a single column, or the list itself."""
    refuse_masked(X, owner)
    if isinstance(X, str | bytes) or not hasattr(X, "__len__"):
        raise TypeError(f"{owner} needs a collection of objects such as a list, got {type(X).__name__}")
    if sparse.issparse(X):
        raise TypeError(f"{owner} does not work on sparse matrices; use X.toarray() if it fits")
    if is_frame(X) or hasattr(X, "to_numpy"):
        X = X.to_numpy()
    if isinstance(X, np.ndarray):
        if X.ndim == 0:
            raise TypeError(f"{owner} needs a collection of objects, got the single value {X!r}; put it in a list")
        if X.ndim == 2 and X.shape[1] == 1 and X.dtype.kind in "OUS":
            X = X[:, 0]  # one column of objects is a list of objects
    if len(X) == 0:
        raise ValueError(f"{owner} needs at least one object, got an empty collection")
    return cast(Sequence[Any], X) if isinstance(X, np.ndarray | list | tuple) else list(X)


@dataclass(frozen=True)
class Columns:
    """Keep some columns, by position or by name, or those of a slice with an open end."""

    columns: Annotated[tuple[int | str, ...], Positions("d")]
    owner: str
    span: tuple[int | None, int | None, int | None] | None = None
    reads_rows: ClassVar[bool] = True

    def _check_fitted(self) -> None:
        """Raise unless columns are positions and names; files call this."""
        ends = (*self.columns, *(end for end in self.span or () if end is not None))
        if not all(isinstance(each, int | np.integer | str) for each in ends) or (
            self.span is not None and len(self.span) != 3
        ):
            raise ValueError(f"{self.owner}: columns are positions or names, got {self.columns!r}")

    def notation(self, point: Node) -> Node:
        """Return the point with its columns below."""
        if self.span is not None:
            ends = ["" if end is None else str(end) for end in self.span]
            return Indexed(point, Word(":".join(ends).removesuffix(":")))
        columns = [Word(name) if isinstance(name, str) else given(name) for name in self.columns]
        return Indexed(point, list_values(columns), single=len(columns) == 1)

    def width(self, d: int) -> int:
        """Return how many columns are kept, d at most."""
        return len(self.columns) or d

    def apply(self, X: Rows) -> Rows:
        """Return the columns of X this step keeps."""
        refuse_masked(X, self.owner)
        names = [name for name in self.columns if isinstance(name, str)]
        if is_frame(X):
            return self._from_frame(X)
        if names:
            raise TypeError(
                f"{self.owner}: columns {names} are names, but the data is a {type(X).__name__} without column "
                "names; pass a pandas or polars frame, or give positions"
            )
        if not sparse.issparse(X) and not isinstance(X, np.ndarray):
            try:
                X = np.asarray(X, dtype=object)
            except ValueError:
                raise ValueError(f"{self.owner}: the objects have different lengths, so they have no columns") from None
        if X.ndim != 2:
            raise ValueError(f"{self.owner}: the data has shape {X.shape}, but columns need two dimensions")
        positions = self.positions(X.shape[1])
        if sparse.issparse(X):
            return sparse.csr_array(X)[:, positions]
        picked = X[:, positions]
        if picked.dtype == object and all(map(_is_number, picked.flat)):
            return np.array(picked.tolist())  # the numeric part of a mixed table, for functions that follow
        return picked

    def pull_back(self, G: Array, X: Rows) -> Array:
        """Put each column back where it came from, with 0 in all others."""
        if is_frame(X):
            names = list(X.columns)
            width, chosen = len(names), [names.index(name) for name in self._from_frame(X).columns]
        else:
            width = np.shape(X)[1]
            chosen = self.positions(width)
        out = zeros_beside(G, (*G.shape[:-1], width))
        out[..., chosen] = G
        return out

    def positions(self, width: int) -> list[int]:
        """Return the positions of the columns among ``width``."""
        if self.span is not None:
            chosen = list(range(width)[slice(*self.span)])
            if not chosen:
                raise ValueError(f"{self.owner}: the slice leaves none of the {width} columns of the data")
            return chosen
        found = [self._position(int(c), width) for c in self.columns]
        self._check_once(found)
        return found

    def _from_frame(self, X: Rows) -> Rows:
        available = list(X.columns)
        if self.span is not None:
            return X[[available[i] for i in self.positions(len(available))]]
        picked = [
            name if isinstance(name, str) else available[self._position(name, len(available))] for name in self.columns
        ]
        missing = [name for name in picked if name not in available]
        if missing:
            raise ValueError(f"{self.owner}: there is no column {missing[0]!r}; the columns are {available}")
        repeated = [name for name in picked if available.count(name) > 1]
        if repeated:
            raise ValueError(f"{self.owner}: the frame has several columns named {repeated[0]!r}; rename them first")
        self._check_once(picked)
        return X[picked]

    def _check_once(self, picked: list[Any]) -> None:
        repeated = [column for column in picked if picked.count(column) > 1]
        if repeated:
            raise ValueError(f"{self.owner}: column {repeated[0]!r} is chosen more than once; name it once")

    def _position(self, column: int, width: int) -> int:
        if not -width <= column < width:
            raise ValueError(f"{self.owner}: there is no column {column}; the data has {width} columns")
        return column % width


def concatenate(X: Rows, Z: Rows) -> Rows:
    """Return the objects of X followed by those of Z, in the form of X."""
    check_same_columns(X, Z)
    if sparse.issparse(X) or sparse.issparse(Z):
        return sparse.vstack([sparse.csr_array(X), sparse.csr_array(Z)]).tocsr()
    if is_frame(X):
        if hasattr(X, "vstack"):  # polars
            return X.vstack(Z)
        import pandas as pd

        return pd.concat([X, Z], ignore_index=True)
    if isinstance(X, np.ndarray) or isinstance(Z, np.ndarray):
        return np.concatenate([np.asarray(X), np.asarray(Z)])
    return [*X, *Z]
