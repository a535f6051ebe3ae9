"""Which solver, and why: decided from sizes alone, before anything is allocated."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from scipy import sparse

from mercer.arrays.budget import MemoryBudgetError, parse_memory, show_bytes
from mercer.arrays.threads import default_threads
from mercer.formula.data import take
from mercer.formula.program import UnsupportedError, lower
from mercer.kernels import Kernel

from .base import Problem, Solver

CLASSES = {
    "primal": "Primal", "spectral": "Spectral", "cholesky": "Cholesky", "cg": "ConjugateGradient",
    "nystroem": "Nystroem",
}  # fmt: skip
SOLVERS = tuple(CLASSES)
EXACT = ("primal", "spectral", "cholesky", "cg")  # Nyström centres change the problem
UNPENALISED = ("primal", "spectral")  # that take α = 0 as the limit
SPECTRAL_LIMIT = 5000  # points up to which all eigenvectors are affordable, whatever else there is
EASY = 0.05  # of the mean k(x, x): a penalty from which on conjugate gradients take few iterations
CLOSE = 1.5  # times the least time expected: within it, other reasons decide
PATIENCE = 3600.0  # seconds after which an approximation is the better answer
CENTERS = 4096  # that a Nyström model grows to at most, if their number was not given
CUBES = 20  # times m³: choosing m centres, factors of their matrix and of the sums
RANK = 1000  # of the preconditioner
FEW, MANY = 60, 200  # iterations of conjugate gradients, where the penalty is large and where nothing is known of it
PASSES = 3  # over the features of all rows: sums, errors, coefficients
SLOW = 50  # times the operations of a native entry: one that Python computes
TILE = 2**26  # bytes in work at a time, at most
# Operations a second and core, by what is done; benchmarks/plan.py prints what they give beside what is measured.
SINGLE = 8e10  # products of kernel values in float32
FACTOR = 5.5e10  # factors in float32, refined
DOUBLE = 3e10  # factors and products in float64
EIGEN = 5e10  # all eigenvectors
ENTRIES = 2e10  # kernel values and features
SMALL = 1500  # points up to which factors are in float64
STREAM = 8e8  # numbers read from memory
OVERHEAD = 5e-3  # seconds of a fit of nothing
FEATURE = 200.0  # operations of one feature of one row, as ENTRIES counts them


@dataclass(frozen=True)
class Plan:
    """A solver with the reason for it and what it is expected to take.

    Parameters
    ----------
    solver : {"primal", "spectral", "cholesky", "cg", "nystroem"}
        The algorithm.
    reason : str
        Why this one, in one sentence.
    memory : int
        Bytes expected at the peak, beside the data.
    flops : float
        Floating-point operations expected.
    seconds : float
        Time expected on this machine, right to a factor of a few.
    """

    solver: str
    reason: str
    memory: int
    flops: float
    seconds: float

    def __str__(self) -> str:
        return (
            f"{self.solver}, because {self.reason} (expected: {show_bytes(self.memory)}, "
            f"{self.flops:.1e} operations, {_show_seconds(self.seconds)})"
        )


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
    >>> [plan(Gaussian(), n, 8, memory="4GB").solver for n in (1_000, 20_000, 50_000, 5_000_000)]
    ['cholesky', 'cholesky', 'cg', 'nystroem']
    """
    for name, count in (("n", n), ("d", d), ("outputs", outputs), ("alphas", alphas), ("n_centers", n_centers)):
        if count is not None or name not in ("d", "n_centers"):
            _check_count(name, count)
    if solver not in ("auto", *SOLVERS):
        raise ValueError(f"solver must be 'auto' or one of {', '.join(map(repr, SOLVERS))}; got {solver!r}")
    estimates = _Estimates(
        n, d or 20, _features(kernel, d), outputs * alphas, alphas, parse_memory(memory), n_centers, loo,
        _is_native(kernel),
    )  # fmt: skip
    if solver != "auto":
        return _forced(solver, estimates, kernel)
    return _chosen(estimates, EXACT)


