"""Exact kernel ridge by conjugate gradients: K·V from all pairs of partitions, with the iterate on the client."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer.arrays.tensors import host_array
from mercer.gram import Gram
from mercer.kernels import Kernel
from mercer.solvers.base import Problem, Solution
from mercer.solvers.evidence import RESIDUAL, warn_not_converged
from mercer.solvers.products import RATES
from mercer.solvers.ridge.cg import ConjugateGradient, PreparedConjugateGradient

from ._block import Block
from ._graph import constant, mapped, tree
from ._table import Table

TOLERANCE = 1e-10  # of the residual, so that the answer is that of one machine to eight digits
RATE = 2e9  # pairs of rows a second that two cores compute, roughly, to weigh a preconditioner against iterations


def solve_by_iteration(model: Any, table: Table, problem: Problem, penalty: np.ndarray) -> Any:
    """Solve (K + αW⁻¹)c = y − b over all pairs of partitions; returns the solution with all points as its centres."""
    points = table.gather("X", type(model).__name__, problem.memory // 2)
    y = table.gather("y", "the right-hand side", problem.memory).reshape(table.n, -1)
    weights = table.gather("weights", "the weights", problem.memory) if table.survey.weighted else None
    table = replace(table, blocks=table.cluster.keep(table.blocks))
    whole = replace(problem, X=table.column("X"), y=np.asarray(y, dtype=np.float64), weights=weights)
    solver = ConjugateGradient(TOLERANCE, random_state=model.random_state)
    products: Any = PairProducts(table, problem.kernel, problem.memory, model.device)
    prepared = PreparedConjugateGradient(solver, whole, products)
    solution = replace(_solved(prepared, penalty), centers=points)
    pairs = len(table.blocks) * (len(table.blocks) + 1) // 2
    workers = f"kernel values of {pairs} pairs of partitions and their products with the iterate, once an iteration"
    client = f"the iterate and the preconditioner of rank {prepared.preconditioner.rank}"
    return solution, replace(whole, X=points), (workers, client)


def _solved(prepared: PreparedConjugateGradient, penalty: np.ndarray) -> Solution:
    """Solve as well as rounding allows, and warn only where that is worse than one machine would be content with."""
    solution: Solution = replace(prepared.attempt(penalty), tolerance=RESIDUAL)
    if not solution.converged:
        remedy = (
            f"conjugate gradients stopped after {solution.n_iter} iterations: raise alpha, or use solver='nystroem'"
        )
        warn_not_converged("KernelRidge", solution.residual, solution.tolerance, remedy)
    return solution


class PairGram:
    """The Gram matrix of all rows, of which the diagonal and single rows are asked for.

    Parameters
    ----------
    table : Table
        The rows.
    kernel : Kernel
        The kernel.
    memory : int
        Budget of the client in bytes.
    """

    backend_name = "dask"
    dtype = np.dtype(np.float64)

    def __init__(self, table: Table, kernel: Kernel, memory: int) -> None:
        self._table, self.kernel, self.memory = table, kernel, memory
        self.shape = table.n, table.n

    def diag(self) -> np.ndarray:
        """Return k(x, x) for all x."""
        return np.concatenate(self._table.each("diagonal", _diagonal, self.kernel))

    def rows(self, index: np.ndarray) -> np.ndarray:
        """Return rows of the matrix, for which only the points of these rows move."""
        points = self._table.pick("X", index)
        return np.concatenate(self._table.each("rows", _rows, self.kernel, points), axis=1)

    def part(self, index: np.ndarray) -> Gram:
        """Return the Gram matrix of some points, which move to the client."""
        return Gram(self.kernel, self._table.pick("X", index), memory=self.memory, dtype=np.float64)


class PairProducts:
    """K·V in float64, as conjugate gradients use it.

    Parameters
    ----------
    table : Table
        The rows, whose blocks stay on the workers.
    kernel : Kernel
        The kernel.
    memory : int
        Budget of the client in bytes.
    device : str or torch.device, optional
        Where workers compute.
    """

    stored = single = False
    rates = RATES["host"]  # of a preconditioner, as on one machine

    def __init__(self, table: Table, kernel: Kernel, memory: int, device: Any = None) -> None:
        self._table, self._kernel, self._device = table, kernel, device
        self.gram = PairGram(table, kernel, memory)

    @property
    def seconds(self) -> float:
        """A rough time of one product."""
        return 0.05 + float(self._table.n) ** 2 / RATE

    def put(self, V: np.ndarray) -> np.ndarray:
        """Return a column of numbers where the products take it: on the client."""
        return np.asarray(V, dtype=np.float64)

    def fast(self, V: np.ndarray) -> np.ndarray:
        """Return K @ V."""
        return self.exact(V)

    def exact(self, V: np.ndarray) -> np.ndarray:
        """Return K @ V: a task for each pair of partitions, and a tree of sums for each partition."""
        table, p = self._table, len(self._table.blocks)
        ends = np.cumsum(table.counts)
        parts = [constant(V[end - count : end]) for end, count in zip(ends, table.counts, strict=True)]
        pairs = [(i, j) for i in range(p) for j in range(i, p)]
        tasks = mapped(
            "product", _product, [[table.blocks[i], table.blocks[j], parts[i], parts[j]] for i, j in pairs],
            self._kernel, self._device,
        )  # fmt: skip
        sides: list[list[Any]] = [[] for _ in range(p)]
        for (i, j), task in zip(pairs, tasks, strict=True):
            sides[i].append(task[0])
            if j > i:
                sides[j].append(task[1])
        found = table.cluster.compute([tree("product", side) for side in sides])
        table.cluster.count("products", 2 * len(pairs) * V.nbytes / p)
        return np.concatenate(found)

    def give_up_single(self) -> None:
        """Do nothing: values are in float64 already."""


def _diagonal(block: Block, kernel: Kernel) -> np.ndarray:
    return np.asarray(kernel.diag(block.X), dtype=np.float64)


def _rows(block: Block, kernel: Kernel, points: Any) -> np.ndarray:
    return Gram(kernel, points, block.X, memory=block.memory, dtype=np.float64).dense()


def _product(pair: list[Any], kernel: Kernel, device: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Return K_ij V_j and K_ijᵀ V_i, from one evaluation of the tile where it fits."""
    first, second, V_first, V_second = pair
    place, memory = max((block.place(device) for block in (first, second)), key=lambda found: found[1])
    if first.index == second.index:
        return _times(Gram(kernel, first.X, memory=memory, dtype=np.float64, device=place), V_first), None
    gram = Gram(kernel, first.X, second.X, memory=memory, dtype=np.float64, device=place)
    if place is None and 8 * gram.shape[0] * gram.shape[1] <= memory // 4:
        tile = gram.dense()
        return tile @ V_second, tile.T @ V_first
    return _times(gram, V_second), _times(gram.T, V_first)


def _times(gram: Gram, V: np.ndarray) -> np.ndarray:
    return np.asarray(host_array(gram @ V))
