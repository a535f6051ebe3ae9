"""Sequential minimal optimisation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.kernels import Kernel
from mercer.kernels.data import Rows
from mercer.gram import Gram

from .dual import DualProblem, DualSolution


@dataclass(frozen=True)
class SMO:
    tol: float = 1e-3
    max_iter: int = -1
    max_time: float | None = None
    memory: int | None = None

    def solve(self, kernel: Kernel, X: Rows, problem: DualProblem, progress=None) -> DualSolution:
        """X has problem.n rows, or half as many when every row stands for two variables (ν-SVR)."""
        K = Gram(kernel, X).dense(np.float64)
        if len(K) != problem.n:
            K = np.tile(K, (2, 2))
        beta, values = problem.start.copy(), K @ problem.start
        diagonal, steps = K.diagonal(), 0
        while self.max_iter < 0 or steps < self.max_iter:
            rise, fall = problem.scores(beta, values)
            pairs = [(rise[g].max() - fall[g].min(), g) for g in problem.groups]
            gap, g = max(pairs, key=lambda pair: pair[0])
            if gap <= self.tol:
                break
            i = g.start + int(rise[g].argmax())
            curve = np.maximum(diagonal[i] + diagonal[g] - 2 * K[i, g], 1e-12)
            gain = np.maximum(rise[i] - fall[g], 0.0)
            j = g.start + int((gain**2 / curve).argmax())
            step = min(gain[j - g.start] / curve[j - g.start], problem.upper[i] - beta[i], beta[j] - problem.lower[j])
            if beta[i] < 0:
                step = min(step, -beta[i])
            if beta[j] > 0:
                step = min(step, beta[j])
            beta[i] += step
            beta[j] -= step
            values += step * (K[i] - K[j])
            steps += 1
        return DualSolution(problem, beta, K @ beta, steps, problem.violation(beta, values) <= self.tol)

    def solve_many(self, kernel: Kernel, X: Rows, parts, progress=None) -> list[DualSolution]:
        """Solve several problems, each on some rows of X: parts is a sequence of (indices, DualProblem)."""
        from mercer.kernels.data import pick

        return [self.solve(kernel, pick(X, indices), problem) for indices, problem in parts]
