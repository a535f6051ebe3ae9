"""Which solver, and why: decided from what each says it would take, before anything is allocated."""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from mercer.arrays.budget import MemoryBudgetError, parse_memory, show_bytes
from mercer.arrays.tensors import host_array
from mercer.checks import check_count
from mercer.formula.data import take
from mercer.formula.program import UnsupportedError, lower
from mercer.kernels import Kernel
from mercer.kernels.base import show_given
from mercer.markup import Cell, show_card, show_facts, show_text
from mercer.words import show_estimate

from .base import Problem
from .costs import Cost, Sizes
from .ridge import SOLVERS as CLASSES

SOLVERS = tuple(CLASSES)
EXACT = tuple(name for name, solver in CLASSES.items() if solver.exact)
ITERATIVE = ("cg", "partial", "blocks")  # that have no factor of all, which points could be left out of
UNPENALISED = ("primal", "spectral")  # that take α = 0 as the limit
SPECTRAL_LIMIT = 5000  # points up to which all eigenvectors are affordable, whatever else there is
LOOKED_AT = 1000  # points whose k(x, x) says how large a penalty is
CLOSE = 1.5  # times the least time expected: within it, other reasons decide


@dataclass(frozen=True)
class Plan:
    """A solver with the reason for it and what it is expected to take.

    Parameters
    ----------
    solver : {"primal", "spectral", "cholesky", "partial", "cg", "blocks", "nystroem"}
        The algorithm.
    reason : str
        Why this one, in one sentence.
    memory : int
        Bytes expected at the peak, beside the data.
    flops : float
        Floating-point operations expected.
    seconds : float
        Time expected on this machine, right to a factor of a few.
    steps : int
        Iterations expected, 0 of solvers that have none.
    """

    solver: str
    reason: str
    memory: int
    flops: float
    seconds: float
    steps: int = field(default=0, kw_only=True)

    def __str__(self) -> str:
        return (
            f"{self.solver}, because {self.reason} (expected: {show_bytes(self.memory)}, "
            f"{self.flops:.1e} operations, {show_estimate(self.seconds)})"
        )

    def facts(self) -> list[tuple[str, Cell]]:
        """Return what is expected, by name."""
        return [
            ("memory", show_bytes(self.memory)),
            ("operations", f"{self.flops:.1e}"),
            ("time", show_estimate(self.seconds)),
        ]

    def _repr_html_(self) -> str:
        """Return the solver, the reason and what is expected, for a notebook."""
        return show_card(f"Solver: {self.solver}", show_text(f"because {self.reason}"), show_facts(self.facts()))


def plan(
    kernel: Kernel,
    n: int,
    d: int | None,
    *,
    outputs: int = 1,
    alphas: int = 1,
    loo: bool = False,
    memory: float | str | None = None,
    solver: str = "auto",
    n_centers: int | None = None,
) -> Plan:
    """Choose the solver of a ridge problem: of about the least time expected among those that are exact and fit.

    Nyström centres, which change the problem, are taken only if nothing else fits, or would take more than an hour.

    Parameters
    ----------
    kernel : Kernel
        The kernel; only its feature dimension matters.
    n : int
        Number of training points.
    d : int or None
        Number of columns; None for objects without columns.
    outputs : int, default=1
        Number of targets.
    alphas : int, default=1
        How many penalties the problem is to be solved for.
    loo : bool, default=False
        Whether leave-one-out residuals are wanted.
    memory : int or str, optional
        Budget in bytes, or a text such as "2GB"; 60 % of what is free if not given.
    solver : str, default="auto"
        "auto", or the name of the solver to use: it is then only checked against the budget.
    n_centers : int, optional
        Centres of a Nyström model, if their number is fixed.

    Returns
    -------
    Plan
        Solver, reason, and the memory and time expected.

    Raises
    ------
    MemoryBudgetError
        If the solver asked for, or every one there is, needs more.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Polynomial
    >>> from mercer.solvers.plan import plan
    >>> print(plan(Polynomial(degree=2), n=200_000, d=20, memory="1GB").reason)
    the kernel has 231 explicit features, fewer than the 200000 points
    >>> [plan(Gaussian(), n, 8, memory="4GB").solver for n in (1_000, 3_000, 50_000, 5_000_000)]
    ['cholesky', 'cholesky', 'cg', 'nystroem']
    """
    if not isinstance(kernel, Kernel):
        raise TypeError(f"plan: kernel must be a mercer kernel, got {show_given(kernel)}")
    for name, count in (("n", n), ("d", d), ("outputs", outputs), ("alphas", alphas), ("n_centers", n_centers)):
        if count is not None or name not in ("d", "n_centers"):
            check_count("plan", name, count)
    _check_name(solver)
    sizes = Sizes(
        n, d or 20, _features(kernel, d), outputs * alphas, alphas, parse_memory(memory), loo, _is_native(kernel)
    )
    choice = Comparison(sizes, n_centers)
    return choice.best() if solver == "auto" else choice.force(solver, kernel)


