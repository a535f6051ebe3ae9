"""The posterior of a ridge fit: what a Gaussian process of this kernel would know of f after the data.

Ridge with the penalty α is the mean of a Gaussian process f ~ GP(0, k) seen with noise of variance α, or α/wᵢ where
points have weights: A = K + αW⁻¹ is the covariance of the targets.  A flat prior on the intercept makes it the one of
ridge.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from mercer.arrays.budget import require
from mercer.arrays.tensors import host_array
from mercer.formula.data import Rows, length, take
from mercer.kernels import Precomputed
from mercer.kernels.custom import MatrixRows
from mercer.messages import warn_caller

from ...rounding import weighted_trace
from ..fit import RidgeFit
from .dual import KernelForm
from .features import SMALL, CenterForm, FeatureForm
from .likelihood import find_likelihood
from .prior import draw_normal

BLOCK_BYTES = 2**28  # of kernel values at a time: few large blocks are quickest
UNIT = 8 * float(np.finfo(np.float64).eps)
CEILING = 1e-6  # of k(x, x): a difference below 0 by more is no rounding, however small the penalty
MANY = 0.1  # share of points with a variance that rounding has lost, from which on there is a warning
KEPT = "_posterior"  # where a record keeps it; no field, so that no file has it


class Form(Protocol):
    """One of the ways in which a posterior is computed."""

    def row_bytes(self, count: int) -> int:
        """Return the bytes for each of so many new points."""

    def variance(self, X: Rows, alpha: float, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the variance of f at some of so many points, as it is computed, and what it is a difference of."""

    def covariance(self, X: Rows, alpha: float) -> np.ndarray:
        """Return the covariances of f between all points."""

    def deviate(self, X: Rows, alpha: float, size: int, rng: np.random.RandomState) -> np.ndarray:
        """Return draws of f less its mean, one a column."""

    def log_determinant(self, alpha: float) -> float:
        """Return log|A|, and log 1ᵀA⁻¹1 more with an intercept."""

    def quadratic(self, alpha: float, columns: np.ndarray) -> float:
        """Return yᵀA⁻¹y, less the part of an intercept, summed over some targets."""


