"""Kernels on trees: what two trees have in common, from complete subtrees to any connected part.

All three sum over pairs of nodes, k(x, z) = Σ_{s∈x} Σ_{t∈z} Δ(s, t), where Δ(s, t) weighs the fragments that grow from
s and from t alike.  Identical subtrees of the whole data set are merged first, so that with the counts C of distinct
subtrees in each tree the Gram matrix is C Δ Cᵀ, and Δ(s, t) = 0 unless both have the same production, or label.

Trees are s-expressions, nested tuples, or objects with a label and children; see :class:`SubsetTree`.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from mercer.formula.data import Rows
from mercer.formula.parameters import Flag, NotNegative, Positive

from ..base import ObjectKernel
from ..theorem import Theorem
from .delta import FragmentRule, fragments, fragments_bytes, fragments_diag
from .forest import Forest, Merger


class Subtree(ObjectKernel):
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

    structured: ClassVar[bool] = True

    decay: Positive = 0.4
    leaves: Flag = True
    because = "k(x, z) = φ(x)ᵀφ(z), where φ counts every subtree t with the weight √λ^{n(t)}"

    def weighted(self, merger: Merger, counts: sparse.csr_array) -> sparse.csr_array:
        """Return the features #_t √(λ^{n(t)}) of trees whose subtrees have been counted."""
        inner = merger.inner_nodes()[: counts.shape[1]]
        with np.errstate(over="ignore"):
            weight = np.where(inner > 0, float(self.decay) ** (inner / 2), np.sqrt(self.decay) if self.leaves else 0.0)
        return sparse.csr_array((counts.data * weight[counts.indices], counts.indices, counts.indptr), counts.shape)

    def prepare(self, X: Rows, Z: Rows) -> tuple[Any, Any]:
        """Count the subtrees of both collections, and weigh them."""
        merger = Merger()
        sides = merger.forests(X, Z, repr(self), by_label=True)
        A, B = (Forest(side.table, self.weighted(merger, side.counts)) for side in sides)
        return A, A if Z is X else B

    def block(self, A: Forest, B: Forest) -> np.ndarray:
        """Dot products of the features."""
        return np.asarray((A.counts @ B.counts.T).toarray())

    def block_diag(self, A: Forest) -> np.ndarray:
        """Squared norms of the features."""
        return np.asarray(A.counts.multiply(A.counts).sum(axis=1)).ravel()


class FragmentKernel(ObjectKernel):
    """A kernel on trees by a recursion over pairs of subtrees; subclasses give its rule."""

    structured: ClassVar[bool] = True

    def rule(self) -> FragmentRule:
        """Return which fragments count, and how much."""
        raise NotImplementedError

    def prepare(self, X: Rows, Z: Rows) -> tuple[Any, Any]:
        """Merge the identical subtrees of both collections."""
        return Merger().forests(X, Z, repr(self), by_label=self.rule().partial)

    def block(self, A: Forest, B: Forest) -> np.ndarray:
        """C Δ Cᵀ."""
        return fragments(self.rule(), A, B, repr(self))

    def scratch(self, A: Forest, B: Forest) -> int:
        """Δ for the pairs of subtrees of a few trees and all others."""
        return fragments_bytes(A, B)

    def block_diag(self, A: Forest) -> np.ndarray:
        """C Δ Cᵀ for every tree alone."""
        return fragments_diag(self.rule(), A, repr(self))