def plan_problem(
    problem: Problem, alpha: np.ndarray, solver: str = "auto", *, loo: bool = False, n_centers: int | None = None,
    saved: bool = False,
) -> Plan:  # fmt: skip
    """Choose the solver of a problem that is there, for one α per output.

    Beside its size this looks at the penalty.  Without one, a matrix may have no Cholesky factor, and only eigenvalues
    or explicit features find the limit; the larger it is, the fewer iterations conjugate gradients take.
    """
    _check_name(solver)
    kernel, place = problem.kernel, problem.place
    shape: tuple[int, ...] = getattr(problem.X, "shape", ())
    level, noise = _level(problem), float((alpha.min() * problem.noise).min())
    sizes = Sizes(
        problem.n, int(shape[1]) if len(shape) == 2 else 20, _features(kernel, count_columns(kernel, problem.X)),
        len(alpha), len(np.unique(alpha)), problem.memory, loo, _is_native(kernel),
        noise / level if level > 0 else None, place.on_host, saved,
    )  # fmt: skip
    choice = Comparison(sizes, n_centers, "" if place.on_host else f" on {place}")
    if solver != "auto":
        return choice.force(solver, kernel)
    if (alpha > 0).all():
        return choice.best()
    able = [name for name in UNPENALISED if choice.fits(name)]
    if not able:
        least = min(choice.costs[name].memory for name in UNPENALISED)
        raise MemoryBudgetError(
            f"without a penalty {problem.n} points need the eigenvalues of their matrix, {show_bytes(least)}, but the "
            f"memory budget is {show_bytes(problem.memory)}; give a positive alpha, more memory or fewer points"
        )
    reason = "without a penalty the matrix may be singular, which only its eigenvalues or explicit features tell"
    return choice.plan(choice.quickest(able), reason)


def make_solver(name: str, random_state: Any = None, n_centers: int | None = None, **more: Any) -> Any:
    """Return the solver of a name, with its defaults and those of the options that it has."""
    if name not in CLASSES:
        raise ValueError(f"there is no solver {name!r}; there are {', '.join(CLASSES)}")
    given = {"random_state": random_state, "n_centers": n_centers, **more}
    known = inspect.signature(CLASSES[name]).parameters
    return CLASSES[name](**{option: value for option, value in given.items() if option in known})


