"""The explicit maps of kernels that count substructures of graphs: a column for each that the fitted graphs have."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from mercer.formula.data import Rows
from mercer.kernels import Graph
from mercer.kernels.graphs.kernels import CountKernel
from mercer.kernels.graphs.table import list_graphs

from .base import number_features
from .composition import Node
from .explicit import build, examples


@build.register
def _(kernel: CountKernel, d: int, X: Rows | None) -> Node:
    return Substructures(kernel, examples(kernel, X, "substructure"))


class Substructures:
    """How often each known substructure occurs, as a sparse matrix; others have no column."""

    def __init__(self, kernel: CountKernel, X: Rows) -> None:
        self._kernel, self._graphs = kernel, list_graphs(X, repr(kernel))
        self.width = self._count()

    def _check_fitted(self) -> None:
        """Raise if the graphs do not have so many substructures; files call this."""
        if not all(isinstance(graph, Graph) for graph in self._graphs) or self._count() != self.width:
            raise ValueError(f"{self._kernel!r}: the graphs of the feature map do not have {self.width} substructures")

    def _count(self) -> int:
        return int(self._kernel.count(self._graphs)[0].shape[1])

    def __call__(self, X: Rows) -> sparse.csr_array:
        """Count the substructures of every graph."""
        # Numbering keeps the order of what the fitted graphs have, so that its columns are in the order of the fit.
        known, found = self._kernel.count(self._graphs, X)
        return found[:, np.unique(known.indices)]

    def names(self, inputs: list[str]) -> list[str]:
        """Numbers, because substructures have no names of their own."""
        return number_features(self._kernel, self.width)
