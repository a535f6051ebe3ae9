"""Ridge by Cholesky on a device: in float64 while that fits, as a float32 preconditioner of float64 products beyond."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays.budget import require
from mercer.arrays.tensors import host_array, load_torch, on_device
from mercer.linalg.inverse import inverse_factor

from ...base import PreparedRidge, Problem, Solution
from ...evidence import RESIDUAL
from ...residuals import penalties, relative_residuals
from ..iteration import Iteration
from .cg import DeviceProducts

DOUBLE = 2 * 8  # bytes for each pair of points: the matrix and its factor
SINGLE = 4 + 2  # the factor in its place, and tiles of the float64 matrix
STEPS = 300  # of refinement
TOLERANCE = 1e-8  # that refinement aims at
REMEDY = "alpha is too small for this kernel matrix: raise alpha, or scale the columns of the data or the kernel"


class DeviceCholesky(PreparedRidge):
    """A problem on a device, factorised once for each α.

    Parameters
    ----------
    problem : Problem
        The problem, with a device.
    """

    name = "Cholesky"

    def __init__(self, problem: Problem) -> None:
        n = problem.n
        self.problem, self.double = problem, DOUBLE * n * n <= problem.memory
        require(
            SINGLE * n * n if not self.double else 0,
            problem.memory,
            f"the Cholesky factor of a {n} × {n} matrix on {problem.device}",
            "use the conjugate gradient or the Nyström solver",
        )
        self.products = DeviceProducts(problem)
        self._y = self.products.place(problem.y)
        self._noise = self.products.place(problem.noise)
        self._K: Any = self.products.gram.dense(np.float64) if self.double else None

    def attempt(self, alpha: Any, *, loo: bool = False) -> Solution:
        """Solve for one α per output, with leave-one-out residuals if asked."""
        alpha = penalties(alpha, self._y.shape[1])
        if not self.double:
            return self._refined(alpha, loo)
        torch = load_torch()
        coef, intercept = torch.empty_like(self._y), np.zeros(len(alpha))
        left_out = torch.empty_like(self._y) if loo else None
        for one in np.unique(alpha):
            columns = np.flatnonzero(alpha == one)
            found, b, errors = self._factorised(float(one), self._y[:, columns], loo)
            coef[:, columns], intercept[columns] = found, b
            if left_out is not None:
                left_out[:, columns] = errors
        found = host_array(coef)
        relative = relative_residuals(
            self.problem, _Stored(self._K), np.asarray(self.problem.y, dtype=np.float64), found, intercept, alpha
        )
        return Solution(
            centers=self.problem.X,
            coef=found,
            intercept=intercept,
            alpha=alpha,
            residual=float(relative.max()),
            remedy=REMEDY,
            loo=None if left_out is None else host_array(left_out),
        )

    def loo(self, alphas: Any) -> np.ndarray:
        """Return the leave-one-out residuals of many penalties, one for all outputs or one for each: (p, n, q)."""
        torch = load_torch()
        found = torch.empty(len(alphas), *self._y.shape, dtype=torch.float64, device=self._y.device)
        for place, steps in enumerate(alphas):
            each = penalties(steps, self._y.shape[1])
            for one in np.unique(each):
                columns = np.flatnonzero(each == one)
                found[place][:, columns] = self._factorised(float(one), self._y[:, columns], True)[2]
        return np.asarray(host_array(found))

    def _factorised(self, alpha: float, y: Any, loo: bool) -> tuple[Any, np.ndarray, Any]:
        """Return coefficients, intercepts and leave-one-out residuals for one α."""
        torch = load_torch()
        A = self._K.clone()
        A.diagonal().add_(alpha * self._noise)
        L = inverse = None
        # Leave-one-out needs the inverse of the factor anyway, and products with it are quicker than substitution.
        if loo:
            inverse = inverse_factor(A)
        else:
            L, info = torch.linalg.cholesky_ex(A)
            L = None if int(info) else L
        del A
        if L is None and inverse is None:
            raise np.linalg.LinAlgError(
                f"the matrix K + αW⁻¹ is not positive definite at α = {alpha:.3g}; give a larger penalty"
            )
        columns = torch.cat([y, torch.ones_like(y[:, :1])], 1) if self.problem.fit_intercept else y
        solved = torch.cholesky_solve(columns, L) if inverse is None else inverse.T @ (inverse @ columns)
        del L
        c, b = solved[:, : y.shape[1]], y.new_zeros(y.shape[1])
        eta = None
        if self.problem.fit_intercept:
            eta = solved[:, -1:]
            b = c.sum(0) / eta.sum()
            c = c - b * eta
        if inverse is None:
            return c, host_array(b), None
        diagonal = inverse.square_().sum(0)[:, None]
        if eta is not None:
            diagonal = diagonal - eta**2 / eta.sum()
        ratio = c / diagonal
        return c, host_array(b), torch.where(torch.isfinite(ratio), ratio, torch.full_like(ratio, torch.nan))

    def _refined(self, alpha: np.ndarray, loo: bool) -> Solution:
        """Conjugate gradients on float64 products, preconditioned by a float32 factor."""
        if loo:
            raise ValueError(
                f"leave-one-out residuals of {self.problem.n} points need {DOUBLE} bytes for each pair on "
                f"{self.problem.device}, more than the budget; use the Nyström solver, or fit without a device"
            )
        factor = SingleFactor(self.products, self._noise, self.problem)
        fit_intercept = self.problem.fit_intercept
        state = Iteration(self.products, factor, self._y, self._noise, alpha, fit_intercept, TOLERANCE)  # type: ignore[arg-type]
        while not state.finished and state.n_iter < STEPS:
            while state.active and state.n_iter < STEPS:
                state.step()
            state.certify()
        return Solution(
            centers=self.problem.X,
            coef=host_array(state.coef),
            intercept=state.intercept,
            alpha=alpha,
            residual=state.residual,
            tolerance=RESIDUAL,
            n_iter=state.n_iter,
            remedy="its factor in float32 cannot be refined further: raise alpha, or use the conjugate gradient solver",
        )


class _Stored:
    """A matrix on a device that multiplies arrays of the host."""

    def __init__(self, K: Any) -> None:
        self._K = K

    def __matmul__(self, V: Any) -> np.ndarray:
        return np.asarray(host_array(self._K @ on_device(V, self._K.device, np.float64)))


class SingleFactor:
    """The Cholesky factor of A in float32 as a preconditioner; one α at a time is held."""

    def __init__(self, products: DeviceProducts, noise: Any, problem: Problem) -> None:
        self._products, self._noise, self._problem = products, noise, problem
        self._held: tuple[float, Any] | None = None

    def solve(self, V: Any, alpha: np.ndarray) -> Any:
        """Return A⁻¹V, roughly, with one α for each column."""
        torch = load_torch()
        out = torch.empty_like(V)
        for one in np.unique(alpha):
            columns = np.flatnonzero(alpha == one)
            out[:, columns] = torch.cholesky_solve(V[:, columns].float(), self._factor(float(one))).double()
        return out

    def _factor(self, alpha: float) -> Any:
        torch = load_torch()
        if self._held is None or self._held[0] != alpha:
            self._held = None
            A: Any = self._problem.gram(dtype=np.float32).dense()
            trace = float(A.diagonal().double().sum())
            shift = 0.0
            while True:
                B = A.clone()
                B.diagonal().add_((alpha * self._noise + shift).float())
                L, info = torch.linalg.cholesky_ex(B)
                if not int(info):
                    break
                shift = max(2 * shift, float(np.finfo(np.float32).eps) * trace)
            self._held = alpha, L
        return self._held[1]
