"""Values of rows in partitions, which stay with their blocks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..executor import Executor

TERMS = 8  # of values that are summed each time they are asked for


@dataclass(frozen=True)
class SpreadValues:
    """Σ tⱼ vⱼ + s, for values vⱼ of all rows that stay with their blocks.

    Every Newton step adds one more; those of more than a few are added up where they are.
    """

    cluster: Executor
    terms: tuple[list[Any], ...]  # each one task for every block
    factors: tuple[float, ...]
    shift: np.ndarray  # (Q,)

    def __add__(self, other: SpreadValues | np.ndarray) -> SpreadValues:
        if not isinstance(other, SpreadValues):
            return replace(self, shift=self.shift + other)
        found = self.join(other)
        return found if len(found.terms) <= TERMS else found._collapse()

    def join(self, other: SpreadValues) -> SpreadValues:
        """Return the sum, term by term."""
        terms, factors = self.terms + other.terms, self.factors + other.factors
        return SpreadValues(self.cluster, terms, factors, self.shift + other.shift)

    def is_same(self, other: SpreadValues) -> bool:
        """Whether these are the same terms with the same factors."""
        same = self.factors == other.factors and np.array_equal(self.shift, other.shift)
        return same and all(mine is theirs for mine, theirs in zip(self.terms, other.terms, strict=True))

    def _collapse(self) -> SpreadValues:
        """Return the same as one term."""
        blocks = [list(parts) for parts in zip(*self.terms, strict=True)]
        tasks = self.cluster.map("terms", _add_terms, blocks, self.factors)
        return replace(self, terms=(self.cluster.keep(tasks),), factors=(1.0,))

    def __rmul__(self, factor: float) -> SpreadValues:
        return replace(self, factors=tuple(factor * t for t in self.factors), shift=factor * self.shift)

    def __truediv__(self, divisor: float) -> SpreadValues:
        return (1.0 / divisor) * self


def mix_terms(n: int, terms: list[np.ndarray], factors: tuple[float, ...], shift: np.ndarray) -> np.ndarray:
    """Return the outputs of n rows."""
    outputs = np.zeros((n, len(shift))) + shift
    for factor, term in zip(factors, terms, strict=True):
        outputs += factor * term
    return outputs


def _add_terms(terms: list[np.ndarray], factors: tuple[float, ...]) -> np.ndarray:
    total = factors[0] * terms[0]
    for factor, term in zip(factors[1:], terms[1:], strict=True):
        total += factor * term
    return total
