"""Any growing penalty Ω(‖f‖), by a search in one dimension.

The f that minimises L + αΩ(‖f‖) also minimises L + μ‖f‖² for some μ: among all functions of its norm it has the least
loss.  Where both have a slope, 2μ‖f‖ = αΩ'(‖f‖).  For a convex Ω there is one such μ; for others there may be several,
of which the best is taken.

The certificate is the dual value of the same residuals R, L + αΩ(‖f‖) ≥ −Σ wᵢ ℓ*(yᵢ, −Rᵢ/wᵢ) − (αΩ)*(‖R‖), where the
conjugate is the largest ‖R‖r − αΩ(r) over all norms r that could be those of a minimum.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.optimize import brentq

from mercer.losses.penalty import NormBound, Penalty, SquaredNorm

from ..base import Problem
from ..evidence import DualityGap, Objective, is_converged, warn_not_converged
from ..newton.prepared import LossFit, PreparedNewton, warn_if_stuck
from ..newton.sums import WeightedLoss
from .fit import choose_tolerance, fit_loss, prepare_loss
from .machines import PreparedMachines
from .plan import plan_loss

DECADE = float(np.log(10.0))
NEAR, FAR = 3, 8  # decades of μ on both sides of α: those that are looked at, and those that may be
FINER = 0.1  # of the tolerance: the certificate changes with the root of the gap of a fit
CLOSE = 1e-9  # of ln μ
SAME = 1e-7  # of a radius: a norm that is no further beyond it is on it
BEYOND = 1e3  # of ln μ, where no finite one is large enough


@dataclass(frozen=True)
class PenalizedFit(LossFit):
    """A fit with any penalty, and the μ of the squared one that has the same solution."""

    multiplier: float = 0.0


def fit_penalized(
    problem: Problem, loss: WeightedLoss, alpha: float, penalty: Penalty, *, solver: str = "auto",
    n_centers: int | None = None, tol: float | None = None, max_iter: int | None = None, random_state: Any = None,
    name: str = "the fit",
) -> PenalizedFit:  # fmt: skip
    """Minimise Σ wᵢ ℓ(yᵢ, f(xᵢ) + b) + αΩ(‖f‖); parameters as in :func:`~mercer.solvers.representer.fit.fit_loss`.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> from mercer.losses import Squared
    >>> from mercer.losses.penalty import NormBound
    >>> X = np.linspace(0.0, 6.0, 40).reshape(-1, 1)
    >>> y = np.sin(X)
    >>> fit = fit_penalized(Problem(Gaussian(), X, y), WeightedLoss(Squared(), y, np.ones(40), 1), 1.0, NormBound(0.5))
    >>> c = fit.coef[:, 0]
    >>> round(float(c @ Gaussian()(X) @ c) ** 0.5, 6), fit.gap.relative < 1e-6
    (0.5, True)
    """
    if isinstance(penalty, SquaredNorm):
        fit = fit_loss(problem, loss, alpha, solver=solver, n_centers=n_centers, tol=tol, max_iter=max_iter,
                       random_state=random_state, name=name)  # fmt: skip
        return PenalizedFit(**vars(fit), multiplier=alpha)
    plan = plan_loss(problem, loss, solver, n_centers)
    prepared = prepare_loss(problem, loss, plan, n_centers, random_state)
    tol = choose_tolerance(loss.loss, tol)
    search = _Search(prepared, loss.least, penalty, alpha, tol, max_iter)
    fit = replace(search.run(), plan=plan)
    if penalty.convex:
        warn_if_stuck(name, fit, tol, max_iter)
    elif not fit.converged:
        remedy = "a penalty that is not convex leaves a gap between primal and dual value even at the minimum"
        warn_not_converged(name, fit.restricted_gap.relative, tol, remedy, kind="relative duality gap")
    return fit


class _Search:
    """Fits along the multipliers, of which each is kept."""

    def __init__(
        self, prepared: PreparedNewton | PreparedMachines, least: float, penalty: Penalty, alpha: float, tol: float,
        max_iter: int | None,
    ) -> None:  # fmt: skip
        self._prepared, self._least, self._penalty, self._alpha = prepared, least, penalty, alpha
        self._tol, self._max_iter = tol, max_iter
        self._known: dict[float, tuple[PenalizedFit, float]] = {}  # by ln μ

    def run(self) -> PenalizedFit:
        """Return the best fit: where a multiplier is that of its own norm, or at an end."""
        middle = float(np.log(self._alpha))
        near = [self._miss(middle + k * DECADE) for k in range(NEAR, -NEAR - 1, -1)]
        for k in range(NEAR + 1, FAR + 1):  # one more decade above or below, until the right one has been passed
            if max(near) <= 0:
                near.append(self._miss(middle + k * DECADE))
            elif min(near) > 0:
                near.append(self._miss(middle - k * DECADE))
        misses = [(place, self._miss(place)) for place in sorted(self._known, reverse=True)]
        for (high, above), (low, below) in pairwise(misses):
            if above > 0 >= below:
                brentq(self._miss, low, high, xtol=CLOSE, rtol=4 * np.finfo(float).eps)
        return min((fit for fit, _ in self._known.values()), key=lambda fit: (float(fit.objective), fit.gap.absolute))

    def _miss(self, place: float) -> float:
        """Return how far ln μ is above that of its norm: it grows with μ where Ω is convex."""
        if place not in self._known:
            self._known[place] = self._fit(place)
        return self._known[place][1]

    def _fit(self, place: float) -> tuple[PenalizedFit, float]:
        mu = float(np.exp(place))
        fit = self._prepared.fit(mu, (FINER * self._tol) ** 2, self._max_iter)
        norm = float(np.sqrt(max(fit.objective.penalty / mu, 0.0)))
        judged = self._judge(fit, mu, norm)
        if isinstance(self._penalty, NormBound):
            return judged, float(np.log(self._penalty.radius / norm)) if norm > 0 else BEYOND
        slope = self._alpha * self._penalty.slope(norm)
        return judged, place - float(np.log(slope / (2 * norm))) if slope > 0 and norm > 0 else BEYOND

    def _judge(self, fit: LossFit, mu: float, norm: float) -> PenalizedFit:
        """Return a fit with the objective and the certificate of the penalty."""
        price = self._alpha * self._penalty.value(self._inside(norm))
        objective = Objective(fit.objective.loss, price)
        whole = self._bound_gap(objective, fit, mu, norm, fit.gap.absolute)
        restricted = self._bound_gap(objective, fit, mu, norm, fit.restricted_gap.absolute)
        size = objective - self._least
        gaps = [
            DualityGap(gap, gap / size if size > 0 else np.inf, float(objective), objective - gap)
            for gap in (whole, restricted)
        ]
        fields = {**vars(fit), "objective": objective, "gap": gaps[0], "restricted_gap": gaps[1]}
        return PenalizedFit(**{**fields, "converged": is_converged(gaps[1].relative, self._tol)}, multiplier=mu)

    def _inside(self, norm: float) -> float:
        """Return a norm that is as good as the radius as that radius."""
        if not isinstance(self._penalty, NormBound) or norm > self._penalty.radius * (1 + SAME):
            return norm
        return min(norm, self._penalty.radius)

    def _bound_gap(self, objective: Objective, fit: LossFit, mu: float, norm: float, gap: float) -> float:
        """Return primal minus dual value of the residuals of a fit whose own gap is known."""
        # ‖R‖ is 2μ‖f‖ to within the norm of the gradient, whose square is 4μ times the gap.
        off = 2 * np.sqrt(mu * max(gap, 0.0))
        most = self._find_largest(objective)
        ends = (max(2 * mu * norm - off, 0.0), 2 * mu * norm + off)
        worst = max(self._penalty.conjugate(s, self._alpha, most) - s**2 / (4 * mu) for s in ends)
        return max(float(objective - (fit.objective - gap) + worst), 0.0)

    def _find_largest(self, objective: Objective) -> float:
        """Return a norm beyond which the penalty alone is more than the objective."""
        most = 1.0
        while most < 1e30 and self._alpha * self._penalty.value(most) <= objective - self._least:
            most *= 2
        return most