class Comparison:
    """What every solver says a problem would take, and the choice among them.

    Parameters
    ----------
    sizes : Sizes
        The problem in numbers.
    n_centers : int, optional
        Centres of a Nyström model, if their number is fixed.
    where : str
        What reasons end in.
    """

    def __init__(self, sizes: Sizes, n_centers: int | None = None, where: str = "") -> None:
        self.sizes, self.where = sizes, where
        self._solvers = {name: make_solver(name, n_centers=n_centers) for name in SOLVERS}
        self.costs: dict[str, Cost] = {name: solver.cost(sizes) for name, solver in self._solvers.items()}

    def fits(self, name: str) -> bool:
        """Whether a solver can take the problem within the budget."""
        return self._solvers[name].takes(self.sizes) and self.costs[name].memory <= self.sizes.budget

    def plan(self, name: str, reason: str) -> Plan:
        """Return the plan of a solver."""
        cost = self.costs[name]
        steps = self._solvers[name].steps(self.sizes)
        return Plan(name, reason + self.where, int(cost.memory), cost.flops, cost.seconds, steps=steps)

    def quickest(self, able: list[str]) -> str:
        """Return the solver of about the least time expected.

        Estimates that are close say little: fewer features than points make a model that predicts sooner, and a factor
        has no iterations that might be more than expected.  What is there soon may as well have none.
        """
        soon = [name for name in able if name not in ITERATIVE and self.costs[name].seconds <= self.sizes.speed.soon]
        best = min(soon or able, key=lambda name: self.costs[name].seconds)
        close = [name for name in able if self.costs[name].seconds <= CLOSE * self.costs[best].seconds]
        first = "primal" if self.sizes.features < self.sizes.n else "cholesky"
        return first if first in close else best

    def best(self) -> Plan:
        """Return the plan of about the least time among exact solvers, or Nyström centres where that is too long."""
        n, limit = self.sizes.n, show_bytes(self.sizes.budget)
        able = [name for name in EXACT if self.fits(name)]
        least = min((self.costs[name].seconds for name in able), default=None)
        if least is not None and least <= self.sizes.speed.patience:
            name = self.quickest(able)
            return self.plan(name, self._solvers[name].explain(self.sizes))
        if least is not None:
            why = f"all that is exact would take {show_estimate(least)} for {n} points"
        else:
            why = f"the {n} × {n} matrix does not fit into the budget of {limit}"
            if self.sizes.loo:
                why += ", and leave-one-out residuals of fewer centres are exact too"
        if not self.fits("nystroem"):
            least = min(self.costs[name].memory for name in ("cg", "nystroem"))
            raise MemoryBudgetError(
                f"a fit of {n} points needs at least {show_bytes(least)}, but the memory budget is {limit}; give more "
                "memory or fewer points"
            )
        return self.plan("nystroem", f"{why}, so {self._solvers['nystroem'].explain(self.sizes)}")

    def force(self, name: str, kernel: Kernel) -> Plan:
        """Return the plan of a solver that was asked for, or raise with what would do instead."""
        budget, cost = self.sizes.budget, self.costs[name]
        if name == "primal" and not self._solvers[name].takes(self.sizes):
            raise ValueError(
                f"solver='primal' needs a kernel with finitely many explicit features, and data with columns; got "
                f"{kernel!r}; use solver='auto'"
            )
        if cost.memory > budget:
            others = [other for other in SOLVERS if other != name and self.fits(other)]
            remedy = f"solver={others[0]!r} would fit with {show_bytes(self.costs[others[0]].memory)}" if others else ""
            if name in ("spectral", "cholesky"):
                points = int(self.sizes.n * math.sqrt(budget / cost.memory))
                remedy += f"{', or ' if remedy else ''}about {points} points would"
            raise MemoryBudgetError(
                f"solver={name!r} for {self.sizes.n} points needs {show_bytes(cost.memory)}{self.where}, but the "
                f"memory budget is {show_bytes(budget)}; {remedy or 'give more memory or fewer points'}"
            )
        return self.plan(name, "it was asked for")


def count_columns(kernel: Kernel, X: Any) -> int | None:
    """Return the number of columns of data that explicit features can be computed of, and otherwise None."""
    if len(getattr(X, "shape", ())) != 2 or sparse.issparse(X) or not math.isfinite(_features(kernel, X.shape[1])):
        return None
    try:
        kernel.feature_map(X.shape[1]).transform(host_array(take(X, 0, 1)))
    except (ValueError, TypeError):  # columns that only a frame knows by name, for example
        return None
    return int(X.shape[1])


def _level(problem: Problem) -> float:
    """Return the mean k(x, x), of some points where they are on a device."""
    if problem.place.on_host:
        return float(problem.diagonal.mean())
    return float(np.mean(problem.kernel.diag(host_array(take(problem.X, 0, min(LOOKED_AT, problem.n))))))


def _is_native(kernel: Kernel) -> bool:
    """Whether the kernel has a program, so that the native core or a device computes its values."""
    try:
        lower(kernel.traced())
    except UnsupportedError:
        return False
    return True


def _features(kernel: Kernel, d: int | None) -> float:
    if d is None:
        return math.inf
    try:
        return float(kernel.feature_dim(d))
    except (ValueError, TypeError, IndexError, OverflowError):  # of other objects than rows of numbers, or too many
        return math.inf


def _check_name(solver: str) -> None:
    if solver not in ("auto", *SOLVERS):
        raise ValueError(f"solver must be 'auto' or one of {', '.join(map(repr, SOLVERS))}; got {solver!r}")