def plan_problem(
    problem: Problem, alpha: np.ndarray, solver: str = "auto", *, loo: bool = False, n_centers: int | None = None
) -> Plan:
    """Choose the solver of a problem that is there, for one α per output.

    Beside its size this looks at the penalty.  Without one, a matrix may have no Cholesky factor, and only eigenvalues
    or explicit features find the limit; with a large one, conjugate gradients take few iterations.
    """
    if problem.device is not None:
        return _device_plan(problem, alpha, solver, loo, n_centers)
    kernel, columns = problem.kernel, count_columns(problem.kernel, problem.X)
    if solver not in ("auto", *SOLVERS):
        raise ValueError(f"solver must be 'auto' or one of {', '.join(map(repr, SOLVERS))}; got {solver!r}")
    shape: tuple[int, ...] = getattr(problem.X, "shape", ())
    width = int(shape[1]) if len(shape) == 2 else 20
    estimates = _Estimates(
        problem.n, width, _features(kernel, columns), len(alpha), len(np.unique(alpha)), problem.memory,
        n_centers, loo, _is_native(kernel), easy=_is_easy(problem, alpha),
    )  # fmt: skip
    if solver != "auto":
        return _forced(solver, estimates, kernel)
    if (alpha > 0).all():
        return _chosen(estimates, EXACT)
    able = [name for name in UNPENALISED if estimates.fits(name)]
    if not able:
        least = min(estimates.memory(name) for name in UNPENALISED)
        raise MemoryBudgetError(
            f"without a penalty {problem.n} points need the eigenvalues of their matrix, {show_bytes(least)}, but the "
            f"memory budget is {show_bytes(problem.memory)}; give a positive alpha, more memory or fewer points"
        )
    reason = "without a penalty the matrix may be singular, which only its eigenvalues or explicit features tell"
    return estimates.plan(_quickest(estimates, able), reason)


def _device_plan(problem: Problem, alpha: np.ndarray, solver: str, loo: bool, n_centers: int | None) -> Plan:
    from .ridge.device.plan import device_choice, device_costs

    if solver not in ("auto", *SOLVERS):
        raise ValueError(f"solver must be 'auto' or one of {', '.join(map(repr, SOLVERS))}; got {solver!r}")
    shape: tuple[int, ...] = getattr(problem.X, "shape", ())
    features = _features(problem.kernel, int(shape[1]) if len(shape) == 2 else None)
    name, reason = device_choice(problem, alpha, solver, loo, features)
    memory, flops, seconds = device_costs(name, problem, len(alpha), n_centers)
    return Plan(name, reason, int(memory), flops, seconds)


def _is_easy(problem: Problem, alpha: np.ndarray) -> bool:
    """Whether α is a good part of k(x, x) everywhere."""
    return float((alpha.min() * problem.noise).min()) >= EASY * float(problem.kernel.diag(problem.X).mean())


def _is_native(kernel: Kernel) -> bool:
    """Whether the native core computes the kernel's values."""
    try:
        lower(kernel.traced())
    except UnsupportedError:
        return False
    return True


def make_solver(name: str, random_state: Any = None, n_centers: int | None = None) -> Solver:
    """Return the solver of a name, with its defaults; its module is loaded now and not before."""
    solver: type[Any] = getattr(import_module(f"mercer.solvers.ridge.{name}"), CLASSES[name])
    if name == "nystroem":
        return solver(n_centers=n_centers, random_state=random_state)
    return solver(random_state=random_state) if name == "cg" else solver()


