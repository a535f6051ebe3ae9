"""How feature maps compose: side by side for sums, all products for products, one after the other for pull-backs.

A node maps raw data (array, frame, list of objects) to a matrix of features and names its columns.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Protocol, runtime_checkable

import numpy as np
from scipy import sparse

from mercer.arrays.shapes import Inside, Number, measure_object
from mercer.formula.data import Columns, Rows, as_matrix, length, result_dtype
from mercer.formula.parameters import show
from mercer.kernels.mapping import Mapped, Multiplied
from mercer.kernels.prepared import StructuredKernel, split_missing

from .base import Matrix
from .sinc import check_reach
from .trigonometric import Waves


@runtime_checkable
class Node(Protocol):
    """A feature map of raw data."""

    @property
    def width(self) -> int:
        """The number of features."""

    def __call__(self, X: Rows) -> Matrix:
        """Return the features, one row for each object."""

    def names(self, inputs: list[str]) -> list[str]:
        """Return the name of each feature."""


@dataclass(frozen=True)
class Inputs:
    """The data itself, checked: what every map of vectors starts with."""

    width: Annotated[int, Number("d")]
    owner: str
    allow_sparse: bool = False

    def __call__(self, X: Rows) -> Matrix:
        """Return the data as a matrix of the width that is expected."""
        A = as_matrix(X, self.owner, allow_sparse=self.allow_sparse)
        if A.shape[1] != self.width:
            raise ValueError(
                f"{self.owner}: the feature map was made for {self.width} columns, but the data has {A.shape[1]}; "
                "make the map again with the right number, k.feature_map(d), or pass the columns it was made for"
            )
        return A

    def names(self, inputs: list[str]) -> list[str]:
        """The names of the inputs."""
        return list(inputs)


@dataclass(frozen=True)
class Bias:
    """One constant feature."""

    value: float
    width: int = 1

    def __call__(self, X: Rows) -> Matrix:
        """Return a constant column."""
        return np.full((length(X), 1), self.value, dtype=result_dtype(X))

    def names(self, inputs: list[str]) -> list[str]:
        """``1``."""
        return ["1"]


@dataclass(frozen=True)
class Chain:
    """One map after another."""

    first: Annotated[Node, Inside(d="d")]
    second: Node

    def __post_init__(self) -> None:
        needed = measure_object(self.second).exact.get("d")
        if needed is not None and needed != self.first.width:
            raise ValueError(f"a map of {needed} inputs comes after one of {self.first.width} features")

    @property
    def width(self) -> int:
        """The number of features of the second map."""
        return int(self.second.width)

    def __call__(self, X: Rows) -> Matrix:
        """Apply both."""
        return self.second(self.first(X))

    def names(self, inputs: list[str]) -> list[str]:
        """Names of the second map in terms of the first."""
        return list(self.second.names(self.first.names(inputs)))


@dataclass(frozen=True)
class Chosen:
    """Some columns, by position or name."""

    step: Annotated[Columns, Inside(d="d")]

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.step.columns)

    def __call__(self, X: Rows) -> Matrix:
        """Pick the columns."""
        return self.step.apply(X)

    def names(self, inputs: list[str]) -> list[str]:
        """Names of the columns picked."""
        return [inputs[column] if isinstance(column, int) else column for column in self.step.columns]


@dataclass(frozen=True)
class Image:
    """The images of a user's function or transformer."""

    step: Mapped | Multiplied
    width: int

    def __call__(self, X: Rows) -> Matrix:
        """Apply the function."""
        return self.step.apply(X)

    def names(self, inputs: list[str]) -> list[str]:
        """The transformer's own names, or ``g[0]``, ``g[1]``, … for a function g."""
        own = getattr(self.step.map, "get_feature_names_out", None)
        if own is not None:
            return [str(name) for name in own()]
        text = show(self.step.map)
        text = text if re.fullmatch(r"\w+", text) else "g"
        return [f"{text}[{i}]" for i in range(self.width)]


@dataclass(frozen=True)
class Wrapped:
    """As many features as another map has, under the same names."""

    node: Annotated[Node, Inside(d="d")]

    @property
    def width(self) -> int:
        """As many as before."""
        return self.node.width

    def names(self, inputs: list[str]) -> list[str]:
        """The same names."""
        return self.node.names(inputs)


@dataclass(frozen=True)
class Times(Wrapped):
    """Features times a number."""

    factor: float

    def __call__(self, X: Rows) -> Matrix:
        """Multiply."""
        return self.node(X) * self.factor


