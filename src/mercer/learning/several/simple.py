"""Weights of several kernels that make the objective of support vector machines least: SimpleMKL and its ℓₚ relatives.

J(w) = max over β of tᵀβ − ½βᵀK_wβ, K_w = ΣwₖKₖ, is the least objective of a machine with these weights, or the sum of
those of several machines.  It is convex, and with Sₖ = βᵀKₖβ at the solution ∂J/∂wₖ = −½Sₖ.  Sought is its minimum over
w ≥ 0, ‖w‖ₚ ≤ 1.  Any β gives a bound for it from below: by Hölder's inequality, with 1/p + 1/q = 1,

    min J ≥ tᵀβ − ½‖S‖_q,   so that the gap is that of the machines plus ½(‖S‖_q − wᵀS).

p = 1, where the bound has the largest Sₖ, makes most weights exactly 0 (Rakotomamonjy and others, 2008).  With F the
coefficients inside of their boxes, β changes with w only there, and

    ∂²J/∂wₖ∂wₗ = (Kₖβ)_Fᵀ (K_FF⁻¹ − ηηᵀ/1ᵀη) (Kₗβ)_F,   η = K_FF⁻¹1,

so that steps are Newton's, each the minimum of a quadratic over the simplex (Chapelle and Rakotomamonjy, 2008), which
is the problem of a small machine itself.  For p > 1 the best weights for given parts f = Σfₖ, ‖fₖ‖² = wₖ²Sₖ, are known:
wₖ ∝ ‖fₖ‖^(2/(p+1)) (Kloft and others, 2011), and no weight vanishes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from mercer.solvers.machines.dual import DualProblem, Part
from mercer.solvers.machines.smo import SMO

from .dense import combine, dense_solution, multiply

TOL = 1e-3  # of the relative gap
FINER = 0.1  # tolerance of machines, in units of that of weights, and again where their differences are too small
FINEST = 1e-5  # the least, in the same units
ROUNDS = 100  # steps at most
HALVINGS = 12  # of a step that makes J larger
DECREASE = 1e-4  # share of the decrease that the slope promises which a step must bring
JITTER = 1e-10  # times the mean diagonal, for kernels of low rank


@dataclass(frozen=True)
class MachineWeights:
    """Weights of kernels, with the evidence that they make the objective of machines least.

    Parameters
    ----------
    weights : array of shape (m,)
        w ≥ 0 with ‖w‖ₚ = 1.
    objective : float
        J(w), the least objective of all machines together.
    gap : float
        How far J(w) may be from its minimum, relative to J(w).
    converged : bool
        Whether the gap is as small as was asked.
    n_iter : int
        Steps.
    path : tuple of floats
        J at every step.
    """

    weights: np.ndarray
    objective: float
    gap: float
    converged: bool
    n_iter: int
    path: tuple[float, ...]


def machine_weights(
    stack: np.ndarray, parts: Sequence[Part], *, p: float = 1.0, tol: float = TOL, max_iter: int = ROUNDS
) -> MachineWeights:
    """Return the weights of kernels with the least objective of machines.

    Parameters
    ----------
    stack : array of shape (m, n, n)
        The kernel matrices, in comparable units, C-contiguous.
    parts : sequence of (index, DualProblem)
        The machines, each on some of the n points, with one group of variables; see
        :class:`mercer.solvers.machines.problems.MachineProblems`.
    p : float, default=1.0
        The norm that bounds the weights: 1 for few of them, 2 for all, infinity for weights of 1.
    tol : float
        The relative gap to stop at.
    max_iter : int
        Steps at most.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.learning.several.simple import machine_weights
    >>> from mercer.solvers.machines.dual import DualProblem
    >>> y, z = np.array([-1.0, -1.0, 1.0, 1.0]), np.array([1.0, -1.0, 1.0, -1.0])
    >>> problem = DualProblem(y, np.minimum(y, 0.0), np.maximum(y, 0.0), np.zeros(4))
    >>> stack = np.array([np.outer(y, y), np.outer(z, z)])
    >>> machine_weights(stack, [(np.arange(4), problem)]).weights.round(3)
    array([1., 0.])
    >>> machine_weights(stack, [(np.arange(4), problem)], p=2.0).weights.round(3)
    array([1., 0.])
    """
    machines, m = Machines(stack, parts, FINER * tol), len(stack)
    w = np.full(m, m ** (-1.0 / p))
    here = machines.solve(w)
    path = [here.value]
    for step in range(max_iter + 1):
        gap = here.gap(w, p)
        if gap <= tol or step == max_iter or m == 1 or np.isinf(p):
            break
        found = _step_newton(machines, w, here) if p == 1 else _step_closed(machines, w, here, p)
        if found is None:  # differences of J are below what machines are solved to
            if machines.tol <= FINEST * tol:
                break
            machines.tol *= FINER
            here = machines.solve(w)
            continue
        w, here = found
        path.append(here.value)
    return MachineWeights(w, here.value, gap, gap <= tol, len(path) - 1, tuple(path))


@dataclass(frozen=True)
class SolvedMachines:
    """Machines at some weights."""

    value: float  # J
    slack: float  # the gaps of the machines
    squares: np.ndarray  # Sₖ, (m,)
    curvature: np.ndarray  # ∂²J/∂wₖ∂wₗ, (m, m)

    def gap(self, w: np.ndarray, p: float) -> float:
        """Return the relative gap."""
        largest = float(np.linalg.norm(self.squares, np.inf if p == 1 else p / (p - 1) if p < np.inf else 1))
        gap = self.slack + 0.5 * max(largest - float(w @ self.squares), 0.0)
        return gap / self.value if self.value > 0 else 0.0 if gap == 0 else np.inf


class Machines:
    """Machines on weighted sums of matrices, each of which starts from its last solution, to a tolerance."""

    def __init__(self, stack: np.ndarray, parts: Sequence[Part], tol: float) -> None:
        self.stack, self.tol = stack, tol
        orders = [np.argsort(index) for index, _ in parts]
        self._index = [index[order] for (index, _), order in zip(parts, orders, strict=True)]
        self._problems = [
            problem.part(order, problem.start[order]) for (_, problem), order in zip(parts, orders, strict=True)
        ]
        self._products: list[np.ndarray | None] = [None] * len(parts)  # Kₖβ of the last solutions, (m, points)

    def solve(self, w: np.ndarray) -> SolvedMachines:
        """Return the machines with these weights."""
        m, n = self.stack.shape[:2]
        K = combine(w, self.stack)
        value, slack, squares, curvature = 0.0, 0.0, np.zeros(m), np.zeros((m, m))
        for i, (index, problem) in enumerate(zip(self._index, self._problems, strict=True)):
            corner = K if len(index) == n else K[np.ix_(index, index)]
            before = self._products[i]
            found = dense_solution(SMO(self.tol), corner, problem, None if before is None else w @ before)
            beta = np.zeros(n)
            beta[index] = found.beta
            products = multiply(self.stack, beta)[:, index]
            self._problems[i], self._products[i] = replace(problem, start=found.beta), products
            value, slack = value + found.dual, slack + found.duality_gap
            squares += products @ found.beta
            curvature += _compute_curvature(corner, products, found.free)
        return SolvedMachines(value, slack, np.maximum(squares, 0.0), curvature)


def _compute_curvature(K: np.ndarray, products: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Return the second derivatives of J of one machine by the weights."""
    inside, m = np.flatnonzero(free), len(products)
    if len(inside) < 2:
        return np.zeros((m, m))
    corner, right = K[np.ix_(inside, inside)].astype(np.float64), np.empty((len(inside), m + 1))
    right[:, :m], right[:, m] = products[:, inside].T, 1.0
    size = float(corner.diagonal().mean()) or 1.0
    for jitter in JITTER * 100.0 ** np.arange(5):
        corner.flat[:: len(inside) + 1] += jitter * size
        try:
            solved = cho_solve(cho_factor(corner, lower=True), right)
            break
        except LinAlgError:
            continue
    else:
        return np.zeros((m, m))
    eta, rest = solved[:, m], solved[:, :m]
    sums = rest.sum(axis=0)
    H = products[:, inside] @ rest - np.outer(sums, sums) / eta.sum()
    return (H + H.T) / 2


