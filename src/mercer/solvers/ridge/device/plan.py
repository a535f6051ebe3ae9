"""Which solver on a device, and why."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mercer.arrays.budget import MemoryBudgetError, show_bytes
from mercer.formula.program import UnsupportedError, lower
from mercer.kernels import Kernel

from ...base import Problem
from ..falkon import DEFAULT

DOUBLE, SINGLE = 3 * 8, 3 * 4  # bytes for each pair of points

SMALL = 6000  # points up to which a factor is there before an iteration has warmed up
TINY = 1e-5  # a penalty below this part of k(x, x) takes more iterations than a factor costs
LARGEST = 3_000_000  # points up to which products with all pairs are affordable
EIGEN = 20_000  # points up to which all eigenvectors are
PRIMAL = 5000  # features up to which their normal equations are cheap
# Operations a second in float64, and kernel values a second, as seen on an H200; elsewhere the ratios are what matters.
FLOPS, ENTRIES = 3e13, 2e12
ITERATIONS = 60


def device_choice(problem: Problem, alpha: np.ndarray, solver: str, loo: bool, features: float) -> tuple[str, str]:
    """Return the name of a solver and the reason for it."""
    n, budget, where = problem.n, problem.memory, str(problem.device)
    if solver != "auto":
        return solver, f"it was asked for, on {where}"
    if n > features and features <= PRIMAL:
        return (
            "primal",
            f"the kernel has {int(features)} explicit features, fewer than the {n} points; it runs on the host",
        )
    if n <= EIGEN and ((alpha == 0).any() or problem.kernel.theorem() is None):
        return "spectral", f"the matrix may not be positive definite, which eigenvalues tell; decomposed on {where}"
    fits = DOUBLE * n * n <= budget
    if fits and (loo or n <= SMALL or not _fused(problem.kernel)):
        return "cholesky", f"the {n} × {n} matrix in float64 fits into {show_bytes(budget)} on {where}"
    level = float(np.asarray(problem.kernel.diag(_some(problem.X))).mean())
    hard = float((alpha.min() * problem.noise).min()) < TINY * level
    if fits and hard:
        return (
            "cholesky",
            f"so small a penalty takes many iterations, and the matrix fits into {show_bytes(budget)} on {where}",
        )
    if n <= LARGEST and not loo and cg_memory(n, len(alpha), budget) <= budget:
        return "cg", f"fused products with the {n} × {n} matrix on {where} store none of it"
    return "nystroem", f"{DEFAULT} centres stand for all {n} points on {where}"


def device_costs(solver: str, problem: Problem, outputs: int, centers: int | None) -> tuple[float, float, float]:
    """Return bytes, operations and seconds expected on the device; raise where the bytes are not there."""
    n, q, budget = float(problem.n), outputs, problem.memory
    d = problem.X.shape[1] if len(getattr(problem.X, "shape", ())) == 2 else 20
    entry = 2.0 * d + 20.0
    if solver in ("spectral", "primal"):
        memory, flops = 24.0 * n * n if solver == "spectral" else 0.0, 9.0 * n**3
        seconds = flops / (FLOPS / 4)
    elif solver == "cholesky":
        memory = DOUBLE * n * n if DOUBLE * n * n <= budget else SINGLE * n * n
        flops = n**3 / 3 + entry * n * n
        seconds = flops / FLOPS
    elif solver == "cg":
        memory, flops = cg_memory(problem.n, q, budget), ITERATIONS * n * n * (entry + 2 * q)
        seconds = ITERATIONS * n * n / ENTRIES
    else:
        m = float(centers or DEFAULT)
        memory, flops = 24.0 * m * m + 8.0 * n * (q + 3), 2 * ITERATIONS * n * m * (entry + 2 * q) + m**3
        seconds = 2 * ITERATIONS * n * m / ENTRIES + m**3 / FLOPS
    if memory > budget:
        raise MemoryBudgetError(
            f"solver={solver!r} for {problem.n} points needs {show_bytes(memory)} on {problem.device}, but the budget "
            f"there is {show_bytes(budget)}; use solver='auto', give more memory or fewer points"
        )
    return memory, flops, seconds


def cg_memory(n: int, outputs: int, budget: int) -> float:
    """Return the bytes of conjugate gradients: points in several forms, columns, and a factor as the budget allows."""
    rank = min(5 * math.sqrt(n), n / 4, budget / 2 / (8 * n))
    return 8.0 * n * max(rank, 10) + 8.0 * n * (8 * outputs + 4)


def _fused(kernel: Kernel) -> bool:
    try:
        lower(kernel.traced())
    except UnsupportedError:
        return False
    return True


def _some(X: Any) -> Any:
    from mercer.arrays.tensors import host_array

    return host_array(X[:100])
