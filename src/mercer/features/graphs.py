"""The explicit maps of kernels that count substructures of graphs: a column for each that the fitted graphs have."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy import sparse

from mercer.formula.data import Rows, as_objects
from mercer.kernels import Graph
from mercer.kernels.graphs.book import Book
from mercer.kernels.graphs.kernels import CountKernel

from .base import number_features
from .composition import Node
from .explicit import build, examples


@build.register
def _(kernel: CountKernel, d: int, X: Rows | None) -> Node:
    return Substructures(kernel, examples(kernel, X, "substructure"))


class Substructures:
    """How often each known substructure occurs, as a sparse matrix; others have no column."""

    def __init__(self, kernel: CountKernel, X: Rows) -> None:
        self._kernel, self._graphs = kernel, list(as_objects(X, repr(kernel)))
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


class SubstructureWeights:
    """f(x) = Σ cᵢ k(xᵢ, x) as weights of what the xᵢ have, so that a value costs what its own graph has.

    Parameters
    ----------
    kernel : CountKernel
        k.
    centers : collection of n graphs
        The xᵢ.
    coef : array of shape (n, q)
        The cᵢ, a column for each output.
    """

    def __init__(self, kernel: CountKernel, centers: Rows, coef: np.ndarray) -> None:
        self._kernel = kernel
        self._book, counts = kernel.learn(centers)
        self._weights = np.asarray(counts.T @ coef)

    def __call__(self, X: Rows) -> np.ndarray:
        """Return f(x) for all x."""
        return self.with_squares(X)[0]

    def with_squares(self, X: Rows) -> tuple[np.ndarray, np.ndarray]:
        """Return f(x) and k(x, x) for all x, for which things that no centre has count, too."""
        counts, squares = self._kernel.look_up(X, self._book)
        return np.asarray(counts @ self._weights), squares
