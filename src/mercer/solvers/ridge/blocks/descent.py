"""Block descent for several right-hand sides, each with its own penalty: steps, rounds, and their certificates."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.arrays.columns import dots, like, norms, sums, units
from mercer.arrays.namespace import namespace
from mercer.arrays.tensors import host_array

from ...evidence import is_converged
from ...products import Products
from ...residuals import NEGLIGIBLE, gap_ratios, in_squares, product_rounding, target_spread
from .estimate import estimate_squares
from .factor import invert_block
from .recurrence import Momentum

DROP = 1e-3  # of the residual: what a round of float32 products gains before it is compared with the true one
PATIENCE = 10  # passes without a new least residual before a round ends
GROWN = 1e6  # times the residual at the start of a round: beyond it steps are too long
RETREATS = 4  # rounds begun again with shorter steps before the kernel is blamed
EPS = 64 * float(np.finfo(np.float64).eps)  # of an objective, by which it may seem to grow
STALLS = 3  # certificates without progress before rounding is blamed


class Descent:
    """Solve (K + α_j W⁻¹) c_j = y_j − b_j for all columns j, a random block of rows at a time.

    With c = W^½u the system is (W^½KW^½ + αI)u = W^½(y − b), and its residual is that of the certificate.  Rounds are
    as in iterative refinement: one solves for a correction, with float32 kernel values where these are faster, and
    ends in a residual in float64, from which the next one starts.  With an intercept steps stay in 1ᵀc = 0.
    """

    def __init__(
        self, products: Products, y: Array, noise: Array, alpha: np.ndarray, fit_intercept: bool, tolerance: float,
        block: int, rank: int | None, rng: np.random.Generator,
    ) -> None:  # fmt: skip
        self._unit = units(y)
        self._K, self._y = products, y / like(y, self._unit)
        self._roots, self._noise = noise[:, None] ** -0.5, noise[:, None]
        self._diagonal = abs(products.put(products.gram.diag()))[:, None]
        self.alpha, self._centred, self._tolerance = alpha, fit_intercept, tolerance
        self.block, self._rank, self._rng, self._n = block, rank, rng, len(y)
        trace = float((self._diagonal * self._roots**2).sum())
        self._ease = alpha * self._n / trace if trace > 0 else np.ones(len(alpha))
        self.steps, self.indefinite, self.stalled = 0, False, False
        self._start, self._least, self._waiting, self._growth = math.inf, math.inf, 0, 1.0
        self._damping, self._failures, self._retreats = 1.0, 0, 0
        self._base = 0.0 * self._y  # u at the start of the round
        level = self._level(self._y)
        self._right = self._roots * (self._y - like(self._y, level))
        self._targets, self._energy = self._right, np.zeros(len(alpha))
        size = norms(self._right)
        self._spread = target_spread(self._y - like(self._y, level), self._roots**2)
        self._floor = 8 * np.finfo(np.float64).eps * norms(self._roots * self._y)
        self._kept, self._kept_intercept = 0.0 * self._y, level
        self._parts = np.array([size**2, 0.0 * size])
        self._certificate = gap_ratios(size, size**2, self._spread, self._floor)
        self._begin()

    # -- what was found ---------------------------------------------------------------------------------------------

    @property
    def coef(self) -> Array:
        """The coefficients of the best certificate, in the unit of y."""
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
    def residual(self) -> float:
        """The largest certificate of a column."""
        return float(self._certificate.max())

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to do, or nothing that helps."""
        return is_converged(self.residual, self._tolerance) or self.stalled or self.indefinite

    # -- steps ------------------------------------------------------------------------------------------------------

    def step(self) -> tuple[float, float]:
        """Solve the system of one random block; return the certificate that its rows tell, and the standard error."""
        n, b, xp = self._n, self.block, namespace(self._y)
        block = np.sort(self._rng.choice(n, b, replace=False))
        where = xp.asarray(block, device=self._y.device)
        z, roots = self._momentum.z, self._roots[where]
        unit = like(z, units(z))  # a tiny α makes numbers that leave the range of float32
        gradient = roots * (self._K.fast_rows(block, self._roots * z / unit) * unit)
        gradient += like(z, self.alpha) * z[where] - self._right[where]
        if self._centred:
            gradient -= roots * like(z, sums(roots * gradient) / float((roots**2).sum()))
        found = estimate_squares(gradient, n, centred=self._centred and b < n)
        K = roots * self._K.gram.part(block).dense() * roots.T
        d = 0.0 * gradient
        try:
            for one in np.unique(self.alpha):
                columns = np.flatnonzero(self.alpha == one)
                d[:, columns] = self._solve_block(K, float(one), gradient[:, columns], roots)
        except np.linalg.LinAlgError:
            self.indefinite = True
            return math.inf, 0.0
        self._momentum.step(block, d / self._damping)
        self.steps += 1
        return self._relate(*found)

    def _solve_block(self, K: Array, alpha: float, gradient: Array, roots: Array) -> Array:
        solve = invert_block(K, alpha, self._rank, self._rng)
        if not self._centred:
            return solve(gradient)
        both = solve(namespace(K).concat([gradient, roots], axis=1))
        d, ones = both[:, :-1], both[:, -1:]
        return d - ones * like(d, sums(roots * d) / float((roots * ones).sum()))

    def _relate(self, squares: np.ndarray, error: np.ndarray) -> tuple[float, float]:
        """Return the largest relative residual, and its standard error: d√s = ds/2√s."""
        u = self._base + self._momentum.z
        scale = np.hypot(norms(like(u, self.alpha) * u), NEGLIGIBLE * self._spread)
        root = np.sqrt(squares)
        self._growth = self._compare(root)
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = np.where(root <= self._floor, 0.0, root / scale)
            errors = np.where(root <= self._floor, 0.0, error / (2 * root * scale))
        worst = int(np.argmax(np.where(np.isnan(relative), np.inf, relative)))
        return float(relative[worst]), float(errors[worst])

    def reached(self, residual: float, error: float) -> bool:
        """Whether a round has come as far as it can be trusted."""
        drop = DROP if self._K.single else 0.0
        return residual + 2 * error <= max(0.5 * self._tolerance, drop * self._start)

    def watch(self, residual: float) -> bool:
        """Take notice of the residual after a pass, retreat where it has grown, and say whether to end the round."""
        if not self._growth <= GROWN:
            self._retreat()
            return False
        if residual < self._least:
            self._least, self._waiting = residual, 0
        else:
            self._waiting += 1
        return self._waiting >= PATIENCE

    def _compare(self, root: np.ndarray) -> float:
        """Return the residuals over those at the start of the round, the largest of all columns that are not done."""
        open_columns = ~(self._certificate <= self._tolerance)
        left, start = root[open_columns], norms(self._right)[open_columns]
        with np.errstate(divide="ignore", invalid="ignore"):
            return float((left / start).max()) if len(left) else 0.0

    def _retreat(self) -> None:
        """Begin the round again, with shorter steps and without momentum."""
        self._retreats += 1
        self.stalled = self._retreats > RETREATS
        self._damping *= 2.0
        self._ease = np.ones(len(self.alpha))
        self._begin()

    def _begin(self) -> None:
        self._momentum = Momentum(0.0 * self._base, self.block / self._n, self._ease)
        self._start, self._least, self._waiting = float(self._certificate.max()), math.inf, 0

    # -- certificates -----------------------------------------------------------------------------------------------

    def certify(self) -> None:
        """Compute the residual of all rows in float64, keep what is better than before, and begin a round from it."""
        u = self._base + self._momentum.z
        if not bool(namespace(u).isfinite(u).all()):
            self._retreat()
            return
        coef = self._roots * u
        image = self._K.exact(coef)
        errors = self._y - image
        level = self._level(errors)
        errors = self._roots * (errors - like(errors, level))
        R = errors - like(u, self.alpha) * u
        parts = np.array([norms(errors) ** 2, self.alpha * dots(coef, image)])
        root = np.hypot(norms(R), product_rounding(self._roots, self._diagonal, coef))
        found = gap_ratios(root, np.abs(parts).sum(axis=0), self._spread, self._floor)
        better = found < self._certificate
        if better.any():
            picked = np.flatnonzero(better)
            self._certificate[better], self._kept_intercept[better] = found[better], level[better]
            self._kept[:, picked] = coef[:, picked]
            self._parts[:, better] = parts[:, better]
        # The residual may well grow on the way; the objective of the system, ½uᵀAu − uᵀt, must not.
        energy = -0.5 * dots(u, R + self._targets)
        if not (energy <= self._energy + EPS * np.abs(energy)).all():
            self._retreat()
            return
        growth, self._energy = self._compare(norms(R)), energy
        self._failures = self._failures + 1 if growth > 0.5 else 0
        if self._failures:
            self._K.give_up_single()
            self.stalled = self._failures >= STALLS
        self._base, self._right = u, R
        self._begin()

    def _level(self, R: Array) -> np.ndarray:
        """Return the b that leaves the least of R by the weights, 0 if there is none."""
        if not self._centred:
            return np.zeros(R.shape[1])
        weights = self._roots**2 / float((self._roots**2).max())
        return sums(weights * R) / float(weights.sum())

    # -- states -----------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, Any]:
        """Return all that the next step depends on, on the host."""
        arrays = {name: host_array(getattr(self, name)) for name in _ARRAYS}
        numbers = {name: getattr(self, name) for name in _NUMBERS}
        momentum = host_array(self._momentum.z), host_array(self._momentum.v)
        state = {"arrays": arrays, "numbers": numbers, "momentum": momentum, "single": self._K.single}
        return state | {"rng": self._rng.bit_generator.state}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a snapshot of the same problem."""
        put = self._K.put
        for name, values in state["arrays"].items():
            current = getattr(self, name)
            setattr(self, name, np.array(values) if isinstance(current, np.ndarray) else put(values))
        for name, value in state["numbers"].items():
            setattr(self, name, value)
        self._momentum = Momentum(put(np.array(state["momentum"][0])), self.block / self._n, self._ease)
        self._momentum.v = put(np.array(state["momentum"][1]))
        if self._K.single and not state["single"]:
            self._K.give_up_single()
        self._rng.bit_generator.state = state["rng"]


_ARRAYS = ("_base", "_right", "_kept", "_kept_intercept", "_parts", "_certificate", "_ease", "_energy")
_NUMBERS = (
    "block", "steps", "indefinite", "stalled", "_damping", "_failures", "_retreats", "_start", "_least", "_waiting",
    "_growth",
)  # fmt: skip
