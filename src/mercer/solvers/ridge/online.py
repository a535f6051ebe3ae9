"""Ridge point by point: a factor that grows and shrinks with the points, and the solution of all that are there.

A = K + αW⁻¹ changes by rows when points come and go, and so does its Cholesky factor, in O(n²) each
(:mod:`mercer.linalg.growing`).  Where all of its diagonal changes, as when weights fade or α is that of a mean, there
is no such way: the factor is made anew from the kernel values that are kept, n³/3 operations.

The solution is computed from the factor, and judged with K itself.  A factor that the rounding of many changes has worn
out is made anew.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from threading import RLock
from typing import Annotated, Any

import numpy as np

from mercer.arrays.budget import require
from mercer.arrays.columns import norms, units
from mercer.arrays.shapes import Axes
from mercer.arrays.threads import default_threads
from mercer.expansion import Expansion
from mercer.formula.data import Rows, concatenate, length, pick, take
from mercer.gram import Gram
from mercer.kernels import Kernel
from mercer.linalg.growing import GrowingCholesky

from ..base import Problem, Solution
from ..costs import HOST
from ..evidence import RESIDUAL, SCALE
from ..plan import Plan
from ..residuals import ROUNDING, in_squares, judge_solutions, product_rounding
from .fit import RidgeFit, record_fit

CHUNK = 1024  # points whose kernel values are appended at a time
WORN = 1e-11  # of αW⁻¹c: a residual from which the factor is worn out
ROUNDINGS = 64  # times what rounding of a product with K amounts to, below which it is not
WORSE = 10.0  # times the residual of a new factor
LIGHT = 1e-30  # of the largest weight: points that have faded so far leave
UNEVEN = 1e-13  # of the sum of abs(c): how far from 0 that of c may be with an intercept
EPS = float(np.finfo(np.float64).eps) / 2.0


@dataclass(frozen=True)
class Substitution:
    """A solution in units of the targets, as the factor gives it.

    Parameters
    ----------
    unit : array of shape (q,)
        The units.
    coef, intercept : arrays of shape (n, q) and (q,)
        c and b.
    size : array of shape (q,)
        The length of what Lᵀc is the difference of.
    """

    unit: Annotated[np.ndarray, Axes("q")]
    coef: Annotated[np.ndarray, Axes("n q")]
    intercept: Annotated[np.ndarray, Axes("q")]
    size: Annotated[np.ndarray, Axes("q")]


class OnlineRidge:
    """The ridge problem of points that come and go, always solved for those that are there.

    Parameters
    ----------
    kernel : Kernel
        The kernel k.
    alpha : float
        The penalty α > 0, the same for all outputs.
    averaged : bool
        Whether errors are averaged: the penalty is α times the sum of the weights then, and every change takes a new
        factor.
    fit_intercept : bool
        Whether an unpenalised constant is fitted too.
    memory : int
        Budget in bytes.

    Attributes
    ----------
    points, targets, weights : collection of n objects, array of shape (n, q), array of shape (n,)
        What is there, the oldest first.
    record : object
        The last solution that was recorded, or whoever postponed it; None while something has changed since.
    lock : RLock
        For whoever changes or reads the factor while others may.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Constant, Linear
    >>> X, y = np.array([[1.0], [4.0], [6.0], [9.0]]), np.array([[0.8], [4.1], [6.2], [8.5]])
    >>> online = OnlineRidge(Linear() + Constant(1.0), 1.0, memory=2**30)
    >>> for i in range(4):
    ...     online.add(X[i : i + 1], y[i : i + 1])
    >>> online.finish(flat=True).expansion([[0.0], [1.0]]).round(4)
    array([0.1018, 1.0564])
    """

    def __init__(
        self, kernel: Kernel, alpha: float, *, averaged: bool = False, fit_intercept: bool = False, memory: int
    ) -> None:
        self.kernel, self.alpha, self.averaged, self.fit_intercept = kernel, alpha, averaged, fit_intercept
        self.memory = memory
        self.points: Rows = None
        self.targets, self.weights = np.empty((0, 0)), np.empty(0)
        self.record: object = None
        self.lock = RLock()
        self._factor = GrowingCholesky()
        self._forward, self._unit, self._known = np.empty((0, 0)), np.empty(0), 0  # L⁻¹(y, 1), and how much is right
        self._attained = 0.0  # the residual that the last new factor left
        self._turned = False  # whether points have left this factor, whose rounding nothing bounds in advance

    def __reduce__(self) -> tuple[Any, ...]:
        return type(None), ()  # copies and files make a factor of their own where they need one

    def __len__(self) -> int:
        return len(self._factor)

    @property
    def penalty(self) -> float:
        """α of the sum form."""
        return self._scale(self.weights)

    def _scale(self, weights: np.ndarray) -> float:
        return self.alpha * (float(weights.sum()) if self.averaged else 1.0)

    # -- points that come and go ------------------------------------------------------------------------------------

    def adjust(self, alpha: float, *, averaged: bool, fit_intercept: bool, memory: int) -> None:
        """Go on with other settings; another penalty takes a new factor."""
        changed = (alpha, averaged) != (self.alpha, self.averaged)
        if changed or fit_intercept != self.fit_intercept:
            self.record = None  # whose settings were others
        self.alpha, self.averaged, self.fit_intercept, self.memory = alpha, averaged, fit_intercept, memory
        if changed:
            self._refactor()

    def learn(
        self, X: Rows, y: np.ndarray, weights: np.ndarray, *, window: int | None = None, budget: int | None = None,
        forgetting: float | None = None,
    ) -> None:  # fmt: skip
        """Add points one after the other, and let others go.

        Parameters
        ----------
        X, y, weights
            As in :meth:`add`.
        window : int, optional
            How many points stay: the oldest leave.
        budget : int, optional
            How many points stay: whenever there is one more, the one leaves that :meth:`find_least` names.
        forgetting : float, optional
            What the weights of all points that are there are multiplied with first.
        """
        if forgetting is not None:
            self.fade(forgetting)
        if window is not None:
            start = max(length(X) - window, 0)
            X, y, weights = take(X, start, length(X)), y[start:], weights[start:]
            self._drop_oldest(len(self) + length(X) - window)
        if budget is None:
            self.add(X, y, weights)
            return
        while len(self) > budget:
            self.remove(self.find_least())
        room = min(budget - len(self), length(X))
        if room:
            self.add(take(X, 0, room), y[:room], weights[:room])
        for i in range(room, length(X)):
            self.add(take(X, i, i + 1), y[i : i + 1], weights[i : i + 1])
            self.remove(self.find_least())

    def add(self, X: Rows, y: np.ndarray, weights: np.ndarray | None = None) -> None:
        """Add points: n² operations for each, and a kernel value with each of those that are there.

        Parameters
        ----------
        X : collection of m objects
            The points.
        y : array of shape (m, q)
            Their targets.
        weights : array of shape (m,), optional
            Their weights, positive; 1 if not given.
        """
        n, m = len(self), length(X)
        weights = np.ones(m) if weights is None else weights
        self._require(n + m, m)
        after = np.concatenate([self.weights, weights])
        alpha = self._scale(after)
        self.record = None
        self._factor.reserve(self._factor.capacity_for(n + m))
        points = concatenate(self.points, X) if n else X
        for start in range(n, n + m, CHUNK):
            stop = min(start + CHUNK, n + m)
            new = take(points, start, stop)
            cross = self._values(take(points, 0, start), new) if start else np.zeros((0, stop - start))
            if not self._factor.append(cross, self._values(new), alpha / after[start:stop]):
                self._factor.truncate(n)
                raise self._indefinite(alpha)
        self.points, self.weights = points, after
        self.targets = np.concatenate([self.targets, y]) if n else np.array(y, dtype=np.float64)
        if self.averaged and n:
            self._refactor()

    def remove(self, positions: Any) -> None:
        """Let points go, by their positions: about 34n² operations for one, fewer for late ones and for many."""
        gone = np.unique(positions)
        self.record = None
        if len(gone) == len(self):
            self._clear()
        elif len(gone):
            kept = np.delete(np.arange(len(self)), gone)
            self._factor.remove(gone)
            self.points, self.targets, self.weights = pick(self.points, kept), self.targets[kept], self.weights[kept]
            self._known, self._turned = min(self._known, int(gone[0])), True
            if self.averaged:
                self._refactor()

    def fade(self, factor: float) -> None:
        """Multiply all weights, and make a new factor: n³/3 operations.  Points of no weight to speak of leave."""
        if len(self) == 0 or factor == 1.0:
            return
        self.record, self.weights = None, self.weights * factor
        light = np.flatnonzero(self.weights < LIGHT * max(1.0, float(self.weights.max())))
        if len(light):
            self.remove(light)
        if len(self):
            self._refactor()

    def find_least(self) -> int:
        """Return the position of the point without which f changes least.

        Without point i, all of f changes by Δ with Σ wⱼΔ(xⱼ)² + α‖Δ‖² = eᵢ²(wᵢ − αGᵢᵢ), eᵢ = cᵢ/Gᵢᵢ being the
        leave-one-out residual: what the objective of all points rises by.
        """
        solved = self.substitute()
        inverse = self._diagonal()
        with np.errstate(divide="ignore", invalid="ignore"):
            errors = solved.coef / inverse[:, None] * (solved.unit / solved.unit.max())
            change = np.sum(errors**2, axis=1) * np.maximum(self.weights - self.penalty * inverse, 0.0)
        return int(np.argmin(np.where(np.isnan(change), np.inf, change)))

    def _drop_oldest(self, count: int) -> None:
        if count > 0:
            self.remove(np.arange(min(count, len(self))))

    def _clear(self) -> None:
        self._factor.truncate(0)
        self.points, self.weights, self._known = None, np.empty(0), 0
        self._attained, self._turned = 0.0, False
        self.targets = self.targets[:0]

    def _refactor(self) -> None:
        record, self.record = self.record, None  # nobody's factor if it fails or is interrupted
        self._known, self._turned = 0, False
        if not self._factor.refactor(self.penalty / self.weights):
            raise self._indefinite(self.penalty)
        self.record = record

    def _values(self, X: Rows, Z: Rows | None = None) -> np.ndarray:
        return np.asarray(Gram(self.kernel, X, Z, memory=self.memory, dtype=np.float64).dense())

    def _require(self, n: int, m: int) -> None:
        # The matrix with its slack; the rows that come, twice; and blocks of a new factor.
        needed = 8.0 * self._factor.capacity_for(n) ** 2 + 8.0 * 4 * n * min(m, CHUNK) + 8.0 * 3 * n * min(n, CHUNK)
        remedy = "keep fewer points with window= or budget=, or give more memory"
        require(needed, self.memory, f"the factor of {n} points, which partial_fit keeps,", remedy)

    def _indefinite(self, alpha: float) -> np.linalg.LinAlgError:
        return np.linalg.LinAlgError(
            f"K + αW⁻¹ is not positive definite in float64 for alpha = {alpha:g}: {self.kernel!r} is not positive "
            f"semi-definite on this data, or the penalty is lost in rounding. Give a larger alpha, or {SCALE}; see "
            "k.certificate()"
        )

    # -- the solution -----------------------------------------------------------------------------------------------

    def finish(self, *, flat: bool, name: str = "OnlineRidge", solved: Substitution | None = None) -> RidgeFit:
        """Solve for all points that are there, judge the solution, and return the record of it.

        ``flat`` says whether the targets have one dimension; the name is that of who warns.  A solution that is given
        is judged as it is.
        """
        kept, solved = solved is not None, solved or self.substitute()
        image = self._factor @ solved.coef
        if not kept and self._measure_wear(solved, image) > WORSE * self._attained:
            self._refactor()
            solved = self.substitute()
            image = self._factor @ solved.coef
            self._attained = self._measure_wear(solved, image)
        problem, unit = self.pose(), solved.unit
        alpha = np.full(len(unit), self.penalty)
        residuals, parts = judge_solutions(
            problem, _Image(image), self.targets / unit, solved.coef, solved.intercept, alpha, self._factor.diagonal
        )
        solution = Solution(
            self.points, solved.coef * unit, solved.intercept * unit, alpha, float(residuals.max()),
            parts=in_squares(parts, unit),
        )  # fmt: skip
        record = record_fit(self.plan, solution, self.kernel, flat=flat, name=name)
        shaped = self.targets[:, 0] if flat else self.targets
        found = replace(record, problem=problem, points=self.points, targets=shaped)
        self.record = found
        return found

    def express(self, solved: Substitution, *, flat: bool) -> Expansion:
        """Return the function of a solution, as its record would have it."""
        coef, intercept = solved.coef * solved.unit, solved.intercept * solved.unit
        first: Any = 0 if flat else slice(None)
        return Expansion(self.kernel, self.points, coef[:, first], intercept[first])

    def proves(self, solved: Substitution) -> bool:
        """Whether the rounding of a factor and of two substitutions, at most, leaves a solution converged.

        Each of them is exact for a matrix that differs by at most (n + 1)ε|L||Lᵀ| (Higham, Accuracy and stability of
        numerical algorithms, chapter 10), and by |L||Lᵀ| ≤ √(aᵢᵢaⱼⱼ) that bounds the residual without a product.
        Where points have left the factor there is no such bound.
        """
        if self._turned:
            return False
        heights = np.sqrt(self._factor.diagonal + self._factor.shift)
        sizes = heights @ np.abs(solved.coef) + solved.size
        left = 3.0 * (len(self) + 1) * EPS * np.sqrt(self.weights @ heights**2) * sizes
        own = norms(self.penalty * solved.coef / np.sqrt(self.weights)[:, None])
        return bool(np.all(left <= 0.5 * RESIDUAL * own) and np.isfinite(own).all())

    def leave_one_out(self) -> np.ndarray:
        """Return what the solution without each point predicts there, shape (n, q): y − c/G, from the factor."""
        with self.lock:
            solved = self.substitute()
            inverse = self._diagonal()
        with np.errstate(divide="ignore", invalid="ignore"):
            errors = solved.coef / inverse[:, None]
        errors[~np.isfinite(errors)] = np.nan
        return self.targets - errors * solved.unit

    def substitute(self) -> Substitution:
        """Return c and b from the factor, which is read once, and once more from where it has changed.

        With z = L⁻¹y and o = L⁻¹1, b is zᵀo/oᵀo, and c = L⁻ᵀ(z − bo).
        """
        n, q = self.targets.shape
        unit = units(self.targets)
        right = np.column_stack([self.targets / unit, np.ones(n)])
        known = self._known if np.array_equal(unit, self._unit) else 0
        if known:
            right[:known] = self._forward[:known]
        self._forward = self._factor.forward(right, known)
        self._unit, self._known = unit, n
        z, o = self._forward[:, :q], self._forward[:, q]
        intercept, size = np.zeros(q), norms(z)
        if self.fit_intercept:
            for _ in range(2):  # the second time for the rounding of the first
                more = o @ z / (o @ o)
                z, intercept = z - o[:, None] * more, intercept + more
            size = size + np.abs(intercept) * norms(o[:, None])
        coef = self._factor.backward(z)
        if self.fit_intercept and (np.abs(coef.sum(axis=0)) > UNEVEN * np.abs(coef).sum(axis=0)).any():
            eta = self._solve_ones()
            more = coef.sum(axis=0) / eta.sum()
            coef, intercept = coef - eta[:, None] * more, intercept + more
        return Substitution(unit, coef, intercept, size)

    def _solve_ones(self) -> np.ndarray:
        """Return η = A⁻¹1; after :meth:`substitute`."""
        return np.asarray(self._factor.backward(self._forward[:, -1:])[:, 0])

    def _diagonal(self) -> np.ndarray:
        """Return the diagonal of G; after :meth:`substitute`."""
        inverse = self._factor.inverse_diagonal()
        if not self.fit_intercept:
            return inverse
        eta = self._solve_ones()
        return inverse - eta**2 / eta.sum()

    def _measure_wear(self, solved: Substitution, image: np.ndarray) -> float:
        """Return the largest residual of all outputs beside αW⁻¹c, 0 if none is more than rounding."""
        roots, targets = np.sqrt(self.weights)[:, None], self.targets / solved.unit
        own = self.penalty * solved.coef / roots
        left, size = norms(roots * (targets - solved.intercept - image) - own), norms(own)
        rounding = ROUNDINGS * product_rounding(roots, np.abs(self._factor.diagonal)[:, None], solved.coef)
        above = left > np.maximum(np.maximum(WORN * size, rounding), ROUNDING * norms(roots * targets))
        with np.errstate(divide="ignore"):
            return float(np.max(np.divide(left, size, out=np.zeros_like(left), where=above)))

    def pose(self) -> Problem:
        """Return the problem of all points that are there."""
        weights = None if (self.weights == 1.0).all() else self.weights
        return Problem(self.kernel, self.points, self.targets, weights, self.fit_intercept, self.memory)

    @property
    def plan(self) -> Plan:
        """How it is solved."""
        n = float(len(self))
        flops = 6.0 * n * n
        return Plan(
            "cholesky", f"partial_fit keeps a factor of the {len(self)} × {len(self)} matrix, which follows its points",
            int(8 * self._factor.capacity_for(len(self)) ** 2), flops, flops / (HOST.double * default_threads()),
        )  # fmt: skip


class _Image:
    """A product with K that is known."""

    def __init__(self, image: np.ndarray) -> None:
        self._image = image

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        return self._image
