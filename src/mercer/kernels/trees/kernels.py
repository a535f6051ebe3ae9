"""Kernels on trees: what two trees have in common, from complete subtrees to any connected part.

All three sum over pairs of nodes, k(x, z) = Σ_{s∈x} Σ_{t∈z} Δ(s, t), where Δ(s, t) weighs the fragments that grow from
s and from t alike.  Identical subtrees of the whole data set are merged first, so that with the counts C of distinct
subtrees in each tree the Gram matrix is C Δ Cᵀ, and Δ(s, t) = 0 unless both have the same production, or label.

Trees are s-expressions, nested tuples, or objects with a label and children; see :class:`SubsetTree`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

import mercer._native as _native
from mercer.arrays.threads import default_threads
from mercer.formula.data import Rows
from mercer.formula.parameters import Flag, NotNegative, Positive

from ..prepared import ObjectKernel
from ..theorem import Theorem
from .forest import Forest, Merger

PAIR = 4  # work on a pair of subtrees, next to a pair of children of theirs
WORK = PAIR * 2**21  # in one native call: a fraction of a second, and 16 MB
BOOKKEEPING = 64  # bytes for each distinct subtree: its place, level, slot and weight
DIAGONAL = 1024  # trees of which one native call computes the diagonal


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

    def prepare(self, X: Rows, Z: Rows) -> tuple[Forest, Forest]:
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
    """A kernel on trees by a recursion over pairs of subtrees; subclasses give its rule.

    Δ is never stored as a whole: of the subtrees of a few rows, each meets those subtrees of the columns that lie in
    its group.
    """

    structured: ClassVar[bool] = True

    def rule(self) -> dict[str, Any]:
        """Return which fragments count, and how much: arguments of the compiled core."""
        raise NotImplementedError

    def prepare(self, X: Rows, Z: Rows) -> tuple[Forest, Forest]:
        """Merge the identical subtrees of both collections."""
        return Merger().forests(X, Z, repr(self), by_label=self.rule()["partial"])

    def block(self, A: Forest, B: Forest) -> np.ndarray:
        """C Δ Cᵀ, some rows at a time."""
        table, columns, rule, threads = A.table, B.native, self.rule(), default_threads()
        out = np.empty((len(A), len(B)))
        for part in _cut(A, B):
            _native.tree_block(
                table.start, table.child, table.group, *A[part].native, *columns, **rule, out=out[part], threads=threads
            )
        return self._check_range(out)

    def block_diag(self, A: Forest) -> np.ndarray:
        """C Δ Cᵀ for every tree alone."""
        table, rule, out = A.table, self.rule(), np.empty(len(A))
        for start in range(0, len(A), DIAGONAL):
            part = slice(start, start + DIAGONAL)
            _native.tree_diag(table.start, table.child, table.group, *A[part].native, **rule, out=out[part])
        return self._check_range(out)

    def scratch(self, A: Forest, B: Forest) -> int:
        """Δ for the pairs of subtrees that one native call keeps, of one tree at least."""
        before = _add_up(A, _sum_groups(A, np.unique(B.counts.indices)))
        kept = max(int(np.diff(before).max(initial=0)), min(int(before[-1]), WORK // PAIR))
        return 8 * kept + BOOKKEEPING * len(A.table.group)

    def _check_range(self, values: np.ndarray) -> np.ndarray:
        if not np.isfinite(values).all():
            raise OverflowError(
                f"{self!r}: the number of common fragments of these trees is beyond float64; use a smaller decay"
            )
        return values


def _sum_groups(A: Forest, present: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Return for each subtree the number, or the sum of weights, of those present in its group."""
    group = A.table.group
    return np.bincount(group[present], weights=weights, minlength=int(group.max()) + 1)[group]


def _add_up(A: Forest, work: np.ndarray) -> np.ndarray:
    """Return the work on the subtrees of all trees before each."""
    return np.concatenate([[0], np.cumsum(work[A.counts.indices])])[A.counts.indptr]


def _cut(A: Forest, B: Forest) -> Iterator[slice]:
    """Cut the rows so that the work on one part is little enough."""
    children, present = np.diff(A.table.start), np.unique(B.counts.indices)
    before = _add_up(A, PAIR * _sum_groups(A, present) + children * _sum_groups(A, present, children[present]))
    first = 0
    while first < len(A):
        last = max(int(np.searchsorted(before, before[first] + WORK, side="right")) - 1, first + 1)
        yield slice(first, last)
        first = last


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

    def rule(self) -> dict[str, Any]:
        """Subset trees."""
        once = {"vertical_decay": 1.0, "terminal_factor": 1.0}
        return {"partial": False, "decay": float(self.decay), "leaves": bool(self.leaves), **once}


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

    def rule(self) -> dict[str, Any]:
        """Partial trees."""
        factors = {name: float(value) for name, value in self.get_params().items()}
        return {"partial": True, "leaves": True, **factors}

    def theorem(self) -> Theorem | None:
        """By induction over the height; leaves that weigh less than other nodes break it."""
        return None if self.terminal_factor < 1 else super().theorem()
