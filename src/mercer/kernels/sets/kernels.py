"""Kernels on bags: collections of objects for which any base kernel says how similar two of them are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from mercer.formula.data import Rows, advise_on, concatenate, is_frame, is_missing_object, length, number_objects, short
from mercer.formula.distance import Distances
from mercer.formula.evaluation import TILE_ENTRIES, Evaluation
from mercer.formula.notation.reading import read_formula
from mercer.formula.notation.tree import DOTS, Absolute, Letter, Node, Relation, Total, power, times, walk_tree

from ..base import Inner
from ..prepared import Sliced, StructuredKernel
from ..theorem import Definiteness

ELEMENTS = [(Letter(a), Letter(b)) for a, b in ("uv", "st", "pq")]  # of bags, and of bags inside these


class BagKernel(StructuredKernel):
    """A kernel between bags made of a kernel between their elements; subclasses say how pairs are put together."""

    base: Inner

    def weigh(self, sums: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return the values of bags with given sizes from the sums over their pairs."""
        raise NotImplementedError

    def notation(self, x: Node, z: Node) -> Node:
        """Σ_{u∈x} Σ_{v∈z} base(u, v), in other letters where bags hold bags."""
        letters = set(walk_tree(x)) | set(walk_tree(z))
        free = [pair for pair in ELEMENTS if not letters & set(pair)]
        if not free:
            return DOTS
        u, v = free[0]
        inner = read_formula(self.base.traced(), u, v)
        return Total(Total(inner, Relation(v, "∈", z)), Relation(u, "∈", x))

    def prepare(self, X: Rows, Z: Rows) -> tuple[Bags, Bags]:
        """Put the elements of all bags into one collection, for which the base kernel is prepared once."""
        left, start, size = join_bags(X, repr(self))
        formula, name = self.base.traced(), repr(self.base)
        own = Evaluation(formula, left, None, name)
        if Z is X:
            self._read(own, X)
            A = Bags(own, own, start, size)
            return A, A
        right, right_start, right_size = join_bags(Z, repr(self))
        cross = Evaluation(formula, left, right, name)
        self._read(cross, X, Z)
        return Bags(cross, own, start, size), Bags(
            cross, Evaluation(formula, right, None, name), right_start, right_size
        )

    def _read(self, base: Evaluation, *collections: Rows) -> None:
        """Let the base kernel read all elements; what it has to say about one comes behind the row of its bag."""
        try:
            base.prepared()
        except (TypeError, ValueError):
            for X in collections:
                self._name_bag(X)
            raise

    def _name_bag(self, X: Rows) -> None:
        """Raise what the base kernel has to say about the first bag that it cannot read, if there is one."""
        for row, thing in number_objects(X, repr(self)):
            try:
                Evaluation(self.base.traced(), _as_bag(thing, row, repr(self)), None, repr(self.base)).prepared()
            except (TypeError, ValueError) as error:
                raise type(error)(f"{self!r}: bag {row}, in which rows are elements: {error}") from error.__cause__

    def block(self, A: Bags, B: Bags) -> np.ndarray:
        """Sum over pairs of elements, some rows of them at a time."""
        sums = np.concatenate([_sum_pairs(A.cross, A, some) for some in B.runs()], axis=1)
        return self.weigh(sums, A.size[:, None], B.size[None, :])

    def block_distance(self, A: Bags, B: Bags) -> np.ndarray:
        """Sum the distances of elements, between bags and inside them, which a shift of all elements leaves alone.

        With weights w of the elements of both bags, negative in one of them, the distance is ΣΣ wᵢwⱼ base(xᵢ, xⱼ) =
        Σ wᵢ · Σ wᵢ base(xᵢ, xᵢ) − ½ ΣΣ wᵢwⱼ ‖φ(xᵢ) − φ(xⱼ)‖².
        """
        sums = np.concatenate([_sum_pairs(A.cross.distances, A, some) for some in B.runs()], axis=1)
        between = self.weigh(sums, A.size[:, None], B.size[None, :])
        (left, one), (right, other) = (self._sum_inside(bags) for bags in (A, B))
        totals = self._weigh_whole(A.size)[:, None] - self._weigh_whole(B.size)[None, :]
        shift = np.where(totals == 0, 0.0, totals * (one[:, None] - other[None, :]))
        return between - 0.5 * (left[:, None] + right[None, :]) + shift

    def _sum_inside(self, bags: Bags) -> tuple[np.ndarray, np.ndarray]:
        """Return the weighted sums of distances inside each bag, and those of base(x, x)."""
        one_by_one = [bags[i : i + 1] for i in range(len(bags))]
        sums = np.array([_sum_pairs(bags.own.distances, bag, bag)[0, 0] for bag in one_by_one])
        diagonal = bags.own.diag()
        own = np.array([diagonal[s : s + m].sum() for s, m in zip(bags.start, bags.size, strict=True)])
        return self.weigh(sums, bags.size, bags.size), own * self._weigh_whole(bags.size) / bags.size

    def _weigh_whole(self, size: np.ndarray) -> np.ndarray:
        """Return the weight of all elements of a bag together."""
        return np.sqrt(self.weigh(1.0 * size * size, size, size))

    def block_diag(self, A: Bags) -> np.ndarray:
        """Sum over the pairs of elements of each bag."""
        sums = [_sum_pairs(A.own, A[i : i + 1], A[i : i + 1])[0, 0] for i in range(len(A))]
        return self.weigh(np.array(sums), A.size, A.size)