class SubsetTree(FragmentKernel):
    """Common subset trees: fragments that take every child of a node or none.

    k(x, z) = Σ_{s∈x} Σ_{t∈z} Δ(s, t).  If s and t have the same production, that is the same label and the same labels
    of children in the same order, Δ(s, t) = λ Π_i (1 + Δ(sᵢ, tᵢ)) over their children, where leaves contribute the
    factor 1; otherwise Δ(s, t) = 0.  Two leaves with the same label have Δ = λ if leaves count, and 0 if not.
    See Collins and Duffy, Advances in Neural Information Processing Systems 14 (2001).

    Parameters
    ----------
    decay : float, default=0.4
        The weight λ of every node with children in a fragment, positive; below 1 it keeps large fragments from
        dominating.
    leaves : bool, default=True
        Whether a leaf alone is a fragment, which adds λ times the dot product of the counts of leaves.

    See Also
    --------
    Subtree : Fragments must go down to the leaves.
    PartialTree : Fragments may take some of the children.

    Notes
    -----
    A tree is one of

    - an s-expression, ``"(S (NP we) (VP saw))"`` or ``"(S(NP(we))(VP(saw)))"``, with or without spaces;
    - a tuple or list of a label and children, ``("S", ("NP", "we"), ("VP", "saw"))``, where a leaf is its label or
      ``(label,)``, and labels are any hashable values;
    - an object with ``label`` and ``children``, attributes or methods, or with ``label`` and an iteration over the
      children, such as NLTK's trees; leaves may be labels.

    The values grow with the size of the trees; ``SubsetTree().normalize()`` is what one mostly wants.

    Examples
    --------
    >>> from mercer.kernels import SubsetTree
    >>> trees = ["(S (NP we) (VP (V saw) (NP stars)))", ("S", ("NP", "we"), ("VP", "slept"))]
    >>> SubsetTree(decay=0.5, leaves=False)(trees)
    array([[4.21875, 1.25   ],
           [1.25   , 2.125  ]])
    """

    decay: Positive = 0.4
    leaves: Flag = True
    because = (
        "k(x, z) = φ(x)ᵀφ(z), where φ counts every fragment with the weight √λⁿ for its n nodes with children "
        "(Collins and Duffy)"
    )

    def rule(self) -> FragmentRule:
        """Subset trees."""
        return FragmentRule(partial=False, decay=float(self.decay), leaves=bool(self.leaves))


class PartialTree(FragmentKernel):
    """Common partial trees: fragments that take any children of a node, in their order.

    k(x, z) = Σ_{s∈x} Σ_{t∈z} Δ(s, t).  If s and t have the same label,

    Δ(s, t) = μ (λ² + Σ_{I, J} λ^{g(I)+g(J)} Π_k Δ(s_{I_k}, t_{J_k}))

    over sequences I and J of equal length of children of s and of t, where g is the number of children left out between
    the first and the last one taken; otherwise Δ(s, t) = 0.  For two leaves Δ = τ μ λ².  See Moschitti, European
    Conference on Machine Learning (2006).

    Parameters
    ----------
    decay : float, default=0.4
        The weight λ of every child that is left out, positive.
    vertical_decay : float, default=0.4
        The weight μ of every node of a fragment, positive.
    terminal_factor : float, default=1.0
        How much more two equal leaves weigh than two other nodes with the same label; not negative.  Below 1 the kernel
        need not be positive semi-definite.

    See Also
    --------
    SubsetTree : Fragments take every child of a node or none, and the forms that trees can have.

    Examples
    --------
    >>> from mercer.kernels import PartialTree
    >>> trees = ["(S (NP we) (VP (V saw) (NP stars)))", "(S (NP we) (VP slept))"]
    >>> PartialTree().normalize()(trees).round(4)
    array([[1.    , 0.6503],
           [0.6503, 1.    ]])
    """

    decay: Positive = 0.4
    vertical_decay: Positive = 0.4
    terminal_factor: NotNegative = 1.0
    because = (
        "by induction over the height Δ is a conical sum of kernels: the indicators of equal labels and, as τ ≥ 1, "
        "of equal leaves, and gap-weighted sums of products of Δ over subsequences of children (Moschitti)"
    )

    def rule(self) -> FragmentRule:
        """Partial trees."""
        return FragmentRule(
            partial=True,
            decay=float(self.decay),
            vertical_decay=float(self.vertical_decay),
            terminal_factor=float(self.terminal_factor),
        )

    def theorem(self) -> Theorem | None:
        """By induction over the height; leaves that weigh less than other nodes break it."""
        return None if self.terminal_factor < 1 else super().theorem()