@dataclass(frozen=True)
class _Estimates:
    """Memory and work of every solver."""

    n: int
    d: int
    features: float
    columns: int  # solutions: outputs times penalties, unless each output has a penalty of its own
    alphas: int
    budget: int
    given: int | None  # centres
    loo: bool
    native: bool
    easy: bool = False

    def memory(self, solver: str) -> float:
        n, q = self.n, self.columns
        vectors, tile = 8.0 * n * (2 * q + 2), min(TILE, self.budget / 4)
        if solver == "primal":
            D = self.features
            return 32.0 * D * D + min(24.0 * n * D, tile) + 24.0 * D + 48.0 * n * q
        if solver == "spectral":
            return 24.0 * n * n + vectors  # vectors in place of the matrix, and LAPACK's workspace of two more
        if solver == "cholesky":
            return 4.0 * n * n + min(8.0 * n * n, tile) + 4 * vectors
        if solver == "cg":
            return 8.0 * n * self.rank + 3 * vectors + 16.0 * n
        return 24.0 * self.centers**2 + min(8.0 * n * self.centers, tile) + vectors

    @property
    def rank(self) -> int:
        """What the budget leaves for a preconditioner."""
        return int(max(10, min(RANK, self.n // 2, self.budget / (32.0 * self.n))))

    @property
    def centers(self) -> int:
        if self.given is not None:
            return min(self.given, self.n)
        return int(max(1, min(CENTERS, self.n, math.sqrt(self.budget / 96.0))))

    @property
    def entry(self) -> float:
        """Operations of one kernel value."""
        return (2.0 * self.d + 20.0) * (1 if self.native else SLOW)

    def work(self, solver: str) -> list[tuple[float, float]]:
        """Return the operations of a solver, each part with its rate."""
        n, q, p = float(self.n), self.columns, self.alphas
        if solver == "primal":
            D = self.features
            solving = n * D * (D + 2 * q * (PASSES - 1) + (D * p if self.loo else 0))
            return [(PASSES * FEATURE * n * D, ENTRIES), (solving, DOUBLE), (9 * D**3 + q * 4 * D * D, EIGEN)]
        if solver == "spectral":
            return [(self.entry * n * n / 2, ENTRIES), (9 * n**3 + q * (4 + 2 * self.loo) * n * n, EIGEN)]
        if solver == "cholesky":
            double = self.loo or not self.native or n <= SMALL
            cubes = p * n**3 / 3 * (3 if self.loo else 1)
            return [(self.entry * n * n / 2, ENTRIES), (cubes + 4 * n * n * q, DOUBLE if double else FACTOR)]
        if solver == "cg":
            steps = FEW if self.easy else MANY
            kept = not self.native and 8 * n * n <= self.budget / 2
            entries = self.entry * n * n * (0.5 if kept else steps)
            rest = n * self.rank**2 + steps * 2 * n * n * q
            parts = [(entries, ENTRIES if kept or not self.native else SINGLE), (rest, DOUBLE)]
            return [*parts, (steps * n * n, STREAM)] if kept else parts
        # A number that was not given doubles until it is enough, which costs a third more than the last time alone.
        growing, m = 1.0 if self.given is not None else 4 / 3, float(self.centers)
        return [(growing * n * m * self.entry, ENTRIES), (growing * (n * m * m + CUBES * m**3), DOUBLE)]

    def flops(self, solver: str) -> float:
        return sum(amount for amount, _ in self.work(solver))

    def seconds(self, solver: str) -> float:
        return OVERHEAD + sum(amount / rate for amount, rate in self.work(solver)) / default_threads()

    def plan(self, solver: str, reason: str) -> Plan:
        return Plan(solver, reason, int(self.memory(solver)), self.flops(solver), self.seconds(solver))

    def fits(self, solver: str) -> bool:
        if solver == "primal" and not math.isfinite(self.features):
            return False
        return not (solver == "cg" and self.loo) and self.memory(solver) <= self.budget

    def reason(self, solver: str) -> str:
        """Why this one, if it is the quickest of all that fit."""
        n, limit = self.n, show_bytes(self.budget)
        if solver == "primal":
            few = "fewer than" if self.features < n else "not many more than"
            return f"the kernel has {int(self.features)} explicit features, {few} the {n} points"
        if solver == "spectral":
            wish = f"{self.alphas} penalties" if self.alphas > 1 else "leave-one-out residuals"
            return f"{wish} of {n} points come from one eigendecomposition"
        if solver == "cholesky":
            return f"the {n} × {n} matrix in float32 fits into the budget of {limit}, and nothing is quicker"
        if self.easy:
            return "with so large a penalty conjugate gradients take few iterations, and no factor is needed"
        size = "would take long to factorise" if self.fits("cholesky") else f"does not fit into the budget of {limit}"
        return f"the {n} × {n} matrix {size}, so only products with it are used"


def _quickest(estimates: _Estimates, able: list[str]) -> str:
    """Return the solver of about the least time expected.

    Estimates that are close say little: fewer features than points make a model that predicts sooner, and a factor has
    no iterations that might be more than expected.
    """
    best = min(able, key=estimates.seconds)
    close = [name for name in able if estimates.seconds(name) <= CLOSE * estimates.seconds(best)]
    first = "primal" if estimates.features < estimates.n else "cholesky"
    return first if first in close else best


def _chosen(estimates: _Estimates, names: tuple[str, ...]) -> Plan:
    """Return the plan of about the least time among the solvers that fit, or Nyström centres where that is too long."""
    n, limit = estimates.n, show_bytes(estimates.budget)
    able = [name for name in names if estimates.fits(name)]
    best = min(able, key=estimates.seconds, default=None)
    if best is not None and estimates.seconds(best) <= PATIENCE:
        best = _quickest(estimates, able)
        return estimates.plan(best, estimates.reason(best))
    if best is not None:
        why = f"all that is exact would take {_show_seconds(estimates.seconds(best))} for {n} points"
    elif estimates.loo:
        why = f"the {n} × {n} matrix does not fit into the budget of {limit}, and leave-one-out residuals of fewer "
        why += "centres are exact too"
    else:
        why = f"the {n} × {n} matrix does not fit into the budget of {limit}"
    if not estimates.fits("nystroem"):
        least = min(estimates.memory(name) for name in ("cg", "nystroem"))
        raise MemoryBudgetError(
            f"a fit of {n} points needs at least {show_bytes(least)}, but the memory budget is {limit}; give more "
            "memory or fewer points"
        )
    return estimates.plan("nystroem", f"{why}, so up to {estimates.centers} centres stand for all points")


def _forced(solver: str, estimates: _Estimates, kernel: Kernel) -> Plan:
    budget = estimates.budget
    if solver == "primal" and not math.isfinite(estimates.features):
        raise ValueError(
            f"solver='primal' needs a kernel with finitely many explicit features, and data with columns; got "
            f"{kernel!r}; use solver='auto'"
        )
    if estimates.memory(solver) > budget:
        others = [name for name in SOLVERS if name != solver and estimates.fits(name)]
        remedy = f"solver={others[0]!r} would fit with {show_bytes(estimates.memory(others[0]))}" if others else ""
        if solver in ("spectral", "cholesky"):
            bytes_per_pair = 24.0 if solver == "spectral" else 4.0
            remedy += f"{', or ' if remedy else ''}about {int(math.sqrt(budget / bytes_per_pair))} points would"
        raise MemoryBudgetError(
            f"solver={solver!r} for {estimates.n} points needs {show_bytes(estimates.memory(solver))}, but the memory "
            f"budget is {show_bytes(budget)}; {remedy or 'give more memory or fewer points'}"
        )
    return estimates.plan(solver, "it was asked for")


def count_columns(kernel: Kernel, X: Any) -> int | None:
    """Return the number of columns of data that explicit features can be computed of, and otherwise None."""
    if len(getattr(X, "shape", ())) != 2 or sparse.issparse(X) or not math.isfinite(_features(kernel, X.shape[1])):
        return None
    try:
        kernel.feature_map(X.shape[1]).transform(take(X, 0, 1))
    except (ValueError, TypeError):  # columns that only a frame knows by name, for example
        return None
    return int(X.shape[1])


def _features(kernel: Kernel, d: int | None) -> float:
    if d is None:
        return math.inf
    try:
        return float(kernel.feature_dim(d))
    except (ValueError, TypeError, IndexError, OverflowError):  # of other objects than rows of numbers, or too many
        return math.inf


def _check_count(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 1:
        raise ValueError(f"plan: {name} must be a whole number of at least 1, got {value!r}")


def _show_seconds(seconds: float) -> str:
    if seconds < 1:
        return "under a second"
    for unit, size in (("day", 86400.0), ("hour", 3600.0), ("minute", 60.0)):
        if seconds >= size:
            return f"about {seconds / size:.0f} {unit}{'s' * (round(seconds / size) != 1)}"
    return f"about {seconds:.0f} second{'s' * (round(seconds) != 1)}"
