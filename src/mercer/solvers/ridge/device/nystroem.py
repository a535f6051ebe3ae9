"""Ridge restricted to many centres on a device, by conjugate gradients on products that are never stored.

With K_mm = LLᵀ and β = Lᵀc the problem is (L⁻¹K_mn W K_nm L⁻ᵀ + αI)β = L⁻¹K_mn W y.  A sample of the rows as large as
the centres stands for all of them in the preconditioner (n/m)LᵀL + αI (Rudi, Carratino and Rosasco, "FALKON", 2017), so
that ten or twenty iterations of two fused products each are enough, and no matrix is larger than m × m.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from mercer.arrays.budget import require
from mercer.arrays.tensors import host_array, load_torch, on_device
from mercer.formula.data import pick
from mercer.gram import Gram
from mercer.gram.torch.stream import CrossProducts

from ...base import PreparedRidge, Problem, Solution
from ...residuals import penalties
from ...sampling import some_rows
from .cg import DevicePreconditioner

STEPS = 30
TOLERANCE = 1e-4  # of the residual in the norm of the preconditioner, relative to that of the right-hand side
PIVOTED = 4096  # centres up to which they are chosen by pivoting
POINTS_PER_CENTRE = 4
DEFAULT = 4096
JITTER = 64 * float(np.finfo(np.float64).eps)  # of the trace, added to K_mm until it has a factor


class DeviceNystroem(PreparedRidge):
    """Centres chosen, K_mm factorised; every α shares them.

    Parameters
    ----------
    solver : Nystroem
        How many centres, and how to choose them.
    problem : Problem
        The problem, with a device.
    """

    name = "Nystroem"

    def __init__(self, solver: Any, problem: Problem) -> None:
        torch = load_torch()
        self.problem = problem
        count = min(problem.n, solver.n_centers or min(solver.max_centers, DEFAULT))
        require(
            24.0 * count**2,
            problem.memory,
            f"a Nyström model of {count} centres on {problem.device}",
            f"ask for at most {int((problem.memory / 24) ** 0.5)} centres",
        )
        rng = check_random_state(solver.random_state)
        self.indices = self._choose(count, solver.selection, rng)
        self.centers = pick(problem.X, self.indices)
        options = {"memory": problem.memory, "device": problem.device}
        self._products = CrossProducts(problem.kernel, problem.X, self.centers, problem.device, problem.memory)
        K = Gram(problem.kernel, self.centers, dtype=np.float64, **options).dense()
        self._triangle = _factor(K, JITTER * float(K.trace()))
        del K
        self._y = on_device(problem.y, problem.device, np.float64)
        weights = np.ones(problem.n) if problem.weights is None else problem.weights
        self._weights = on_device(weights, problem.device, np.float64)[:, None]
        self._total = float(self._weights.sum())
        self._gram = self._triangle.T @ self._triangle
        self._torch = torch

    def attempt(self, alpha: Any, *, loo: bool = False) -> Solution:
        """Solve for one α per output."""
        if loo:
            raise ValueError(
                "leave-one-out residuals of Nyström models are computed on the host; fit without a device for them"
            )
        alpha = penalties(alpha, self._y.shape[1])
        if not (alpha > 0).all():
            raise ValueError(f"Nystroem needs one positive alpha for each of the outputs, got {alpha}")
        mean = (self._weights * self._y).sum(0) / self._total if self.problem.fit_intercept else 0.0 * self._y[0]
        right = self._whiten(self._up(self._y - mean))
        beta, worst, steps = right * 0.0, 0.0, 0
        for one in np.unique(alpha):
            columns = np.flatnonzero(alpha == one)
            found, relative, count = self._iterate(right[:, columns], float(one))
            beta[:, columns] = found
            worst, steps = max(worst, relative), max(steps, count)
        coef = self._unwhiten(beta)
        intercept = mean
        if self.problem.fit_intercept:
            intercept = mean - (self._weights * self._products.down(coef)).sum(0) / self._total
        return Solution(
            centers=self.centers,
            coef=host_array(coef),
            intercept=np.asarray(host_array(intercept)),
            alpha=alpha,
            residual=worst,
            tolerance=TOLERANCE,
            n_iter=steps,
            remedy=f"it stopped after {steps} iterations: raise alpha, or take fewer centres",
        )

    def _choose(self, count: int, selection: str, rng: np.random.RandomState) -> np.ndarray:
        problem = self.problem
        if selection == "uniform" or count > PIVOTED or count == problem.n:
            return some_rows(rng, problem.n, count)
        candidates = some_rows(rng, problem.n, min(problem.n, max(POINTS_PER_CENTRE * count, 1000)))
        points = pick(problem.X, candidates)
        gram = Gram(problem.kernel, points, dtype=np.float64, memory=problem.memory, device=problem.device)
        noise = on_device(np.ones(len(candidates)), problem.device, np.float64)
        pivots = DevicePreconditioner(gram, noise, count, rng).pivots
        if len(pivots) == 0:
            raise ValueError(f"Nystroem: {problem.kernel!r} is 0 on all of the data; no centre explains any")
        return np.asarray(candidates[pivots])

    def _iterate(self, right: Any, alpha: float) -> tuple[Any, float, int]:
        """Conjugate gradients for one α; the preconditioned residual is what is measured."""
        torch = self._torch
        m, n = len(right), self.problem.n
        M = (n / m) * self._gram
        M.diagonal().add_(alpha)
        factor = _factor(M, 0.0)
        beta, R = torch.zeros_like(right), right.clone()
        Z = torch.cholesky_solve(R, factor)
        P, slope = Z.clone(), (R * Z).sum(0)
        first, count = slope.clone(), 0
        floor = torch.where(first > 0, first, torch.ones_like(first))
        while count < STEPS and bool((slope / floor > TOLERANCE**2).any()):
            image = self._whiten(self._up(self._centred(self._products.down(self._unwhiten(P))))) + alpha * P
            length = slope / (P * image).sum(0).clamp(min=torch.finfo(torch.float64).tiny)
            beta += length * P
            R -= length * image
            Z = torch.cholesky_solve(R, factor)
            after = (R * Z).sum(0)
            P = Z + (after / slope.clamp(min=torch.finfo(torch.float64).tiny)) * P
            slope = after
            count += 1
        return beta, float((slope / floor).clamp(min=0.0).max().sqrt()), count

    def _centred(self, V: Any) -> Any:
        """Take the weighted mean off, as an intercept would."""
        if not self.problem.fit_intercept:
            return V
        return V - (self._weights * V).sum(0) / self._total

    def _up(self, V: Any) -> Any:
        """K_mn W V."""
        return self._products.across(self._weights * V)

    def _whiten(self, V: Any) -> Any:
        return self._torch.linalg.solve_triangular(self._triangle, V, upper=False)

    def _unwhiten(self, V: Any) -> Any:
        return self._torch.linalg.solve_triangular(self._triangle.T, V, upper=True)


def _factor(A: Any, shift: float) -> Any:
    """Return the lower Cholesky factor, with a shift that grows until there is one."""
    torch = load_torch()
    while True:
        B = A.clone()
        B.diagonal().add_(shift)
        L, info = torch.linalg.cholesky_ex(B)
        if not int(info):
            return L
        shift = max(10.0 * shift, JITTER * float(A.trace()))