class PairSum(BagKernel):
    """The sum of a kernel over all pairs of elements of two bags.

    k(X, Z) = Σ_{x∈X} Σ_{z∈Z} base(x, z), for bags of at least one element.  With ``normalize`` the sizes of bags no
    longer matter.  See Haussler, UCSC-CRL-99-10 (1999), and Gärtner et al., ICML (2002).

    Parameters
    ----------
    base : Kernel
        The kernel between elements, of any kind that it takes.
    missing : {"refuse", "own"}, default="refuse"
        Missing bags (None, NaN) are refused, or are one object of their own, with k = 1 to itself and k = 0 to all
        others.  By name only.

    Examples
    --------
    >>> from mercer.kernels import Linear, PairSum
    >>> PairSum(Linear())([[[1.0], [2.0]], [[5.0]]])
    array([[ 9., 15.],
           [15., 25.]])
    """

    because = "k(X, Z) = Φ(X)ᵀΦ(Z), where Φ(X) = Σ_{x∈X} φ(x) sums the features of the elements"
    definite = Definiteness(False, "a bag with all elements twice has twice the features")

    def weigh(self, sums: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """The sums."""
        return sums


class MeanEmbedding(BagKernel):
    """The inner product of the means of two bags in the feature space of a kernel.

    k(X, Z) = (1 / nm) Σ_{x∈X} Σ_{z∈Z} base(x, z) = ⟨μ_X, μ_Z⟩ for bags of n and m elements.  Bags stand for the
    distributions their elements are drawn from: ``k.distance`` is then the squared maximum mean discrepancy.  See
    Smola et al., ALT (2007), and Muandet et al., NIPS (2012).

    Parameters
    ----------
    base : Kernel
        The kernel between elements, of any kind that it takes.
    missing : {"refuse", "own"}, default="refuse"
        Missing bags (None, NaN) are refused, or are one object of their own, with k = 1 to itself and k = 0 to all
        others.  By name only.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, MeanEmbedding
    >>> bags = [[[0.0], [2.0]], [[1.0]]]
    >>> MeanEmbedding(Gaussian())(bags).round(4)
    array([[0.5677, 0.6065],
           [0.6065, 1.    ]])
    """

    because = "k(X, Z) = μ_Xᵀμ_Z, where μ_X is the mean of the features φ(x) of the elements"
    definite = Definiteness(False, "a bag with all elements twice has the same mean", separates=False)

    def notation(self, x: Node, z: Node) -> Node:
        """The sum over the number of pairs."""
        return times(super().notation(x, z), power(Absolute(x), -1.0), power(Absolute(z), -1.0))

    def weigh(self, sums: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """The sums divided by the number of pairs."""
        return sums / (left * right)


@dataclass(frozen=True, eq=False)
class Bags(Sliced):
    """Bags of elements of an evaluation of the base kernel: bag i has ``size[i]`` of them from ``start[i]`` on."""

    cross: Evaluation  # the base kernel between the elements of both collections of bags
    own: Evaluation  # the base kernel among the elements of this one
    start: np.ndarray
    size: np.ndarray
    along = ("start", "size")

    def runs(self) -> list[Bags]:
        """Return the bags in groups whose elements follow each other."""
        breaks = np.flatnonzero(self.start[1:] != self.start[:-1] + self.size[:-1]) + 1
        bounds = [0, *breaks.tolist(), len(self)]
        return [self[begin:end] for begin, end in pairwise(bounds)]


def _sum_pairs(base: Evaluation | Distances, A: Bags, B: Bags) -> np.ndarray:
    """Return the sums of the base kernel over pairs of bags; the elements of B follow each other."""
    columns = slice(int(B.start[0]), int(B.start[-1] + B.size[-1]))
    rows = np.concatenate([np.arange(s, s + m) for s, m in zip(A.start, A.size, strict=True)])
    per_row = np.empty((len(rows), len(B)))
    step = max(1, TILE_ENTRIES // (columns.stop - columns.start))
    for begin in range(0, len(rows), step):
        tile = base.tile(rows[begin : begin + step], columns)
        per_row[begin : begin + step] = np.add.reduceat(tile, B.start - B.start[0], axis=1, dtype=float)
    return np.add.reduceat(per_row, np.cumsum(A.size) - A.size, axis=0)


def join_bags(X: Rows, owner: str) -> tuple[Rows, np.ndarray, np.ndarray]:
    """Return the elements of all bags as one collection, and where each bag starts and how many elements it has."""
    numbered = number_objects(X, owner)
    bags = [_as_bag(thing, row, owner) for row, thing in numbered]
    size = np.array([length(bag) for bag in bags], dtype=np.int64)
    if (size == 0).any():
        empty = numbered[int(np.argmin(size))][0]
        raise ValueError(f"{owner}: bag {empty} is empty; drop it, or give it at least one element")
    widths = {bag.shape[1]: i for i, bag in reversed(list(enumerate(bags))) if len(getattr(bag, "shape", ())) == 2}
    if len(widths) > 1:
        (some, i), (others, j) = sorted(widths.items(), key=lambda item: item[1])[:2]
        raise ValueError(
            f"{owner}: elements of bag {numbered[i][0]} have {some} features, but those of bag {numbered[j][0]} have "
            f"{others}; all need the same"
        )
    while len(bags) > 1:  # two at a time, so that elements are copied a few times only
        bags = [concatenate(*bags[i : i + 2]) if i + 1 < len(bags) else bags[i] for i in range(0, len(bags), 2)]
    return bags[0], np.cumsum(size) - size, size


def _as_bag(thing: Any, position: int, owner: str) -> Rows:
    if is_missing_object(thing):
        raise TypeError(f"{owner} needs bags, but object {position} is {thing}. {advise_on(thing)}")
    if isinstance(thing, str | bytes | Mapping) or not (hasattr(thing, "__len__") or hasattr(thing, "shape")):
        raise TypeError(
            f"{owner} needs bags, which are arrays or lists of elements, but object {position} is {short(thing)} of "
            f"type {type(thing).__name__}; put its elements into a list"
        )
    if is_frame(thing) or hasattr(thing, "shape"):
        return thing
    return list(thing)