def _step_newton(machines: Machines, w: np.ndarray, here: SolvedMachines) -> tuple[np.ndarray, SolvedMachines] | None:
    """Return weights on the simplex with a smaller J, towards the minimum of its quadratic model; None without such."""
    slope, m = -0.5 * here.squares, len(w)
    # With a little more curvature the minimum is unique, and kernels that are equal keep equal weights.
    H = here.curvature + 1e-6 * (float(here.curvature.trace()) / m or float(here.squares.max())) * np.eye(m)
    model = DualProblem(H @ w - slope, np.zeros(m), np.ones(m), w)
    there = np.maximum(dense_solution(SMO(1e-8), H, model).beta, 0.0)
    there /= there.sum()
    promised = float(slope @ (there - w))
    for halving in range(HALVINGS):
        share = 0.5**halving
        tried = there if halving == 0 else (1.0 - share) * w + share * there
        found = machines.solve(tried)
        if found.value <= here.value + DECREASE * share * promised:
            return tried, found
    return None


def _step_closed(
    machines: Machines, w: np.ndarray, here: SolvedMachines, p: float
) -> tuple[np.ndarray, SolvedMachines] | None:
    """Return the weights that are best for the parts of f, and the machines there."""
    powers = (w**2 * here.squares) ** (1.0 / (p + 1.0))
    tried = powers / np.linalg.norm(powers, p)
    found = machines.solve(tried)
    return None if found.value >= here.value else (tried, found)
