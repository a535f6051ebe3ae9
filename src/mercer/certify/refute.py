"""Looking for a violation in the Gram matrix of one set of points, and making it small and readable."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mercer.formula.data import Rows, pick

from .evidence import compute_granted_error, confirm, confirm_asymmetry
from .values import ULPS, PointValues
from .verdict import Refuted

SUSPICIOUS = 1e-10  # of the unit diagonal: smaller negative eigenvalues are surely rounding
NOISE = 1e-4  # no rounding error that a kernel can be recognised through is larger
STRONG = 0.1  # a violation of this size needs no stronger one


@dataclass(frozen=True)
class Suspect:
    """Points (by position) and coefficients whose quadratic form looks negative, and how negative it is."""

    positions: np.ndarray
    coefficients: np.ndarray
    strength: float


class Examiner:
    """Examines one set of points after another for evidence against a function.

    A suspicion that turns out to be rounding makes it more demanding: later ones must be stronger.
    """

    def __init__(self, values: PointValues) -> None:
        self.values = values
        self.level = SUSPICIOUS

    def examine(self, points: Rows, ordered: bool = False) -> Refuted | None:
        """Return a refutation at some of the points; ``ordered`` also compares k(x, z) with k(z, x)."""
        K = self.values.gram(points) if ordered else self.values.symmetric_gram(points)
        if ordered:
            found = self._find_asymmetry(points, K)
            if found is not None:
                return found
            K = (K + K.T) / 2
        floor = 64 * self.values.epsilon * float(np.median(np.abs(np.diag(K))))
        for suspect in self._list_suspects(K):
            if suspect.strength <= self.level:
                continue
            found = self._confirm(points, K, suspect, floor)
            if found is not None:
                return found
            # Noise comes again and again at its own level.  A strong suspicion is no noise but a jump of the function
            # just at these points, and says nothing about others.
            self.level = max(self.level, min(4 * suspect.strength, NOISE))
        return None

    def _find_asymmetry(self, points: Rows, K: np.ndarray) -> Refuted | None:
        gap = np.abs(K - K.T)
        sizes = np.abs(K) + np.abs(K.T)
        relative = np.divide(gap, sizes, out=np.zeros_like(gap), where=sizes > 0)
        if relative.max(initial=0.0) <= ULPS * self.values.epsilon:
            return None
        worst = np.sort(np.unravel_index(np.argmax(relative), gap.shape))
        return confirm_asymmetry(self.values, pick(points, worst))

    def _list_suspects(self, K: np.ndarray) -> Iterator[Suspect]:
        """Yield suspicions from simple to general: one point, two points, all points."""
        diagonal = np.diag(K)
        if diagonal.min() < 0:  # simple points stand first, and win unless others are much worse
            first = int(np.flatnonzero(diagonal <= STRONG * diagonal.min())[0])
            yield Suspect(np.array([first]), np.ones(1), 1.0)
        if len(K) > 1:
            yield from _suspect_pairs(K)
        kept = np.flatnonzero(diagonal > 1e-200)
        if len(kept) > 2:
            sub = K[np.ix_(kept, kept)]
            # Much quicker than the eigenvalues: none of them is below −level.
            if not has_cholesky(_scale_diagonal(sub)[0] + self.level * np.eye(len(sub))):
                least, a = find_least_eigenvector(sub)
                yield Suspect(kept, a, -least)

    def _confirm(self, points: Rows, K: np.ndarray, suspect: Suspect, floor: float) -> Refuted | None:
        """Confirm the simplest form of a violation that can be confirmed."""
        sub = K[np.ix_(suspect.positions, suspect.positions)]
        a = suspect.coefficients
        if -float(a @ sub @ a) <= compute_granted_error(sub, a, self.values.epsilon):
            return None
        raw = (np.arange(len(sub)), a)
        few = drop_points(sub, suspect.strength) if len(sub) > 2 else raw
        for kept, exact in (few, raw)[: 1 + (len(few[0]) < len(sub))]:
            for rounded in round_coefficients(sub[np.ix_(kept, kept)], exact):
                used = np.flatnonzero(rounded)
                chosen, a = _sort_for_reader(pick(points, suspect.positions[kept[used]]), rounded[used])
                found = confirm(self.values, chosen, a, floor)
                if found is not None:
                    return found
        return None


def _scale_diagonal(K: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return K scaled to a unit diagonal, and the scales."""
    scale = 1.0 / np.sqrt(np.diag(K))
    return K * scale[:, None] * scale[None, :], scale


