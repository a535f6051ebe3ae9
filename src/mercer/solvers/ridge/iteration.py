"""The recurrence of conjugate gradients for several right-hand sides, each with its own penalty."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.arrays.columns import dots, like, norms, sums, units
from mercer.arrays.namespace import namespace, put_beside
from mercer.arrays.tensors import host_array
from mercer.linalg.iteration import ConjugateGradients, shorten

from ..evidence import is_converged
from ..products import Products
from ..residuals import gap_ratios, in_squares, product_rounding, target_spread
from .preconditioner import Preconditioner

SMALL = 0.1  # of a residual: what float32 may hide of it where iterations go on, as a sample of rows tells
WORTH = 3  # iterations between two exact products that gain little from which on products in float32 pay
FLOAT32 = 2.0**28  # times coarser than float64: half of a unit in the last place, where that bound has a whole one
STALLS = 3  # certificates without progress before rounding is blamed


@dataclass(frozen=True)
class _Evidence:
    """What is known of some columns: residuals, lengths of them and of αW⁻¹c, intercepts, objective, certificate."""

    residual: Array
    norms: np.ndarray
    size: np.ndarray
    level: np.ndarray
    parts: np.ndarray
    certificate: np.ndarray
    hidden: np.ndarray | float  # how much longer the residual may be


class Iteration:
    """Solve (K + α_j W⁻¹) c_j = y_j − b_j for all columns j; one product with all unfinished columns is one step.

    A column rests when its updated residual says that it is done, or when float32 kernel values may hide a few percent
    of it: what they do to the change of c since the last exact product, by the bound on rounding at first and by what
    was seen later.  When all rest, :meth:`certify` recomputes the residuals in float64 and puts them in place of the
    updated ones, keeping the search directions, which forgive so small an exchange.  Of very many points that product
    is in float32 where it is enough: a sample of rows in float64 shows by how much it is off, and twice that counts as
    part of the residual.
    With an intercept all of this happens in the subspace 1ᵀc = 0, with the preconditioner projected onto it.
    Norms of residuals are those of W, by which errors count, and each y is brought near 1, so that no square leaves the
    range of numbers.
    """

    def __init__(
        self,
        products: Products,
        preconditioner: Preconditioner,
        y: Array,
        noise: Array,
        alpha: np.ndarray,
        fit_intercept: bool,
        tolerance: float,
    ) -> None:
        self._unit = units(y)
        y = y / like(y, self._unit)
        self._K, self._P, self._y, self._noise = products, preconditioner, y, noise[:, None]
        self._weights = noise.min() / self._noise
        self._roots = self._noise**-0.5
        self._diagonal = abs(products.put(products.gram.diag()))[:, None]
        self.alpha, self._centred, self._tolerance = alpha, fit_intercept, tolerance
        self.n_iter = self.since_start = 0
        self.indefinite = self.stalled = False
        self._rng = np.random.default_rng(0)
        self._cg = ConjugateGradients(self._centre(y + 0.0))
        # A residual that is only rounding of y, as that of constant targets, is as good as none.
        self._floor = 8 * np.finfo(np.float64).eps * self._norms(y)
        self._true = self._norms(self._cg.residual)
        self._updated = self._true.copy()
        self._spread = target_spread(self._cg.residual, 1.0 / self._noise)
        self._blur = np.full(len(alpha), FLOAT32 if products.single else 0.0)
        self._share = SMALL if products.single and products.sampled else products.rates.hidden
        self._exact_at = 0.0 * y  # the coefficients of the last exact product
        self._since_exact = 0
        self._best, self._failures = math.inf, 0
        self._done = self._true <= self._floor
        # What is kept is the best that was certified, at first nothing but the intercept.
        self._kept, self._kept_intercept = 0.0 * y, self._level(y)
        self._parts = np.array([self._true**2, 0.0 * self._true])
        self._certificate = gap_ratios(self._true, self._true**2, self._spread, self._floor)
        self._size = np.zeros(len(alpha))
        self._resting = self._done.copy()
        self.restart()

    def restart(self) -> None:
        """Forget the search directions, because the preconditioner has changed."""
        self._cg.restart()
        self.since_start = 0
        self._norm_at_start = self._updated.copy()
        self._find_ones()

    def _find_ones(self) -> None:
        """Precondition the constant, by which directions are brought back into 1ᵀc = 0."""
        self._ones = None
        if self._centred:
            columns, index = np.unique(self.alpha, return_inverse=True)
            xp = namespace(self._y)
            ones = xp.ones((len(self._y), len(columns)), dtype=xp.float64, device=self._y.device)
            self._ones = self._P.solve(ones, columns)[:, index]

    @property
    def coef(self) -> Array:
        """The coefficients, in the unit of y."""
        return self._kept * like(self._kept, self._unit)

    @property
    def intercept(self) -> np.ndarray:
        """The intercepts, in the unit of y."""
        return np.asarray(self._kept_intercept * self._unit)

    @property
    def parts(self) -> np.ndarray:
        """Loss and penalty of each column, in the unit of y."""
        return in_squares(self._parts, self._unit)

    @property
    def active(self) -> bool:
        """Whether any column has not come to rest."""
        return not self._resting.all()

    @property
    def converged(self) -> bool:
        """Whether every column is certified."""
        return bool(self._done.all())

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to do, or nothing that helps."""
        return self.converged or self.stalled or self.indefinite

    @property
    def residual(self) -> float:
        """The largest √(rᵀWr/S) of a column."""
        return float(self._certificate.max())

    def remaining(self) -> float:
        """How many more iterations the slowest column needs at the rate of convergence since the start."""
        columns = np.flatnonzero(~self._resting)
        goal = self._tolerance * np.maximum(self._size[columns], np.finfo(np.float64).tiny)
        gained = np.log(self._norm_at_start[columns] / self._updated[columns])
        needed = np.log(np.maximum(self._updated[columns] / goal, 1.0))
        rates = np.maximum(gained / self.since_start, 1e-3)
        return float((needed / rates).max()) if len(columns) else 0.0

    def step(self) -> float:
        """Do one iteration of all columns that are not at rest; return their largest relative residual, as updated."""
        live: Any = np.flatnonzero(~self._resting) if self._resting.any() else slice(None)
        self._cg.turn(self._precondition, live)
        bad = self._cg.advance(self._multiply, live, self._update)
        if bad.any():
            if self._K.single:  # float32 values may be indefinite where float64 ones are not
                self._exact_from_now()
                return float("inf")
            self.indefinite = True
        R = self._cg.residual[:, live]
        self._updated[live] = self._norms(R)
        self._size[live] = self._norms(like(R, self.alpha[live]) * self._noise * self._cg.x[:, live])
        goal = np.maximum(0.5 * self._tolerance * self._size[live], self._hidden(live) / self._share)
        self._resting[live] = (self._updated[live] <= np.maximum(goal, self._floor[live])) | bad
        self.n_iter += 1
        self.since_start += 1
        self._since_exact += 1
        with np.errstate(divide="ignore", invalid="ignore"):
            return float((self._updated[live] / self._size[live]).max())

    def certify(self) -> None:
        """Recompute the residuals of all columns that are not done in float64, and go on from them."""
        live = np.flatnonzero(~self._done)
        coef = self._cg.x[:, live]
        found = self._examine_sample(live, coef) if self._K.single and self._K.sampled else None
        exact = found is None
        if found is None:
            found = self._examine(live, coef, self._K.exact(coef))
        drift = self._norms(found.residual - self._cg.residual[:, live]) + found.hidden
        expected, start = self._hidden(live), self._true[live]
        self._cg.residual[:, live] = found.residual
        self._true[live] = self._updated[live] = found.norms
        self._size[live] = found.size
        better = found.certificate < self._certificate[live]
        self._certificate[live[better]] = found.certificate[better]
        self._kept_intercept[live[better]] = found.level[better]
        self._kept[:, live[better]] = coef[:, np.flatnonzero(better)]
        self._parts[:, live[better]] = found.parts[:, better]
        self._done[live] = self._converges(self._certificate[live])
        self._resting = self._done.copy()
        if self.converged:
            return
        if self._K.single:
            with np.errstate(divide="ignore", invalid="ignore"):
                seen = np.nan_to_num(drift / expected, nan=1.0)
            self._blur[live] *= np.clip(seen, 0.1, 1e3)
            slow = self._since_exact < WORTH and (found.norms > 0.5 * start).any()
            if exact and (slow or (drift > 0.3 * start).any()):
                self._exact_from_now()
            elif exact:
                self._exact_at[:, live], self._since_exact = coef, 0
            return
        worst = float(found.certificate.max())
        self._failures = self._failures + 1 if worst > 0.5 * self._best else 0
        self._best = min(worst, self._best)
        self.stalled = self._failures >= STALLS

    def snapshot(self) -> dict[str, Any]:
        """Return all that the next step depends on, but for the preconditioner's pivots, on the host."""
        arrays = {name: np.array(host_array(getattr(self, name))) for name in _ARRAYS}
        numbers = {name: getattr(self, name) for name in _NUMBERS}
        kinds = {"single": self._K.single, "rng": self._rng.bit_generator.state}
        grown = {"ranks": list(self._P.ranks), "pivots": self._P.pivoted.pivots}
        return {"arrays": arrays, "numbers": numbers, "system": self._cg.snapshot(), **kinds, **grown}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a snapshot of the same problem; a preconditioner that had grown does so again.

        Directions that belong to other pivots, as other memory or no seed lead to, are forgotten.
        """
        if self._K.single and not state["single"]:
            self._K.give_up_single()
        for rank in state["ranks"][len(self._P.ranks) :]:
            self._P.grow(rank)
        for name, values in state["arrays"].items():
            getattr(self, name)[...] = put_beside(self._kept, values) if name in _BESIDE else values
        for name, value in state["numbers"].items():
            setattr(self, name, value)
        self._rng.bit_generator.state = state["rng"]
        self._cg.restore(state["system"])
        self._find_ones()
        if not np.array_equal(state["pivots"], self._P.pivoted.pivots):
            self.restart()

    def _examine(self, live: np.ndarray, coef: Array, image: Array, hidden: np.ndarray | float = 0.0) -> _Evidence:
        """Return the evidence of some columns, given K times their coefficients and how long what that lacks may be."""
        size = like(coef, self.alpha[live]) * self._noise * coef
        errors = self._y[:, live] - image
        level = self._level(errors)
        errors = errors - like(errors, level)
        R = errors - size
        lengths = self._norms(R)
        parts = np.array([self._norms(errors) ** 2, self.alpha[live] * dots(coef, image)])
        blind = product_rounding(self._roots, self._diagonal, coef)
        root = np.hypot(lengths + hidden, blind)
        certificate = gap_ratios(root, np.abs(parts).sum(axis=0), self._spread[live], self._floor[live])
        return _Evidence(R, lengths, self._norms(size), level, parts, certificate, hidden)

    def _examine_sample(self, live: np.ndarray, coef: Array) -> _Evidence | None:
        """Return the evidence of a product in float32, or None where that is too coarse to certify or to go on from."""
        image = self._K.fast(coef)
        hidden = 2.0 * self._K.sample_error(coef, image, self._roots, self._rng)
        found = self._examine(live, coef, image, hidden)
        enough = self._converges(found.certificate) | (hidden <= SMALL * found.norms)
        return found if enough.all() else None

    def _converges(self, certificates: np.ndarray) -> np.ndarray:
        return np.array([is_converged(one, self._tolerance) for one in certificates], dtype=bool)

    def _exact_from_now(self) -> None:
        self._K.give_up_single()
        self._blur[:] = 0.0
        self.restart()

    def _hidden(self, live: Any) -> np.ndarray:
        """Return how much of the updated residuals of some columns float32 kernel values may hide."""
        if not self._blur.any():
            return np.zeros(len(self._blur))[live]
        change = self._cg.x[:, live] - self._exact_at[:, live]
        return np.asarray(self._blur[live] * product_rounding(self._roots, self._diagonal, change))

    def _multiply(self, P: Array, live: Any) -> Array:
        """Return (K + αW⁻¹)P."""
        unit = like(P, units(P))  # a tiny α makes directions that leave the range of float32
        product = self._K.fast(P / unit)
        product *= unit
        product += like(P, self.alpha[live]) * self._noise * P
        return product

    def _update(self, R: Array, image: Array, lengths: np.ndarray, live: Any) -> Array:
        return self._centre(shorten(R, image, lengths, live))

    def _centre(self, R: Array) -> Array:
        if self._centred:
            R -= like(R, self._level(R))
        return R

    def _level(self, R: Array) -> np.ndarray:
        """Return the b that leaves the least of R by the weights, 0 if there is none."""
        if not self._centred:
            return np.zeros(R.shape[1])
        return sums(self._weights * R) / float(self._weights.sum())

    def _norms(self, V: Array) -> np.ndarray:
        """Return the length of each column in the norm of W."""
        return norms(self._roots * V)

    def _precondition(self, R: Array, live: Any) -> Array:
        Z = self._P.solve(R, self.alpha[live])
        if self._ones is not None:
            level = self._ones[:, live]
            Z -= (Z.sum(0) / level.sum(0)) * level
        return Z


_ARRAYS = (
    "_true", "_updated", "_size", "_blur", "_done", "_resting", "_certificate", "_kept", "_kept_intercept", "_parts",
    "_norm_at_start", "_exact_at",
)  # fmt: skip
_NUMBERS = ("n_iter", "since_start", "_since_exact", "indefinite", "stalled", "_best", "_failures")
_BESIDE = ("_kept", "_exact_at")  # where the problem is
