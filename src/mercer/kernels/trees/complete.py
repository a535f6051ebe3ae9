"""The kernel on trees that counts complete subtrees, which has one feature for each of them."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy import sparse

from mercer.formula.data import Rows
from mercer.formula.parameters import Flag, Positive

from ..prepared import StructuredKernel
from .forest import Merger, WeighedForest

FAR = 400  # powers of 2 of a feature from which on squares of it may leave float64


class Subtree(StructuredKernel):
    """Common complete subtrees: a node with everything below it, down to the leaves.

    k(x, z) = Σ_t λ^{n(t)} #_t(x) #_t(z), where #_t(x) is how often the subtree t occurs in x, and n(t) the number of
    its nodes with children; a leaf alone has the weight λ.  In the recursion of :class:`SubsetTree` a child that
    differs multiplies by 0.  See Vishwanathan and Smola, Advances in Neural Information Processing Systems 15 (2002).

    Parameters
    ----------
    decay : float, default=0.4
        The weight λ of every node with children, positive; below 1 it keeps large subtrees from dominating.
    leaves : bool, default=True
        Whether a leaf counts as a subtree.
    missing : {"refuse", "own"}, default="refuse"
        Missing trees (None, NaN) are refused, or are one object of their own, with k = 1 to itself and k = 0 to all
        others.  By name only.

    See Also
    --------
    SubsetTree : Fragments need not go down to the leaves.

    Examples
    --------
    >>> from mercer.kernels import Subtree
    >>> trees = ["(S (NP we) (VP (V saw) (NP stars)))", "(S (NP we) (VP saw))"]
    >>> Subtree(decay=0.5)(trees).round(4)
    array([[3.1563, 1.5   ],
           [1.5   , 2.125 ]])
    >>> Subtree(decay=0.5).features().fit(trees).get_feature_names_out()[:3].tolist()
    ['we', '(NP we)', 'saw']
    """

    has_logarithms: ClassVar[bool] = True

    decay: Positive = 0.4
    leaves: Flag = True
    because = "k(x, z) = φ(x)ᵀφ(z), where φ counts every subtree t with the weight √λ^{n(t)}"

    def weighted(self, merger: Merger, counts: sparse.csr_array) -> sparse.csr_array:
        """Return the features #_t √(λ^{n(t)}) of trees whose subtrees have been counted."""
        features, powers = self._weigh(merger, counts)
        scale = np.repeat(powers, np.diff(features.indptr))
        return sparse.csr_array((np.ldexp(features.data, scale), features.indices, features.indptr), features.shape)

    def _weigh(self, merger: Merger, counts: sparse.csr_array) -> tuple[sparse.csr_array, np.ndarray]:
        """Return the features of each tree divided by a power of 2, and that power: 0 unless they are out of range."""
        inner = merger.inner_nodes()[: counts.shape[1]]
        exponents = np.where(inner > 0, inner / 2, 0.5) * np.log2(float(self.decay))
        exponents[(inner == 0) & (not self.leaves)] = -np.inf
        entries = exponents[counts.indices]
        largest = np.maximum.reduceat(entries, counts.indptr[:-1])  # every tree has a subtree
        powers = np.where(np.isfinite(largest) & (np.abs(largest) > FAR), np.rint(largest), 0.0).astype(np.int64)
        far = np.repeat(powers, np.diff(counts.indptr))
        with np.errstate(over="ignore"):
            near = np.where(inner > 0, float(self.decay) ** (inner / 2), np.sqrt(self.decay) if self.leaves else 0.0)
        weights = np.where(far == 0, near[counts.indices], np.exp2(entries - far))  # powers are exact where they can be
        return sparse.csr_array((counts.data * weights, counts.indices, counts.indptr), counts.shape), powers

    def prepare(self, X: Rows, Z: Rows) -> tuple[WeighedForest, WeighedForest]:
        """Count the subtrees of both collections, and weigh them."""
        merger = Merger()
        sides = merger.forests(X, Z, repr(self), by_label=True)
        A, B = (WeighedForest(*self._weigh(merger, side.counts)) for side in sides)
        return A, A if Z is X else B

    def block(self, A: WeighedForest, B: WeighedForest) -> np.ndarray:
        """Dot products of the features."""
        return np.ldexp(_multiply(A, B), A.powers[:, None] + B.powers[None, :])

    def block_diag(self, A: WeighedForest) -> np.ndarray:
        """Squared norms of the features."""
        return np.ldexp(_square(A), 2 * A.powers)

    def log_block(self, A: WeighedForest, B: WeighedForest) -> np.ndarray:
        """Logarithms of dot products."""
        with np.errstate(divide="ignore"):
            return np.log(_multiply(A, B)) + np.log(2.0) * (A.powers[:, None] + B.powers[None, :])

    def log_block_diag(self, A: WeighedForest) -> np.ndarray:
        """Logarithms of squared norms."""
        with np.errstate(divide="ignore"):
            return np.log(_square(A)) + 2.0 * np.log(2.0) * A.powers


def _multiply(A: WeighedForest, B: WeighedForest) -> np.ndarray:
    return np.asarray((A.features @ B.features.T).toarray())


def _square(A: WeighedForest) -> np.ndarray:
    return np.asarray(A.features.multiply(A.features).sum(axis=1)).ravel()