def find_least_eigenvector(K: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the least eigenvalue of K scaled to a unit diagonal, and coefficients for K itself that give its sign."""
    unit, scale = _scale_diagonal(K)
    if not np.isfinite(unit).all():
        return 0.0, np.ones(len(K))  # too large for coefficients of any use
    eigenvalues, vectors = np.linalg.eigh(unit)
    a = vectors[:, 0] * scale
    return float(eigenvalues[0]), a / np.abs(a).max()


def has_cholesky(K: np.ndarray) -> bool:
    """Whether a matrix has a Cholesky factor in floating point."""
    try:
        np.linalg.cholesky(K)
    except np.linalg.LinAlgError:
        return False
    return True


def _suspect_pairs(K: np.ndarray) -> Iterator[Suspect]:
    """Yield the best pair that violates Cauchy–Schwarz; simple points stand first, and win if strong enough."""
    n = len(K)
    rows, columns = np.triu_indices(n, 1)
    a, b, c = np.diag(K)[rows], K[rows, columns], np.diag(K)[columns]
    positive = (a > 0) & (c > 0)
    norms = np.sqrt(np.where(positive, a, 1.0)) * np.sqrt(np.where(positive, c, 1.0))
    excess = np.where(positive, np.abs(b) / norms - 1.0, np.where(b != 0, 1.0, 0.0))
    strong = np.flatnonzero(excess > STRONG)
    best = int(strong[0]) if len(strong) else int(np.argmax(excess))
    if excess[best] <= 0:
        return
    i, j = rows[best], columns[best]
    if K[i, i] + K[j, j] < abs(K[i, j]):  # x − z or x + z will do, and is easiest to read
        coefficients = np.array([1.0, -np.sign(K[i, j])])
    elif positive[best]:
        coefficients = np.array([1.0 / np.sqrt(K[i, i]), -np.sign(K[i, j]) / np.sqrt(K[j, j])])
    else:
        # One of the points has k(x, x) ≤ 0: it may count as much as the other one's k(z, z) demands.
        larger = max(K[i, i], K[j, j], abs(K[i, j]))
        coefficients = np.array([1.0, -np.sign(K[i, j]) * larger / abs(K[i, j])])
        if K[i, i] <= 0 < K[j, j]:
            coefficients = coefficients[::-1]
    yield Suspect(np.array([i, j]), coefficients / np.abs(coefficients).max(), float(min(excess[best], 1.0)))


def drop_points(K: np.ndarray, strength: float) -> tuple[np.ndarray, np.ndarray]:
    """Drop points one by one while a clear violation remains; return those kept and their coefficients."""
    keep = max(0.02 * strength, 100 * ULPS * np.finfo(float).eps)
    kept = np.arange(len(K))
    _, a = find_least_eigenvector(K)
    while len(kept) > 2:
        weights = np.abs(a) * np.sqrt(np.diag(K)[kept])
        order = np.argsort(weights)
        batches = [order[: max(1, len(kept) // 4)], order[:1]] if len(kept) > 12 else [order[i : i + 1] for i in order]
        options = []
        for batch in batches:
            rest = np.delete(kept, batch)
            least, coefficients = find_least_eigenvector(K[np.ix_(rest, rest)])
            options.append((least, rest, coefficients))
            if len(kept) > 12 and least < -keep:
                break
        least, rest, coefficients = min(options, key=lambda option: option[0])
        if least >= -keep:
            break
        kept, a = rest, coefficients
    return kept, a


def round_coefficients(K: np.ndarray, a: np.ndarray) -> Iterator[np.ndarray]:
    """Yield rounder and rounder coefficients last to first: those that keep a good part of the violation, then a."""
    a = a / np.abs(a).max()
    strength = _compare_form(K, a)
    digits = np.array([float(f"{value:.3g}") for value in a])
    for rounded in (*(np.round(n * a) / n for n in (1, 2, 4, 10, 100, 1000)), digits):
        if rounded.any() and _compare_form(K, rounded) < 0.4 * strength < 0:
            yield rounded + 0.0
    yield a


def _sort_for_reader(points: Rows, a: np.ndarray) -> tuple[Rows, np.ndarray]:
    """Sort vectors by their coordinates, for a reader, and start with a positive coefficient."""
    if isinstance(points, np.ndarray) and points.ndim == 2:
        order = np.lexsort(points.T[::-1])
        points, a = pick(points, order), a[order]
    return points, a if a[0] > 0 else -a


def _compare_form(K: np.ndarray, a: np.ndarray) -> float:
    """Return Σ aᵢaⱼKᵢⱼ relative to the sum of the terms' sizes."""
    size = float(np.abs(np.outer(a, a) * K).sum())
    return float(a @ K @ a) / size if size > 0 else 0.0
