"""Which solver of a problem for Newton's method, and why."""

from __future__ import annotations

import math

from mercer.arrays.budget import MemoryBudgetError, show_bytes
from mercer.arrays.threads import default_threads

from ..base import Problem
from ..costs import HOST
from ..plan import Plan
from ..products import pays_to_store, width
from .gram import RANK, limit_rank

SOLVERS = ("newton", "newton-cg", "nystroem")
CENTERS = 2000  # of Nyström features whose number was not given
DIRECT_LIMIT = 1500  # points times functions up to which factors are cheap
DIRECT_SECONDS = 1.0  # of factors on a GPU, up to which they are
# Operations a second on one H200: products count as kernel values are computed, at about 2e12 a second.
DEVICE_RATE = {"newton": 3e13, "newton-cg": 6e13, "nystroem": 2e13}
PASSES, FACTORS = 30, 12  # over rows that are elsewhere, and of Newton's equations of some of them
PER_CENTER, LEAST_BENT = 20, 10_000  # rows that these are summed over: for each centre, and at least
WORTH = 40  # pairs of features whose products take as long as two kernel values: a Hessian takes as long as a step
STEPS, PRODUCTS = 8, 150  # of Newton, and of conjugate gradients in all of them, typically
READ = 13.0  # operations in the time of reading an entry that is stored
SEVERAL = 40.0  # operations for an entry and each of several outputs, which take more steps together than one alone


def plan_newton(problem: Problem, solver: str = "auto", n_centers: int | None = None) -> Plan:
    """Choose how to take Newton steps.

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
    >>> plan_newton(problem).solver, plan_newton(problem, n_centers=500).solver
    ('newton-cg', 'nystroem')
    """
    if solver not in ("auto", *SOLVERS):
        raise ValueError(f"solver must be 'auto' or one of {', '.join(map(repr, SOLVERS))}; got {solver!r}")
    n, q = problem.n, problem.y.shape[1]
    centers = count_centers(problem, n_centers)
    entry = 2.0 * width(problem.X) + 20.0
    memory = {
        "newton": 4.0 * (q + 2) * n * n,
        "newton-cg": 12.0 * n * min(RANK, n) + 120.0 * n * q,
        "nystroem": _count_equations(centers, q) + 120.0 * n * q,
    }
    flops = {
        "newton": STEPS * q * (n**3 / 3 + 4.0 * n * n),
        "newton-cg": count_products(problem, PRODUCTS),
        "nystroem": n * centers * (centers + entry) + STEPS * n * float(centers) ** 2,
    }
    rates = {"newton": HOST.double, "newton-cg": HOST.single, "nystroem": HOST.double}
    speed, where, cheap = float(default_threads()), "", n * q <= DIRECT_LIMIT
    if not problem.place.on_host:
        where = f", on {problem.place}"
        memory["newton-cg"] = 16.0 * n * limit_rank(problem) + 120.0 * n * q
        if problem.place.kind == "cuda":
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
            f"a fit of {n} points needs at least {show_bytes(min(memory.values()))}, but the memory budget is "
            f"{show_bytes(problem.memory)}; give more memory or fewer points"
        )
    why = f"products with all pairs of {n} points would take long" if slow > HOST.patience else "more does not fit"
    return plan("nystroem", f"{why}, so {centers} centres stand for all points")


def plan_spread(problem: Problem, solver: str, n_centers: int | None, rows: int | None = None) -> Plan:
    """Return the plan of a fit in Nyström features to rows that stay elsewhere, with all that is known of each row.

    Parameters
    ----------
    problem : Problem
        Kernel, points and memory, which centres and Newton's equations have to fit into.
    solver : {"auto", "nystroem"}
        Both are the same.
    n_centers : int, optional
        Centres of Nyström features.
    rows : int, optional
        Of all fits together, if there are several to some of the points each.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> points = np.broadcast_to(0.0, (10**8, 8))
    >>> problem = Problem(Gaussian(), points, np.broadcast_to(0.0, (10**8, 1)), memory=10**9)
    >>> plan_spread(problem, "auto", 500).memory < 10**8
    True
    """
    if solver not in ("auto", "nystroem"):
        raise ValueError(f"solver must be 'auto' or 'nystroem' for rows in partitions; got {solver!r}")
    m, q = float(count_centers(problem, n_centers)), problem.y.shape[1]
    memory, entry = _count_equations(m, q), 2.0 * width(problem.X) + 20.0
    if memory > problem.memory:
        raise MemoryBudgetError(
            f"{m:.0f} centres for {q} functions need {show_bytes(memory)}, but the memory budget is "
            f"{show_bytes(problem.memory)}; use fewer centres, or give more memory"
        )
    n = problem.n if rows is None else rows
    bent = share_bent(int(m), n) * n  # each of these takes a triangle, and its products in pairs
    flops = PASSES * n * m * (entry + 2.0 * q) + FACTORS * q * (2.0 * bent * m**2 + m**3 / 3)
    why = f"{n_centers} centres were asked for" if n_centers is not None else f"{m:.0f} centres stand for all points"
    return Plan("nystroem", why, int(memory), flops, flops / (HOST.double * default_threads()))


def share_bent(centers: int, n: int) -> float:
    """Return the share of n rows that a Hessian in features of so many centres is summed over.

    Examples
    --------
    >>> share_bent(1000, 5000), share_bent(1000, 10**5), share_bent(500, 10**8)
    (1.0, 0.2, 0.08)
    """
    return min(1.0, max(PER_CENTER * centers, LEAST_BENT, WORTH * n / centers) / n)


def _count_equations(centers: float, q: int) -> float:
    """Return the bytes of Newton's equations in Nyström features, and of some rows of these."""
    return 40.0 * (centers * min(q, 2)) ** 2 + 8.0 * 1000 * centers


def count_products(problem: Problem, times: int) -> float:
    """Return the operations of products of the n × n matrix with a column for each output.

    Its entries are computed in each of them, or only once where they are stored.
    """
    pairs, entry, q = float(problem.n) ** 2, 2.0 * width(problem.X) + 20.0, problem.y.shape[1]
    columns = 2.0 if q == 1 else SEVERAL * q
    if pays_to_store(problem):
        return pairs * (entry + times * (READ + columns))
    return pairs * times * (entry + columns)


def count_centers(problem: Problem, n_centers: int | None) -> int:
    """Return how many Nyström centres there are to be: those asked for, or as many as the budget allows up to 2,000."""
    wanted = CENTERS if n_centers is None else n_centers
    affordable = int(math.sqrt(problem.memory / 200)) if n_centers is None else problem.n
    return max(1, min(wanted, problem.n, affordable))
