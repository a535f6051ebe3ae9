"""The explicit maps of kernels that count substructures of graphs: a column for each that the fitted graphs have."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from scipy import sparse

from mercer.formula.data import Rows
from mercer.kernels import Graph
from mercer.kernels.graphs.book import Book
from mercer.kernels.graphs.kernels import CountKernel
from mercer.kernels.graphs.table import list_graphs

from .base import number_features
from .composition import MissingBeside, Node
from .explicit import build, examples


@build.register
def _(kernel: CountKernel, d: int, X: Rows | None) -> Node:
    return MissingBeside.learn(kernel, examples(kernel, X, "substructure"), lambda some: Substructures(kernel, some))


class Substructures:
    """How often each known substructure occurs, as a sparse matrix; others have no column."""

    def __init__(self, kernel: CountKernel, X: Rows) -> None:
        self._kernel, self._graphs = kernel, list_graphs(X, repr(kernel))
        self.width = int(self._known[1].shape[1])

    @cached_property
    def _known(self) -> tuple[Book, sparse.csr_array]:
        """What the fitted graphs have, and how often; it is made of the graphs again where it is needed."""
        return self._kernel.learn(self._graphs)

    def _check_fitted(self) -> None:
        """Raise if the graphs do not have so many substructures; files call this."""
        graphs = all(isinstance(graph, Graph) for graph in self._graphs)
        if not graphs or self._known[1].shape[1] != self.width:
            raise ValueError(f"{self._kernel!r}: the graphs of the feature map do not have {self.width} substructures")

    def __call__(self, X: Rows) -> sparse.csr_array:
        """Count the substructures of every graph."""
        return self._kernel.look_up(X, self._known[0])[0]

    def names(self, inputs: list[str]) -> list[str]:
        """Numbers, because substructures have no names of their own."""
        return number_features(self._kernel, self.width)


@dataclass(frozen=True)
class SubstructureWeights:
    """f(x) = Σ cᵢ k(xᵢ, x) as weights of what the xᵢ have, so that a value costs what its own graph has.

    Parameters
    ----------
    kernel : CountKernel
        k.
    book : Book
        What the xᵢ have.
    weights : array of shape (features, q)
        Σ cᵢ φ(xᵢ), a column for each output.
    """

    kernel: CountKernel
    book: Book
    weights: np.ndarray

    @classmethod
    def build(cls, kernel: CountKernel, centers: Rows, coef: np.ndarray, memory: int) -> Self | None:
        """Return the weights of a sum, or None if they take more than a part of the memory."""
        book, counts = kernel.learn(centers)
        if 8.0 * counts.shape[1] * coef.shape[1] > memory / 4:
            return None
        return cls(kernel, book, np.asarray(counts.T @ coef))

    def __call__(self, X: Rows) -> np.ndarray:
        """Return f(x) for all x."""
        return self.with_squares(X)[0]

    def with_squares(self, X: Rows) -> tuple[np.ndarray, np.ndarray]:
        """Return f(x) and k(x, x) for all x, for which things that no centre has count, too."""
        counts, squares = self.kernel.look_up(X, self.book)
        return np.asarray(counts @ self.weights), squares