@dataclass(frozen=True)
class SideBySide:
    """The features of two maps next to each other, whose dot products add."""

    left: Annotated[Node, Inside(d="d")]
    right: Annotated[Node, Inside(d="d")]

    @property
    def width(self) -> int:
        """The sum."""
        return self.left.width + self.right.width

    def __call__(self, X: Rows) -> Matrix:
        """Stack horizontally."""
        A, B = self.left(X), self.right(X)
        if sparse.issparse(A) or sparse.issparse(B):
            return sparse.hstack([sparse.csr_array(A), sparse.csr_array(B)], format="csr")
        return np.hstack([A, B])

    def names(self, inputs: list[str]) -> list[str]:
        """Both lists of names."""
        return self.left.names(inputs) + self.right.names(inputs)


@dataclass(frozen=True)
class MissingBeside:
    """The features of objects that are there, and one behind them for missing objects."""

    node: Node
    owner: str

    @classmethod
    def learn(cls, kernel: StructuredKernel, X: Rows, make: Callable[[Rows], Node]) -> Node:
        """Return the map that is made of objects, of those that are there if missing ones are objects of their own."""
        if kernel.missing == "refuse":
            return make(X)
        present, _ = split_missing(X, repr(kernel))
        if not present:
            raise ValueError(f"{kernel!r}: all objects are missing, so that there are no features to learn; give some")
        return cls(make(present), repr(kernel))

    @property
    def width(self) -> int:
        """One more."""
        return self.node.width + 1

    def __call__(self, X: Rows) -> Matrix:
        """Put the rows of missing objects between those of the others."""
        present, place = split_missing(X, self.owner)
        rows, absent = np.flatnonzero(place >= 0), np.flatnonzero(place < 0)
        found = sparse.coo_array(self.node(present)) if present else sparse.coo_array((0, self.node.width))
        entries = np.concatenate([found.data, np.ones(len(absent))])
        at = np.concatenate([rows[found.coords[0]], absent])
        columns = np.concatenate([found.coords[1], np.full(len(absent), self.node.width)])
        return sparse.csr_array(sparse.coo_array((entries, (at, columns)), shape=(len(place), self.width)))

    def names(self, inputs: list[str]) -> list[str]:
        """Those of the others, and "missing"."""
        return [*self.node.names(inputs), "missing"]


@dataclass(frozen=True)
class AllProducts:
    """Every product of a feature of one map and a feature of the other, whose dot products multiply."""

    left: Annotated[Node, Inside(d="d")]
    right: Annotated[Node, Inside(d="d")]

    @property
    def width(self) -> int:
        """The product."""
        return self.left.width * self.right.width

    def __call__(self, X: Rows) -> Matrix:
        """Return the Kronecker product of each row with itself."""
        A, B = self.left(X), self.right(X)
        if sparse.issparse(A) or sparse.issparse(B):
            A, B = sparse.csc_array(A), sparse.csr_array(B)
            return sparse.hstack([B.multiply(A[:, [i]]) for i in range(A.shape[1])], format="csr")
        return (A[:, :, None] * B[:, None, :]).reshape(len(A), self.width)

    def names(self, inputs: list[str]) -> list[str]:
        """``a * b``."""
        return [
            b if a == "1" else a if b == "1" else f"{a} * {b}"
            for a in self.left.names(inputs)
            for b in self.right.names(inputs)
        ]


@dataclass(frozen=True)
class UnitLength(Wrapped):
    """Features divided by their length; zeros stay zeros."""

    def __call__(self, X: Rows) -> Matrix:
        """Divide every row by its norm."""
        A = self.node(X)
        if sparse.issparse(A):
            sizes = sparse.linalg.norm(A, axis=1)
            return sparse.csr_array(sparse.diags_array(1.0 / np.where(sizes == 0, 1.0, sizes)) @ A)
        # The largest entry first: the square of a large feature overflows and that of a small one vanishes.
        largest = np.abs(A).max(axis=1, keepdims=True)
        A = A / np.where(largest == 0, 1.0, largest)
        sizes = np.linalg.norm(A, axis=1, keepdims=True)
        return A / np.where(sizes == 0, 1.0, sizes)

    def names(self, inputs: list[str]) -> list[str]:
        """``name / norm``."""
        return [f"{name} / norm" for name in self.node.names(inputs)]


@dataclass(frozen=True)
class WithinReach:
    """Waves that refuse points too far apart for their quadrature."""

    waves: Annotated[Waves, Inside(d="d")]

    @property
    def width(self) -> int:
        """As many as before."""
        return self.waves.width

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Check the points, then map them."""
        remedy = (
            "fit the map on your data, which moves the centre there, or use mercer.features.Sinc, "
            "which takes as many nodes as the data needs"
        )
        check_reach(X, self.waves, remedy)
        return self.waves(X)

    def names(self, inputs: list[str]) -> list[str]:
        """The same names."""
        return self.waves.names(inputs)