class Posterior:
    """Variance, draws and likelihood of a fit.

    Parameters
    ----------
    record : RidgeFit
        A fit whose points are here.

    Attributes
    ----------
    clamped : int
        How many variances were below 0 by rounding so far, and are given as 0.

    Examples
    --------
    A line through the origin, seen twice with noise of variance 1: its slope has the variance 1/(1 + 1 + 4).

    >>> import numpy as np
    >>> from mercer.kernels import Linear
    >>> from mercer.solvers.base import Problem
    >>> from mercer.solvers.ridge.fit import fit_ridge
    >>> X = np.array([[1.0], [2.0]])
    >>> posterior = Posterior(fit_ridge(Problem(Linear(), X, np.array([1.0, 2.0])), np.ones(1)))
    >>> posterior.variance([[1.0], [6.0]]).round(4)
    array([0.1667, 6.    ])
    >>> round(posterior.log_likelihood(), 4)
    -3.1504
    """

    def __init__(self, record: RidgeFit) -> None:
        problem, function = record.problem_on_host, record.expansion
        self.problem, self._function, self.solver = problem, function, record.plan.solver
        self._placed = record.problem or problem  # where it was fitted
        self._flat, self._penalty = function.coef.ndim == 1, record.penalty
        self._alphas, self._which = np.unique(record.penalty, return_inverse=True)
        self._kept_form: Form | None = None
        self._trace = weighted_trace(problem)
        self.clamped = 0

    @classmethod
    def of(cls, record: RidgeFit) -> Posterior:
        """Return the posterior of a record, made when it is first asked for."""
        kept = vars(record)
        if KEPT not in kept:
            kept[KEPT] = cls(record)
        found: Posterior = kept[KEPT]
        return found

    def variance(self, X: Rows) -> np.ndarray:
        """Return the variance of f(x), and of the intercept with it, of shape (m,) or (m, targets).

        Never negative: a difference within rounding of 0 is 0, and counted; one below is an error.
        """
        X, form, m = self._check(X), self._form, length(X)
        room = self._placed.memory // 4
        step = max(1, (min(BLOCK_BYTES, room) if self._placed.place.on_host else room) // form.row_bytes(m))
        found = np.empty((m, len(self._alphas)))
        for column, alpha in enumerate(self._alphas.tolist()):
            for start in range(0, m, step):
                rows = slice(start, min(start + step, m))
                found[rows, column] = self._clamp(*form.variance(take(X, rows.start, rows.stop), alpha, m), alpha)
        return found[:, 0] if self._flat else found[:, self._which]

    def covariance(self, X: Rows) -> np.ndarray:
        """Return the covariances of f between all points, of shape (m, m) or (m, m, targets)."""
        X, m, q = self._check(X), length(X), len(self._which)
        found = np.stack([self._covariance(X, alpha) for alpha in self._alphas.tolist()], axis=-1)
        if self._flat:
            return found[:, :, 0]
        require(8.0 * m * m * q, self.problem.memory, f"{q} covariance matrices of {m} points", "ask for fewer points")
        return found[:, :, self._which]

    def sample(self, X: Rows, size: int, rng: np.random.RandomState) -> np.ndarray:
        """Return draws of f, of shape (m, size) or (m, targets, size).

        Up to 2,000 points draw from their covariances.  Beyond, a draw is the mean, a draw of the prior, and less the
        fit to that draw at the training points with noise, in time and memory that grow as the number of points does.
        """
        X, m, q = self._check(X), length(X), len(self._which)
        values = self._function(X, memory=self.problem.memory)
        found = np.repeat(np.asarray(host_array(values)).reshape(m, q, 1), size, axis=2)
        for place, alpha in enumerate(self._alphas.tolist()):
            columns = np.flatnonzero(self._which == place)
            count = size * len(columns)
            if m <= SMALL:
                drawn = draw_normal(self._covariance(X, alpha), count, rng)
            else:
                drawn = self._form.deviate(X, alpha, count, rng)
            found[:, columns] += drawn.reshape(m, len(columns), size)
        return found[:, 0] if self._flat else found

    def log_likelihood(self) -> float:
        """Return log p(y) = −½ yᵀA⁻¹y − ½ log|A| − ½ n log 2π, summed over targets.

        With an intercept it is the restricted likelihood, in which b is integrated out under a flat prior:
        −½ yᵀGy − ½ log|A| − ½ log 1ᵀA⁻¹1 − ½(n − 1) log 2π with G = A⁻¹ − A⁻¹11ᵀA⁻¹/1ᵀA⁻¹1.  That of Nyström centres is
        of the model they make, whose covariance is that of their features.
        """
        self.check_noise()
        n, total = self.problem.n - self.problem.fit_intercept, 0.0
        for place, alpha in enumerate(self._alphas.tolist()):
            columns = np.flatnonzero(self._which == place)
            determinant = self._form.log_determinant(alpha) + n * math.log(2.0 * math.pi)
            total -= 0.5 * (self._form.quadratic(alpha, columns) + len(columns) * determinant)
        return total

    def log_likelihood_gradient(self) -> tuple[dict[str, float], np.ndarray]:
        """Return the gradient of :meth:`log_likelihood` by the log of each hyperparameter, and of α of each target."""
        self.check_noise()
        if self.solver == "nystroem":
            raise ValueError(
                "a Nyström model has a likelihood, that of the features of its centres, but no gradient of it; use "
                "solver='cholesky' on fewer points"
            )
        found = find_likelihood(self.problem, self._penalty, gradient=True)
        return found.by_log_hyperparameter, found.by_log_alpha

    def check_noise(self) -> None:
        """Raise if there is no noise, and so no density of the targets."""
        if not self._alphas[0] > 0:
            raise ValueError(
                "the marginal likelihood needs alpha > 0, which is the variance of the noise; with alpha=0 targets "
                "that are not those of a function of the kernel's space are impossible. Fit with a positive alpha"
            )

    # -- the steps -----------------------------------------------------------------------------------------------------

    @property
    def _form(self) -> Form:
        """The way in which the fit was found, made ready when it is first needed."""
        if self._kept_form is None:
            problem, explicit = self.problem, self._function.explicit
            if explicit is not None:
                self._kept_form = FeatureForm(
                    problem, self._function, lambda X: np.array(explicit.features(X)), self._alphas
                )
            elif self.solver == "nystroem":
                self._kept_form = CenterForm(problem, self._function, self._alphas)
            else:
                self._kept_form = KernelForm(self._placed, self.solver, several=len(self._alphas) > 1)
        return self._kept_form

    def _covariance(self, X: Rows, alpha: float) -> np.ndarray:
        m = length(X)
        require(
            float(m) * (24.0 * m + self._form.row_bytes(m)), self.problem.memory, f"the covariances of {m} points",
            "ask for fewer points at a time, or for return_std=True, or give more memory",
        )  # fmt: skip
        found = self._form.covariance(X, alpha)
        prior = np.asarray(self.problem.kernel.diag(X), dtype=np.float64)
        found[np.diag_indices(m)] = self._clamp(found.diagonal().copy(), prior, alpha)
        return found

    def _clamp(self, values: np.ndarray, prior: np.ndarray, alpha: float) -> np.ndarray:
        """Return variances with 0 for those below by rounding, and raise if one is below by more.

        A factor of A is that of A + E with ‖E‖ of about n ε ‖A‖, and vᵀA⁻¹Ev/… errs by that times ‖A⁻¹v‖², which is
        at most k(x, x)/α.
        """
        if not np.isfinite(values).all():
            raise ValueError(f"a variance of {self.problem.kernel!r} is no number: k(x, x) is too large for float64")
        share = UNIT * self.problem.n * (1.0 + self._trace / alpha if alpha > 0 else math.inf)
        worst = int(np.argmin(values + min(share, CEILING) * np.abs(prior)))
        if values[worst] < -min(share, CEILING) * abs(prior[worst]):
            raise ValueError(
                f"the posterior variance at point {worst} is {values[worst]:.2g}, where k(x, x) = {prior[worst]:.2g}: "
                f"{self.problem.kernel!r} is not positive semi-definite, or alpha={alpha:.3g} is lost in its rounding. "
                "Look at k.certificate(), and raise alpha"
            )
        lost = int(np.sum(values < 0))
        if alpha > 0 and lost > MANY * len(values) and not self.clamped:
            warn_caller(
                f"{lost} of {len(values)} posterior variances are lost in rounding and given as 0: alpha={alpha:.3g} "
                f"is small beside the kernel matrix, whose trace is {self._trace:.2g}; raise alpha to tell them from 0"
            )
        self.clamped += lost
        return np.maximum(values, 0.0)

    def _check(self, X: Rows) -> Rows:
        """Return new points on the host, and refuse those whose k(x, x) is not known."""
        if isinstance(X, MatrixRows) and isinstance(self.problem.kernel, Precomputed):
            raise ValueError(
                "with kernel='precomputed' new points are rows of values with the training points, which do not say "
                "k(x, x), the variance before the data; fit kernel=mercer.kernels.Precomputed(K) with the matrix K of "
                "all points, old and new, to row numbers as X, and ask for row numbers"
            )
        return host_array(X)
