"""The explicit features of the subtree kernel, as a vectoriser that learns which subtrees there are."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mercer.kernels.data import Rows
from mercer.kernels.trees import Subtree
from mercer.kernels.trees_forest import Merger


class SubtreeFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The map φ of the subtree kernel, k(x, z) = φ(x)ᵀφ(z): a column for each distinct subtree.

    Parameters
    ----------
    kernel : Subtree
        The kernel.

    Attributes
    ----------
    merger_ : Merger
        The distinct subtrees of the fitted trees.

    Notes
    -----
    Columns are the subtrees of the trees given to ``fit``.  Others are left out: dot products with rows of the fitted
    trees are the kernel exactly, and those between two new trees count what both share with the fitted ones.

    Examples
    --------
    >>> from mercer.kernels import Subtree
    >>> phi = Subtree(decay=1.0).features().fit(["(S (A x) (A x))"])
    >>> phi.get_feature_names_out().tolist()
    ['x', '(A x)', '(S (A x) (A x))']
    >>> phi.transform(["(S (A x) (B x))"]).toarray()
    array([[2., 1., 0.]])
    """

    def __init__(self, kernel: Subtree) -> None:
        self.kernel = kernel

    def fit(self, X: Rows, y: object = None) -> Self:
        """Learn the subtrees that occur in X.

        Parameters
        ----------
        X : collection of trees
            The trees.
        y : ignored
            Here because pipelines pass it.
        """
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Rows, y: object = None) -> sparse.csr_array:
        """Learn the subtrees that occur in X and return its features, a row for each tree."""
        merger = Merger()
        counts = merger.counts(X, type(self).__name__)
        self.merger_ = merger
        return self.kernel.weighted(merger, counts)

    def transform(self, X: Rows) -> sparse.csr_array:
        """Return the features of trees, a row for each, as a sparse matrix."""
        check_is_fitted(self)
        merger = Merger()
        merger.labels, merger.numbers = dict(self.merger_.labels), dict(self.merger_.numbers)
        counts = merger.counts(X, type(self).__name__)
        return self.kernel.weighted(merger, counts)[:, : len(self.merger_.numbers)]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return every subtree as an s-expression."""
        check_is_fitted(self)
        return np.array(self.merger_.texts(), dtype=object)
