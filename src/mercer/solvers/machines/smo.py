"""Sequential minimal optimisation: every support vector machine, by working sets.

A round picks the variables that violate optimality most, keeps some of the round before, solves the problem of these
alone to a tenth of the violation (pairs of variables, second order, in compiled code on a matrix that fits the cache),
and adds what changed to Kβ.  Kernel values are float32 where their rounding is small beside the tolerance, sums and
coefficients float64; Kβ is recomputed before the solution is believed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from mercer.arrays.budget import parse_memory
from mercer.formula.data import Rows
from mercer.kernels import Kernel

from .dual import DualProblem, DualSolution
from .many import Many
from .matrix import Matrix
from .rounds import SAFETY, Progress, Run
from .rows import RowSource


@dataclass(frozen=True)
class SMO:
    """Solve the dual problem of a support vector machine.

    Parameters
    ----------
    tol : float
        The violation of the optimality conditions at which to stop, as LIBSVM measures it, in the unit of the targets
        (see :meth:`mercer.solvers.machines.dual.DualProblem.unit`); and the relative duality gap that the solution must
        have to count as converged.  Where a violation this small leaves a larger gap, the solver goes on.
    max_iter : int
        Steps, each of which moves weight between two variables; if negative, ten million or a thousand for each
        variable, whichever is more, so that no problem runs for ever.
    max_time : float, optional
        Seconds; no limit if not given.
    memory : int or str, optional
        Budget in bytes; 60 % of what is free if not given.
    shrinking : bool
        Whether variables that are at a bound and would stay there are left alone until the others are optimal.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Linear
    >>> from mercer.solvers.machines.dual import DualProblem
    >>> from mercer.solvers.machines.smo import SMO
    >>> X, y = np.array([[-2.0], [-1.0], [1.0], [3.0]]), np.array([-1.0, -1.0, 1.0, 1.0])
    >>> problem = DualProblem(y, np.minimum(0, 10 * y), np.maximum(0, 10 * y), np.zeros(4))
    >>> found = SMO().solve(Linear(), X, problem)
    >>> found.beta.round(6).tolist(), found.intercepts.round(6).tolist(), found.converged
    ([0.0, -0.5, 0.5, 0.0], [0.0], True)
    """

    tol: float = 1e-3
    max_iter: int = -1
    max_time: float | None = None
    memory: float | str | None = None
    shrinking: bool = True

    def solve(self, kernel: Kernel, X: Rows, problem: DualProblem, progress: Progress | None = None) -> DualSolution:
        """Solve one problem; X has a point for each variable, or for each two with the second half like the first."""
        matrix = Matrix(kernel, X, parse_memory(self.memory))
        return Run(self, partial(matrix.rows, None, problem.n), matrix.largest, problem, progress).solution()

    def solve_on(
        self,
        rows: Callable[[type], RowSource],
        largest: float,
        problem: DualProblem,
        progress: Progress | None = None,
        *,
        values: np.ndarray | None = None,
        least: int | None = None,
        safety: float = SAFETY,
    ) -> DualSolution:
        """Solve one problem on rows of K that are there already.

        Parameters
        ----------
        rows : callable
            The rows, given float32 or float64.
        largest : float
            The largest k(x, x).
        problem : DualProblem
            What to solve, from its start.
        progress : callable, optional
            Told steps and violation after each round.
        values : array of shape (n,), optional
            Kβ at the start, if it is known.
        least : int
            Variables of a working set at least; fewer are better where rows are cheap.
        safety : float
            Share of the tolerance that rounding of kernel values may take before they are wanted in float64.
        """
        return Run(self, rows, largest, problem, progress, values, least, safety).solution()

    def countdown(self) -> Callable[[], SMO]:
        """Return a function that gives this solver with what is left of its time, which runs from now on."""
        deadline = None if self.max_time is None else time.monotonic() + self.max_time

        def left() -> SMO:
            return self if deadline is None else replace(self, max_time=max(deadline - time.monotonic(), 0.0))

        return left

    def solve_many(
        self,
        kernel: Kernel,
        X: Rows,
        parts: Iterable[tuple[np.ndarray, DualProblem]],
        progress: Progress | None = None,
    ) -> list[DualSolution]:
        """Solve several problems, each on some points of X given by their positions.

        Small problems are solved side by side, one thread each; large ones one after the other with all threads.
        ``progress`` hears of all steps so far and the largest violation left whenever a problem is solved.
        """
        matrix = Matrix(kernel, X, parse_memory(self.memory))
        found: dict[int, DualSolution] = {}
        for i, solution in Many(self.countdown(), matrix, list(parts)).solutions():
            found[i] = solution
            if progress is not None:
                progress(sum(s.n_iter for s in found.values()), max(s.violation for s in found.values()))
        return [found[i] for i in range(len(found))]
