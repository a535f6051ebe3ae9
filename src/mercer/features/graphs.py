"""The explicit features of kernels on graphs, as a vectoriser that learns which substructures there are."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mercer.kernels.data import Rows, as_objects
from mercer.kernels.graphs import CountKernel


class GraphFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The explicit sparse features of a kernel that counts substructures, k(x, z) = φ(x)ᵀφ(z), as a vectoriser.

    Parameters
    ----------
    kernel : WeisfeilerLehman, WeisfeilerLehmanAssignment or ShortestPath
        The kernel.

    Attributes
    ----------
    graphs_ : list
        The graphs whose substructures are the features.
    n_features_out_ : int
        How many features there are.

    Notes
    -----
    Features are those that occur in the graphs given to ``fit``.  In other graphs anything else is left out: dot
    products with rows of the fitted graphs are the kernel exactly, and those between two new graphs count what both
    share with the fitted ones.

    Examples
    --------
    >>> from mercer.kernels import Graph, WeisfeilerLehman
    >>> water, hydrogen = Graph([[1, 2], [0], [0]], "OHH"), Graph([[1], [0]], "HH")
    >>> phi = WeisfeilerLehman(1).features().fit([water])
    >>> phi.transform([water, hydrogen]).toarray()
    array([[1., 2., 2., 1.],
           [0., 2., 0., 0.]])
    """

    def __init__(self, kernel: CountKernel) -> None:
        self.kernel = kernel

    def fit(self, X: Rows, y: object = None) -> Self:
        """Learn the features that occur in X.

        Parameters
        ----------
        X : collection of graphs
            The graphs.
        y : ignored
            Here because pipelines pass it.
        """
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Rows, y: object = None) -> sparse.csr_array:
        """Learn the features that occur in X and return how often they do, a row for each graph."""
        graphs = list(as_objects(X, type(self).__name__))
        found = self.kernel.count(graphs)[0]
        self.graphs_, self.n_features_out_ = graphs, found.shape[1]
        return found

    def transform(self, X: Rows) -> sparse.csr_array:
        """Return how often each feature occurs in each graph of X, as a sparse matrix."""
        check_is_fitted(self)
        # Numbering keeps the order of what the fitted graphs have, so that its columns are in the order of the fit.
        known, found = self.kernel.count(self.graphs_, X)
        return found[:, np.unique(known.indices)]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return ``weisfeilerlehman0``, ``weisfeilerlehman1``, …: the substructures have no names of their own."""
        check_is_fitted(self)
        name = type(self.kernel).__name__.lower()
        return np.array([f"{name}{i}" for i in range(self.n_features_out_)], dtype=object)
