"""Kernels on trees by what grows from pairs of nodes: subset trees and partial trees.

Both sum over pairs of nodes, k(x, z) = Σ_{s∈x} Σ_{t∈z} Δ(s, t), where Δ(s, t) weighs the fragments that grow from
s and from t alike.  Identical subtrees of the whole data set are merged first, so that with the counts C of distinct
subtrees in each tree the Gram matrix is C Δ Cᵀ, and Δ(s, t) = 0 unless both have the same production, or label.

Trees are s-expressions, nested tuples, or objects with a label and children; see :class:`SubsetTree`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

import mercer._native as _native
from mercer.arrays.budget import parse_memory, require
from mercer.arrays.threads import default_threads
from mercer.formula.data import Rows
from mercer.formula.parameters import Flag, NotNegative, Positive

from ..prepared import StructuredKernel
from ..theorem import Theorem
from .forest import Forest, Merger

PAIR = 4  # work on a pair of subtrees, next to a pair of children of theirs
PAIRS = 2**21  # of subtrees whose Δ is kept in one table, 16 MB; a tree that has more is taken in strips
WORK = PAIR * PAIRS  # in one native call: a fraction of a second
VALUE = 16  # bytes of one Δ, as a number whose powers have no end
BOOKKEEPING = 256  # bytes for each distinct subtree: its places, levels, slots, uses and weights
SMALLEST = 1e-150  # that a fragment may weigh so that products of two of them are still numbers
LARGE = 2**27  # pairs of subtrees from which on the room for them is asked for first
DIAGONAL = 1024  # trees of which one native call computes the diagonal


SMALLER = "use smaller trees, or cut those nodes apart that have thousands of children"


class FragmentKernel(StructuredKernel):
    """A kernel on trees by a recursion over pairs of subtrees; subclasses give its rule.

    Δ is never stored as a whole: of the subtrees of a few rows, each meets those subtrees of the columns that lie in
    its group, and of one large tree few rows of Δ are kept at a time.
    """

    has_logarithms: ClassVar[bool] = True

    def rule(self) -> dict[str, Any]:
        """Return which fragments count, and how much: arguments of the compiled core."""
        raise NotImplementedError

    def prepare(self, X: Rows, Z: Rows) -> tuple[Forest, Forest]:
        """Merge the identical subtrees of both collections."""
        return Merger().forests(X, Z, repr(self), by_label=self.rule()["partial"])

    def block(self, A: Forest, B: Forest) -> np.ndarray:
        """C Δ Cᵀ, some rows at a time."""
        return self._check_range(np.concatenate([self._fill(A[part], B) for part in _cut(A, B)]))

    def block_diag(self, A: Forest) -> np.ndarray:
        """C Δ Cᵀ for every tree alone."""
        return self._check_range(np.concatenate([self._fill(part) for part in _cut_evenly(A)]))

    def log_block(self, A: Forest, B: Forest) -> np.ndarray:
        """Logarithms, from numbers of any size where float64 is too narrow."""
        return np.concatenate([self._fill_logarithms(A[part], B) for part in _cut(A, B)])

    def log_block_diag(self, A: Forest) -> np.ndarray:
        """Logarithms for every tree alone."""
        return np.concatenate([self._fill_logarithms(part) for part in _cut_evenly(A)])

    def scratch(self, A: Forest, B: Forest) -> int:
        """Δ for the pairs of subtrees that are kept at a time, in a block of any rows and on the diagonals."""
        table = A.table
        kept = _native.tree_pairs(table.start, table.child, table.group, *A.native, *B.native, pairs=PAIRS)
        return VALUE * kept + BOOKKEEPING * len(table.group)

    def _fill_logarithms(self, A: Forest, B: Forest | None = None) -> np.ndarray:
        rule = self.rule()
        lightest = rule["vertical_decay"] * rule["decay"] ** 2 if rule["partial"] else rule["decay"]
        values = self._fill(A, B) if lightest >= SMALLEST else np.array(np.inf)
        if np.isfinite(values).all():
            with np.errstate(divide="ignore"):
                return np.log(values)
        return self._fill(A, B, logarithms=True)

    def _fill(self, A: Forest, B: Forest | None = None, *, logarithms: bool = False) -> np.ndarray:
        """Call the compiled core on two collections, or on the trees of one with themselves."""
        columns = () if B is None else B.native
        if len(A) == 1 and A.counts.nnz * (A if B is None else B).counts.nnz > LARGE:
            needed = self.scratch(A, A if B is None else B)
            require(needed, parse_memory(None), f"{self!r} of a tree with {A.counts.nnz} distinct subtrees", SMALLER)
        out = np.empty(len(A) if B is None else (len(A), len(B)))
        keeping: dict[str, Any] = {"pairs": PAIRS, "logarithms": logarithms, "threads": default_threads()}
        function: Any = _native.tree_diag if B is None else _native.tree_block
        table = A.table
        function(table.start, table.child, table.group, *A.native, *columns, **self.rule(), **keeping, out=out)
        return out

    def _check_range(self, values: np.ndarray) -> np.ndarray:
        if not np.isfinite(values).all():
            raise OverflowError(
                f"{self!r}: the number of common fragments of these trees is beyond float64; use {self!r}.normalize(), "
                "which is computed from logarithms, or a smaller decay"
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


def _cut_evenly(A: Forest) -> Iterator[Forest]:
    """Cut a collection so that no native call takes long."""
    return (A[start : start + DIAGONAL] for start in range(0, len(A), DIAGONAL))


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
    missing : {"refuse", "own"}, default="refuse"
        Missing trees (None, NaN) are refused, or are one object of their own, with k = 1 to itself and k = 0 to all
        others.  By name only.

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
    missing : {"refuse", "own"}, default="refuse"
        Missing trees (None, NaN) are refused, or are one object of their own, with k = 1 to itself and k = 0 to all
        others.  By name only.

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
        factors = {name: float(value) for name, value in self.get_params().items() if name != "missing"}
        return {"partial": True, "leaves": True, **factors}

    def theorem(self) -> Theorem | None:
        """By induction over the height; leaves that weigh less than other nodes break it."""
        return None if self.terminal_factor < 1 else super().theorem()
