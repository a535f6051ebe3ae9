"""Which solver, and why: decided from sizes alone, before anything is allocated."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
from scipy import sparse

from mercer.gram.budget import MemoryBudgetError, parse_memory, show_bytes
from mercer.gram.program import UnsupportedError, lower
from mercer.kernels import Kernel, Precomputed
from mercer.kernels.data import take
from mercer.kernels.processors import default_threads

from .base import Problem, Solver

CLASSES = {
    "primal": "Primal", "spectral": "Spectral", "cholesky": "Cholesky", "cg": "ConjugateGradient",
    "nystroem": "Nystroem",
}  # fmt: skip
SOLVERS = tuple(CLASSES)
PRIMAL_LIMIT = 5000  # features up to which their normal equations are cheap
SPECTRAL_LIMIT = 5000  # points up to which all eigenvectors are
MANY = 8000  # points from which iterations may beat a factorisation
EASY = 0.05  # of the mean k(x, x): at 0.1 cg was measured to take half of the time of cholesky, at 0.01 more
PATIENCE = 3600.0  # seconds after which an approximation is the better answer
CENTERS = 4096  # that a Nyström model grows to at most, if their number was not given
CUBES = 20  # times m³: choosing m centres, factors of their matrix and of the sums
RANK = 1000  # of the preconditioner
ITERATIONS = 50  # of conjugate gradients with such a preconditioner, typically
TILE = 2**26  # bytes in work at a time, at most
# Operations a second and core, as the growth table of benchmarks/ridge.py showed them on two cores with AVX-512.
RATE = {"primal": 4e9, "spectral": 3.5e10, "cholesky": 8e10, "cg": 8e10, "nystroem": 3.5e10}


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
    """Choose the solver of a ridge problem.

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
    >>> [plan(Gaussian(), n, 8, loo=n < 5000, memory="4GB").solver for n in (1_000, 20_000, 50_000, 5_000_000)]
    ['spectral', 'cholesky', 'cg', 'nystroem']
    """
    for name, count in (("n", n), ("d", d), ("outputs", outputs), ("alphas", alphas), ("n_centers", n_centers)):
        if count is not None or name not in ("d", "n_centers"):
            _check_count(name, count)
    if solver not in ("auto", *SOLVERS):
        raise ValueError(f"solver must be 'auto' or one of {', '.join(map(repr, SOLVERS))}; got {solver!r}")
    budget = parse_memory(memory)
    estimates = _Estimates(n, d or 20, _features(kernel, d), outputs, alphas, budget, n_centers)
    if solver != "auto":
        return _forced(solver, estimates, budget, kernel)
    return _chosen(estimates, budget, loo)


def plan_problem(
    problem: Problem, alpha: np.ndarray, solver: str = "auto", *, loo: bool = False, n_centers: int | None = None
) -> Plan:
    """Choose the solver of a problem that is there, for one α per output.

    Beside its size this looks at what may go wrong: with α = 0, or a kernel not proved positive semi-definite, a matrix
    may have no Cholesky factor, and up to 5,000 points its eigenvalues are computed instead.  And many points with a
    large penalty take conjugate gradients so few iterations that they are done before a factor would be.
    """
    X, kernel, n = problem.X, problem.kernel, problem.n
    if problem.device is not None:
        return _device_plan(problem, alpha, solver, loo, n_centers)
    columns = _columns(kernel, X)
    counts: dict[str, Any] = {"outputs": len(alpha), "alphas": len(np.unique(alpha)), "memory": problem.memory}
    counts["n_centers"] = n_centers
    chosen = plan(kernel, n, columns, loo=loo, solver=solver, **counts)
    if (alpha == 0).any():
        reason = "without a penalty the matrix may be singular, which only its eigenvalues tell"
    elif chosen.solver == "cholesky" and kernel.theorem() is None and not isinstance(kernel, Precomputed):
        reason = "the kernel is not proved positive semi-definite, and eigenvalues may have any sign"
    elif solver == "auto" and not loo and chosen.solver == "cholesky" and n >= MANY and _is_easy(problem, alpha):
        reason = "with so large a penalty conjugate gradients take few iterations, and no factor is needed"
        return replace(plan(kernel, n, columns, loo=loo, solver="cg", **counts), reason=reason)
    else:
        return chosen
    if solver != "auto" or n > SPECTRAL_LIMIT or chosen.solver == "spectral":
        return chosen
    return replace(plan(kernel, n, columns, loo=loo, solver="spectral", **counts), reason=reason)


def _device_plan(problem: Problem, alpha: np.ndarray, solver: str, loo: bool, n_centers: int | None) -> Plan:
    from .device.plan import device_choice, device_costs

    if solver not in ("auto", *SOLVERS):
        raise ValueError(f"solver must be 'auto' or one of {', '.join(map(repr, SOLVERS))}; got {solver!r}")
    shape: tuple[int, ...] = getattr(problem.X, "shape", ())
    features = _features(problem.kernel, int(shape[1]) if len(shape) == 2 else None)
    name, reason = device_choice(problem, alpha, solver, loo, features)
    memory, flops, seconds = device_costs(name, problem, len(alpha), n_centers)
    return Plan(name, reason, int(memory), flops, seconds)


def _is_easy(problem: Problem, alpha: np.ndarray) -> bool:
    """Whether α is a good part of k(x, x) everywhere, for a kernel whose products the native core computes."""
    try:
        lower(problem.kernel.traced())
    except UnsupportedError:
        return False
    return float((alpha.min() * problem.noise).min()) >= EASY * float(problem.kernel.diag(problem.X).mean())


def make_solver(name: str, random_state: Any = None, n_centers: int | None = None) -> Solver:
    """Return the solver of a name, with its defaults; its module is loaded now and not before."""
    solver: type[Any] = getattr(import_module(f"mercer.solvers.{name}"), CLASSES[name])
    if name == "nystroem":
        return solver(n_centers=n_centers, random_state=random_state)
    return solver(random_state=random_state) if name == "cg" else solver()


@dataclass(frozen=True)
class _Estimates:
    """Memory and work of every solver."""

    n: int
    d: int
    features: float
    outputs: int
    alphas: int
    budget: int
    given: int | None  # centres

    def memory(self, solver: str) -> float:
        n, q = self.n, self.outputs
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

    def flops(self, solver: str) -> float:
        n, q = float(self.n), self.outputs
        entry = 2.0 * self.d + 20.0
        if solver == "primal":
            D = self.features
            return n * D * (D + 2 * q) + self.alphas * D**3 / 3
        if solver == "spectral":
            return entry * n * n / 2 + 9 * n**3 + self.alphas * q * 4 * n * n
        if solver == "cholesky":
            return entry * n * n / 2 + self.alphas * n**3 / 3 + 4 * n * n * q
        if solver == "cg":
            return n * self.rank * (self.rank + entry) + ITERATIONS * n * n * (entry + 2 * q * self.alphas)
        # A number that was not given doubles until it is enough, which costs a third more than the last time alone.
        growing = 1.0 if self.given is not None else 4 / 3
        return growing * (n * self.centers * (self.centers + entry) + CUBES * self.centers**3)

    def seconds(self, solver: str) -> float:
        return self.flops(solver) / (RATE[solver] * default_threads())

    def plan(self, solver: str, reason: str) -> Plan:
        return Plan(solver, reason, int(self.memory(solver)), self.flops(solver), self.seconds(solver))

    def fits(self, solver: str) -> bool:
        if solver == "primal" and not math.isfinite(self.features):
            return False
        return self.memory(solver) <= self.budget


def _chosen(estimates: _Estimates, budget: int, loo: bool) -> Plan:
    n, D, limit = estimates.n, estimates.features, show_bytes(budget)
    if n > D and D <= PRIMAL_LIMIT and estimates.fits("primal"):
        return estimates.plan("primal", f"the kernel has {int(D)} explicit features, fewer than the {n} points")
    many = estimates.alphas > 1
    if (many or loo) and n <= SPECTRAL_LIMIT and estimates.fits("spectral"):
        wish = f"{estimates.alphas} penalties" if many else "leave-one-out residuals"
        return estimates.plan("spectral", f"{wish} of {n} points come from one eigendecomposition")
    fits = estimates.fits("cholesky")
    if fits and not estimates.seconds("cholesky") > max(PATIENCE, estimates.seconds("cg")):
        return estimates.plan("cholesky", f"the {n} × {n} matrix in float32 fits into the budget of {limit}")
    size = "would take long to factorise" if fits else f"does not fit into the budget of {limit}"
    if loo:
        why = f"the {n} × {n} matrix {size}, and leave-one-out residuals of fewer centres are exact too"
    elif estimates.seconds("cg") > PATIENCE:
        why = f"products with all pairs of {n} points would take {_show_seconds(estimates.seconds('cg'))}"
    elif estimates.fits("cg"):
        return estimates.plan("cg", f"the {n} × {n} matrix {size}, so only products with it are used")
    else:
        why = f"the {n} × {n} matrix {size}"
    if not estimates.fits("nystroem"):
        least = min(estimates.memory(name) for name in ("cg", "nystroem"))
        raise MemoryBudgetError(
            f"a fit of {n} points needs at least {show_bytes(least)}, but the memory budget is {limit}; give more "
            "memory or fewer points"
        )
    return estimates.plan("nystroem", f"{why}, so up to {estimates.centers} centres stand for all points")


def _forced(solver: str, estimates: _Estimates, budget: int, kernel: Kernel) -> Plan:
    if solver == "primal" and not math.isfinite(estimates.features):
        raise ValueError(
            f"solver='primal' needs a kernel with finitely many explicit features, and data with columns; got "
            f"{kernel!r}; use solver='auto'"
        )
    if not estimates.fits(solver):
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


def _columns(kernel: Kernel, X: Any) -> int | None:
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
