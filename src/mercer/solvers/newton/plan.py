"""Which solver of a logistic problem, and why; and the problem made ready for it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from mercer.arrays.budget import MemoryBudgetError, show_bytes
from mercer.arrays.threads import default_threads
from mercer.formula.data import Rows
from mercer.losses.logistic import LogisticLoss

from ..base import Problem
from ..costs import HOST
from ..plan import Plan
from ..products import width
from .features import FeatureSpace, choose_features
from .gram import RANK, GramSpace, low_rank_of
from .method import Minimum, State, minimise, whole_gap

SOLVERS = ("newton", "newton-cg", "nystroem")
CENTERS = 2000  # of Nyström features whose number was not given
DIRECT_LIMIT = 1500  # points times functions up to which factors are cheap
DIRECT_SECONDS = 1.0  # of factors on a GPU, up to which they are
# Operations a second on one H200: products count as kernel values are computed, at about 2e12 a second.
DEVICE_RATE = {"newton": 3e13, "newton-cg": 6e13, "nystroem": 2e13}
STEPS, PRODUCTS = 8, 150  # of Newton, and of conjugate gradients in all of them, typically
CHEAP = 1e10  # operations of a product with the n × n matrix that any fit may add


def plan_logistic(problem: Problem, solver: str = "auto", n_centers: int | None = None) -> Plan:
    """Choose how to solve a logistic problem.

    Parameters
    ----------
    problem : Problem
        Kernel, points and memory; its targets have one column for each function.
    solver : {"auto", "newton", "newton-cg", "nystroem"}
        The choice, or "auto".
    n_centers : int, optional
        Centres of Nyström features.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> problem = Problem(Gaussian(), np.zeros((20_000, 8)), np.zeros((20_000, 1)), memory=10**9)
    >>> plan_logistic(problem).solver, plan_logistic(problem, n_centers=500).solver
    ('newton-cg', 'nystroem')
    """
    if solver not in ("auto", *SOLVERS):
        raise ValueError(f"solver must be 'auto' or one of {', '.join(map(repr, SOLVERS))}; got {solver!r}")
    n, q = problem.n, problem.y.shape[1]
    centers = centers_of(problem, n_centers)
    entry = 2.0 * width(problem.X) + 20.0
    memory = {
        "newton": 4.0 * (q + 2) * n * n,
        "newton-cg": 12.0 * n * min(RANK, n) + 120.0 * n * q,
        "nystroem": 40.0 * (centers * min(q, 2)) ** 2 + 8.0 * 1000 * centers + 120.0 * n * q,
    }
    flops = {
        "newton": STEPS * q * (n**3 / 3 + 4.0 * n * n),
        "newton-cg": PRODUCTS * product_cost(problem),
        "nystroem": n * centers * (centers + entry) + STEPS * q * q * n * float(centers) ** 2,
    }
    rates = {"newton": HOST.double, "newton-cg": HOST.single, "nystroem": HOST.double}
    speed, where, cheap = float(default_threads()), "", n * q <= DIRECT_LIMIT
    if problem.device is not None:
        where = f", on {problem.device}"
        memory["newton-cg"] = 16.0 * n * low_rank_of(problem) + 120.0 * n * q
        if problem.device.type == "cuda":
            rates, speed = DEVICE_RATE, 1.0
            cheap = flops["newton"] / rates["newton"] <= DIRECT_SECONDS

    def plan(name: str, reason: str) -> Plan:
        return Plan(name, reason + where, int(memory[name]), flops[name], flops[name] / (rates[name] * speed))

    def fits(name: str) -> bool:
        return memory[name] <= problem.memory

    if solver != "auto":
        if not fits(solver):
            raise MemoryBudgetError(
                f"solver={solver!r} for {n} points needs {show_bytes(memory[solver])}, but the memory budget is "
                f"{show_bytes(problem.memory)}; use solver='auto', fewer centres or points, or give more memory"
            )
        return plan(solver, "it was asked for")
    if n_centers is not None and centers < n:
        return plan("nystroem", f"{centers} centres were asked for")
    if cheap and 2 * memory["newton"] <= problem.memory:
        return plan("newton", f"a factor of the {n} × {n} matrix is cheap")
    slow = plan("newton-cg", "").seconds
    if fits("newton-cg") and slow <= HOST.patience:
        return plan("newton-cg", f"conjugate gradients need only products with the {n} × {n} matrix")
    if not fits("nystroem"):
        raise MemoryBudgetError(
            f"a logistic fit of {n} points needs at least {show_bytes(min(memory.values()))}, but the memory budget is "
            f"{show_bytes(problem.memory)}; give more memory or fewer points"
        )
    why = f"products with all pairs of {n} points would take long" if slow > HOST.patience else "more does not fit"
    return plan("nystroem", f"{why}, so {centers} centres stand for all points")


def product_cost(problem: Problem) -> float:
    """Return the operations of one product of the n × n matrix, computed on the way, with a column for each output."""
    return float(problem.n) ** 2 * (2.0 * width(problem.X) + 20.0 + 2 * problem.y.shape[1])


def centers_of(problem: Problem, n_centers: int | None) -> int:
    """Return how many Nyström centres there are to be: those asked for, or as many as the budget allows up to 2,000."""
    wanted = CENTERS if n_centers is None else n_centers
    affordable = int(math.sqrt(problem.memory / 200)) if n_centers is None else problem.n
    return max(1, min(wanted, problem.n, affordable))


class PreparedLogistic:
    """A logistic problem that can be solved for one penalty after another, each from where the last one ended.

    Parameters
    ----------
    problem : Problem
        Kernel, points and memory.
    loss : LogisticLoss
        The labels, and how they are weighed.
    solver : {"newton", "newton-cg", "nystroem"}
        How it is solved.
    n_centers : int, optional
        Centres of Nyström features.
    random_state : int, RandomState or None
        The seed.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Linear
    >>> from mercer.losses.logistic import make_loss
    >>> loss = make_loss(np.array([0, 0, 1, 1]), 2, np.ones(4))
    >>> problem = Problem(Linear(), np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.zeros((4, 1)), fit_intercept=True)
    >>> prepared = PreparedLogistic(problem, loss, "newton")
    >>> [round(prepared.solve(alpha).objective, 3) for alpha in (1.0, 0.1)]
    [1.737, 0.683]
    """

    def __init__(
        self,
        problem: Problem,
        loss: LogisticLoss,
        solver: str,
        n_centers: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.problem, self.loss = problem, loss
        self._placed = loss.on(problem.device)
        rng = check_random_state(random_state)
        self._last: State | None = None
        self._features: Any = None
        self.space: GramSpace | FeatureSpace
        if solver == "nystroem":
            self._features = choose_features(problem, centers_of(problem, n_centers), rng)
            self.space = FeatureSpace(self._features, loss.outputs)
        else:
            self.space = GramSpace(problem, solver == "newton", rng)

    def solve(self, alpha: float, tol: float = 1e-8, max_iter: int = 100) -> Minimum:
        """Minimise for one penalty."""
        found = minimise(
            self.space, self._placed, alpha, fit_intercept=self.problem.fit_intercept, tol=tol, max_iter=max_iter,
            start=self._last,
        )  # fmt: skip
        self._last = found.state
        return replace(found, state=found.state.on_host())

    def gap(self, alpha: float, found: Minimum, cost: float) -> float:
        """Return the gap to the minimum over all functions of the kernel, and not only over those of the centres.

        NaN where it would take more operations than the fit, whose ``cost`` is given.
        """
        if self._features is None:
            return found.gap
        if product_cost(self.problem) > max(cost, CHEAP):
            return float("nan")
        return whole_gap(self.problem, self.loss, alpha, found)

    def expansion(self, state: State) -> tuple[Rows, np.ndarray | None, np.ndarray]:
        """Return the centres of a function, which of the points they are (None for all), and its coefficients."""
        features = self._features
        if features is None:
            return self.problem.X, None, state.coef
        return features.centers, features.indices, features.coefficients(state.coef)
