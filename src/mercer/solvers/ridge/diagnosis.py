"""How a fitted ridge model is doing, in numbers and in a sentence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.formula.data import pick

from ..base import Problem
from ..plan import SPECTRAL_LIMIT
from ..rounding import outweighs_rounding
from .fit import RidgeFit, pick_points
from .spectral import Spectral, SpectralPrepared

LEADING = 8  # eigenvalues shown
BETTER = 0.95  # of the squared error now, at another penalty, is worth saying
FACTORS = 10.0 ** np.arange(-8, 9)  # other penalties looked at, relative to the one there is


@dataclass(frozen=True)
class Diagnosis:
    """What can be said of a fitted model.

    Parameters
    ----------
    n : int
        Number of points looked at.
    total : int
        Number of points of the model; if larger, those looked at are a sample of them.
    eigenvalues : array of shape (n,)
        The diagonal of Λ in K = UΛUᵀ (with weights, W^½KW^½ = UΛUᵀ), largest first; what is rounding is 0.
    eigenvectors : array of shape (n, n)
        U, an eigenvector in each column, in the same order.  Without an intercept the coefficients are
        c = U(Λ + αI)⁻¹Uᵀy (with weights, W^½U(Λ + αI)⁻¹UᵀW^½y).
    condition : float
        Condition number of the matrix that is solved with, the largest over the smallest eigenvalue after the penalty.
    effective_dof : float
        Effective degrees of freedom, the trace of the map from y to the fitted values; the mean of several targets.
    loo_error : float
        Root mean square of the leave-one-out residuals.
    explained : float
        Share of the variance of y that leave-one-out predictions explain: 1 is all, 0 no better than the mean.
    advice : str
        One sentence.
    spectrum : array of shape (n,)
        The eigenvalues by another name.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.kernels import Gaussian
    >>> X, y = np.array([[0.0], [1.0], [3.0]]), np.array([1.0, 2.0, 0.0])
    >>> model = KernelRidge(0.5, kernel=Gaussian()).fit(X, y)
    >>> found = model.diagnose()
    >>> U, spectrum = found.eigenvectors, found.eigenvalues
    >>> bool(np.allclose(U * spectrum @ U.T, Gaussian()(X)))
    True
    >>> bool(np.allclose(U / (spectrum + 0.5) @ U.T @ y, model.dual_coef_))
    True
    """

    n: int
    total: int
    eigenvalues: np.ndarray
    eigenvectors: np.ndarray
    condition: float
    effective_dof: float
    loo_error: float
    explained: float
    advice: str

    @property
    def spectrum(self) -> np.ndarray:
        """The eigenvalues, largest first."""
        return self.eigenvalues

    def __str__(self) -> str:
        leading = ", ".join(f"{value:.3g}" for value in self.spectrum[:LEADING])
        sample = "" if self.n == self.total else f" (a sample of the {self.total} points)"
        return "\n".join(
            [
                f"points                  {self.n}{sample}",
                f"leading eigenvalues     {leading}{', …' * (len(self.spectrum) > LEADING)}",
                f"condition number        {self.condition:.3g}",
                f"degrees of freedom      {self.effective_dof:.1f} of {self.n}",
                f"leave-one-out error     {self.loo_error:.4g}",
                f"variance explained      {100 * self.explained:.1f} %",
                f"advice                  {self.advice}",
            ]
        )


def diagnose(record: RidgeFit, *, averaged: bool = False) -> Diagnosis:
    """Look at a fit, or at a sample of its points if there are many; where errors were averaged, so they are there."""
    problem, alpha = record.problem_on_host, record.penalty
    total = problem.n
    if total > SPECTRAL_LIMIT:
        problem = pick_points(problem, np.random.default_rng(0).choice(total, SPECTRAL_LIMIT // 2, replace=False))
        alpha = alpha * (problem.n / total if averaged else 1.0)
    prepared = Spectral().prepare(problem)
    spectrum = prepared.eigenvalues[::-1]
    shifted = np.abs(spectrum + alpha.min())
    errors = _squared_errors(prepared, alpha)
    now = float(errors[FACTORS == 1.0][0])
    weights = np.ones(problem.n) if problem.weights is None else problem.weights
    center = np.average(problem.y, axis=0, weights=weights)
    variance = float(np.average((problem.y - center) ** 2, axis=0, weights=weights).mean())
    dof = float(np.mean([prepared.effective_dof(value) for value in alpha]))
    return Diagnosis(
        n=problem.n,
        total=total,
        eigenvalues=spectrum,
        eigenvectors=prepared.eigenvectors[:, ::-1],
        condition=float(shifted.max() / shifted.min()) if shifted.min() > 0 else np.inf,
        effective_dof=dof,
        loo_error=float(np.sqrt(now)),
        explained=1 - now / variance if variance > 0 else np.nan,
        advice=_advice(problem, errors, now, dof, variance),
    )


def _squared_errors(prepared: SpectralPrepared, alpha: np.ndarray) -> np.ndarray:
    """Return the mean squared leave-one-out error for each factor; infinite where rounding could have made another."""
    residuals, problem = prepared.loo(FACTORS[:, None] * alpha), prepared.problem
    errors = np.average(residuals**2, axis=1, weights=problem.weights).mean(axis=1)
    kept = outweighs_rounding(problem, FACTORS * alpha.min(), residuals) | (FACTORS == 1.0)
    return np.where(kept, errors, np.inf)


def _advice(problem: Problem, errors: np.ndarray, now: float, dof: float, variance: float) -> str:
    if variance == 0:
        return "all targets are equal, so there is nothing to learn but a constant."
    if not np.isfinite(now):
        return "leave-one-out errors need at least two points; give more data."
    low, high = _similarity(problem)
    if high < 0.05:
        return (
            "no point is similar to any other (K is almost diagonal), so the model only remembers: use a longer length "
            "scale, or scale the features."
        )
    if low > 0.99:
        return (
            "all points are almost equal to the kernel (K is almost constant): use a shorter length scale, or "
            "scale the features."
        )
    best = int(np.nanargmin(errors))
    if errors[best] >= BETTER * variance:
        return "no penalty makes it predict better than the mean of y: try another kernel, or other features."
    if errors[best] < BETTER * now:
        size = "small" if FACTORS[best] > 1 else "large"
        change = 100 * (1 - np.sqrt(errors[best] / now))
        return (
            f"alpha is too {size}: {FACTORS[best]:g} times as much lowers the leave-one-out error by {change:.0f} %; "
            "tune it on a path of penalties."
        )
    if dof > 0.9 * problem.n:
        return "there are almost as many degrees of freedom as points: fine for data without noise, risky with it."
    return "nothing looks wrong: no penalty on a grid of powers of ten is clearly better."


def _similarity(problem: Problem) -> tuple[float, float]:
    """Return the least |cosine| between features of two points, and the mean over points of the largest."""
    count = min(problem.n, 500)
    if count < 2:
        return 0.0, 1.0
    rows = np.arange(count) * problem.n // count
    K = np.asarray(problem.kernel(pick(problem.X, rows)), dtype=np.float64)
    size = np.sqrt(np.maximum(np.abs(np.diagonal(K)), np.finfo(float).tiny))
    cosine = np.abs(K / size / size[:, None])
    others = ~np.eye(count, dtype=bool)
    return float(cosine[others].min()), float(np.where(others, cosine, 0.0).max(axis=1).mean())
