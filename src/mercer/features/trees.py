"""The explicit map of the subtree kernel: one column for each distinct subtree of the trees of the fit."""

from __future__ import annotations

from scipy import sparse

from mercer.formula.data import Rows
from mercer.kernels import Subtree
from mercer.kernels.trees.forest import Merger

from .composition import MissingBeside, Node
from .explicit import build, examples


@build.register
def _(kernel: Subtree, d: int, X: Rows | None) -> Node:
    return MissingBeside.learn(kernel, examples(kernel, X, "subtree"), lambda some: Subtrees(kernel, some))


class Subtrees:
    """How often each known subtree occurs, weighted, as a sparse matrix; others have no column."""

    def __init__(self, kernel: Subtree, X: Rows) -> None:
        self._kernel, self._merger = kernel, Merger()
        self._merger.counts(X, repr(kernel))

    @property
    def width(self) -> int:
        """The number of subtrees."""
        return len(self._merger.numbers)

    def __call__(self, X: Rows) -> sparse.csr_array:
        """Count the subtrees of every tree."""
        merger = Merger()
        merger.labels, merger.numbers = dict(self._merger.labels), dict(self._merger.numbers)
        counts = merger.counts(X, repr(self._kernel))
        return self._kernel.weighted(merger, counts)[:, : self.width]

    def names(self, inputs: list[str]) -> list[str]:
        """Every subtree as an s-expression."""
        return list(self._merger.texts())
