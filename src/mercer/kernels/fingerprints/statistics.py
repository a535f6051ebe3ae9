"""What fingerprints have in common: how many bits or counts, and whether there are any at all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from scipy import sparse

from mercer.arrays import Array
from mercer.formula.data import Rows
from mercer.formula.expression import Expression, Stat
from mercer.formula.notation.tree import ONE, ZERO, Node, Relation, Word, times
from mercer.formula.pair import WHOLE, Pair
from mercer.formula.statistics import Dot, Prepared, Statistic, VectorStatistic

from ..histogram import MinimumSum
from .data import check_bits, check_counts, holds_sets, read_sets, spread_counts


def apply_view(statistic: Statistic, X: Rows, Z: Rows) -> tuple[Rows, Rows]:
    """Return both sides after the steps before a statistic; the two are one object if X is Z."""
    A = statistic.view.apply(X)
    return A, A if Z is X else statistic.view.apply(Z)


@dataclass(frozen=True)
class Common(Dot):
    """Σ_d x_d z_d, of bits the number that both points have; points may be sets of hashes."""

    bits: bool = False  # whether other numbers than 0 and 1 are refused
    sets: bool = True  # whether sets of hashes, which have no number of places, are taken

    def prepare(self, X: Rows, Z: Rows, dtype: Any) -> tuple[Prepared, Prepared]:
        """Read sets as sparse rows."""
        X, Z = apply_view(self, X, Z)
        if holds_sets(X):
            if not self.sets:
                raise TypeError(
                    f"{self.owner} counts places that neither fingerprint has, and sets of hashes do not say how many "
                    "there are; give rows of bits, or take a coefficient such as 'dice'"
                )
            X, Z = read_sets(X, Z, self.owner)
        return Dot.prepare(replace(self, view=WHOLE), X, Z, dtype)

    def check(self, A: Any) -> None:
        """Raise on what is no bit, where only bits will do."""
        if self.bits:
            check_bits(A, self.owner)

    apart_formula = Statistic.apart_formula  # of sets there are no differences


@dataclass(frozen=True)
class CommonCounts(MinimumSum):
    """Σ_d min(x_d, z_d); points may be sparse rows of whole counts, sets of hashes and counts by hash."""

    takes_sparse = True

    def prepare(self, X: Rows, Z: Rows, dtype: Any) -> tuple[Prepared, Prepared]:
        """Write sparse counts as bits."""
        X, Z = apply_view(self, X, Z)
        if holds_sets(X):
            X, Z = read_sets(X, Z, self.owner)
        A, B = MinimumSum.prepare(replace(self, view=WHOLE), X, Z, dtype)
        if not sparse.issparse(A):
            return A, B
        left, right = spread_counts(A, B, self.owner)
        left = left.astype(dtype)
        return left, left if B is A else right.astype(dtype)

    def check(self, A: Any) -> None:
        """Raise on negative counts."""
        check_counts(A, self.owner)

    def block(self, A: Prepared, B: Prepared) -> np.ndarray:
        """Dot products of bits, or sums of minima."""
        return Dot.block(self, A, B) if sparse.issparse(A) else super().block(A, B)  # type: ignore[arg-type]

    def diag(self, A: Prepared) -> np.ndarray:
        """Sums of counts."""
        return np.asarray(A.sum(axis=1)).ravel()

    def apart(self, A: Prepared, B: Prepared) -> np.ndarray:
        """Σ |x − z|."""
        return Statistic.apart(self, A, B) if sparse.issparse(A) else super().apart(A, B)

    def rise(self, A: Prepared, B: Prepared) -> np.ndarray:
        """Σ (x − z)."""
        return np.asarray(Statistic.rise(self, A, B)) if sparse.issparse(A) else super().rise(A, B)


@dataclass(frozen=True)
class Emptiness(VectorStatistic):
    """1 where both points are 0 everywhere, or 1 everywhere; formulas ask for its value at one point."""

    of: Statistic | None = None  # whose prepared rows it reads
    full: bool = False
    takes_sparse = True

    @property
    def source(self) -> Statistic:
        """The statistic whose rows are read, so that they are prepared once."""
        return self if self.of is None else self.of

    def notation(self, x: Node, z: Node) -> Node:
        """1[x = 0], for both points."""
        value = ONE if self.full else ZERO
        return times(*(Relation(point, "=", value, indicator=True) for point in dict.fromkeys((x, z))))

    def block(self, A: Prepared, B: Prepared) -> np.ndarray:
        """1 for two points without entries."""
        return np.outer(self.diag(A), self.diag(B))

    def diag(self, A: Prepared) -> np.ndarray:
        """1 for points without entries, or with all."""
        if sparse.issparse(A):
            counts = np.asarray((A != 0).sum(axis=1)).ravel()
            found = counts == (A.shape[1] if self.full else 0)
        else:
            found = A.all(axis=1) if self.full else ~A.any(axis=1)
        return np.asarray(found.astype(A.dtype))

    def slope(self, a: Array, b: Array) -> Array:
        """0, as a jump has none."""
        return 0.0 * (a + b)


@dataclass(frozen=True)
class Width(VectorStatistic):
    """The number of places that a fingerprint has; formulas ask for its value at one point."""

    of: Statistic | None = None  # whose prepared rows it reads
    takes_sparse = True
    source = Emptiness.source

    def notation(self, x: Node, z: Node) -> Node:
        """D."""
        return Word("D")

    def block(self, A: Prepared, B: Prepared) -> np.ndarray:
        """The number of columns."""
        return np.full((A.shape[0], B.shape[0]), float(A.shape[1]), dtype=A.dtype)

    def diag(self, A: Prepared) -> np.ndarray:
        """The number of columns."""
        return np.full(A.shape[0], float(A.shape[1]), dtype=A.dtype)

    slope = Emptiness.slope


def read_source(common: Expression) -> Statistic:
    """Return the statistic whose rows others read."""
    return cast(Stat, common).statistic


def mark_empty(pair: Pair, common: Expression, *, full: bool = False) -> Expression:
    """Return 1 for two fingerprints without any entry (or with all), which are the same, and 0 for all others."""
    empty = pair.statistic(Emptiness, read_source(common), full)
    return pair.left(empty) * pair.right(empty)
