"""Support vector machines on a device: many dual problems at once, on one kernel matrix.

The matrix of all points is stored while it fits, and rows of the working sets are computed in each round beyond.
Rounds are those of the host, with all problems side by side: working sets of the worst violators, solved to a tenth of
the violation; kernel values float32 where their rounding is small beside the tolerance, sums and coefficients float64,
and Kβ recomputed before a solution is believed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.arrays.budget import require
from mercer.arrays.tensors import device_memory, is_tensor, load_torch, on_device
from mercer.formula.data import Rows, length, pick
from mercer.gram import Gram
from mercer.kernels import Kernel

from ..dual import DualProblem, DualSolution
from ..rounds import (
    HOPELESS,
    MOST_STEPS,
    RESTARTS,
    SAFETY,
    Limits,
    Progress,
    in_own_unit,
    next_tolerance,
    rounding,
    single_suffices,
)
from .batch import Batch, Entry
from .rows import ComputedRows, DeviceRows, StoredRows

Part = tuple[np.ndarray, DualProblem]  # which points, and the problem on them
SMALLEST, SMALL, LARGE = 16, 512, 2048  # variables of a working set
CACHE = 2**25  # bytes of small matrices that stay in the fast memory of a large device
STORED = 0.6  # share of the budget that the whole matrix may take
MOST = 2**15  # problems side by side, as many as a launch takes
VARIABLE = 400  # bytes of a variable in a round, with everything sorted and copied


@dataclass(frozen=True)
class DeviceSMO:
    """Solve the dual problems of support vector machines on a device.

    Parameters
    ----------
    limits : Limits
        When to stop: a :class:`mercer.solvers.machines.smo.SMO`.
    device : torch.device
        Where.
    memory : int or str, optional
        Budget in bytes on the device; 60 % of what is free if not given.
    size : int, optional
        Variables of a working set, a power of two; by the number of problems if not given.
    """

    limits: Limits
    device: Any
    memory: float | str | None = None
    size: int | None = None

    def solve_many(
        self, kernel: Kernel, X: Rows, parts: list[Part], progress: Progress | None = None
    ) -> list[DualSolution]:
        """Solve several problems, each on some points of X given by their positions; two variables a point are allowed.

        ``progress`` hears of all steps so far and the largest violation left after each round.
        """
        # Triton launches on the current device, which need not be this one.
        with load_torch().cuda.device(self.device) if self.device.type == "cuda" else nullcontext():
            return _Run(self, kernel, X, parts, progress).solutions()


class _Run:
    """Problems on their way to solutions."""

    def __init__(
        self, solver: DeviceSMO, kernel: Kernel, X: Rows, parts: list[Part], progress: Progress | None
    ) -> None:
        self._limits, self._device, self._size = solver.limits, solver.device, solver.size
        self._parts, self._kernel, self._progress = parts, kernel, progress
        self._start = time.monotonic()
        self._memory = device_memory(self._device, solver.memory)
        order, places = _neighbours([index for index, _ in parts], length(X))
        points = _placed(X, self._device)
        as_given = len(order) == length(X) and bool((order == np.arange(len(order))).all())
        self._X = points if as_given else pick(points, order)
        self._places = places
        self._held: Any = None  # the lazy matrix used last
        self._found: dict[int, DualSolution] = {}

    def solutions(self) -> list[DualSolution]:
        largest = float(self._gram(np.float32).diag().abs().max())
        entries = []
        for i, (index, problem) in enumerate(self._parts):
            scaled, unit = in_own_unit(problem, largest)
            tolerance = self._limits.tol * scaled.unit(largest)
            entries.append(Entry(i, np.resize(self._places[index], problem.n), scaled, unit, tolerance))
        enough = [single_suffices(entry.problem, largest, entry.tolerance, SAFETY) for entry in entries]
        single, double = (
            [e for e, fine in zip(entries, enough, strict=True) if fine is kind] for kind in (True, False)
        )
        double += self._solve(single, np.float32, largest)
        self._solve(double, np.float64, largest)
        return [
            self._found[entry.number].times(entry.unit, problem)
            for entry, (_, problem) in zip(entries, self._parts, strict=True)
        ]

    def _gram(self, dtype: type) -> Any:
        if self._held is None or self._held.dtype != dtype:
            self._held = Gram(self._kernel, self._X, memory=self._memory, dtype=dtype, device=self._device)
        return self._held

    def _solve(self, entries: list[Entry], dtype: type, largest: float) -> list[Entry]:
        """Solve problems with kernel values of some precision; return those it is too coarse for, as they are then."""
        if not entries:
            return []
        gram, item = self._gram(dtype), np.dtype(dtype).itemsize
        n, size = gram.shape[0], self._set_size(entries, item)
        stored = item * n * n <= STORED * self._memory
        if not stored:
            room = self._memory // 4 // (item * n)
            size = min(size, 1 << max(room, 1).bit_length() - 1)
            require(
                item * n * max(size, SMALLEST),
                self._memory // 4,
                f"rows of {SMALLEST} of {n} points on {self._device}, a quarter of the budget there,",
                "give more memory or fewer points",
            )
        rows: DeviceRows = StoredRows(gram) if stored else ComputedRows(gram, room)
        coarse: list[Entry] = []
        for few in _batches(entries, size, item, self._memory // 8, MOST if stored else max(1, room // size)):
            coarse += self._rounds(Batch(few, size, self._device), rows, dtype, largest)
        return coarse

    def _set_size(self, entries: list[Entry], item: int) -> int:
        """Return how many variables a working set has: more where there are few problems, and never too many."""
        size = LARGE
        while size > SMALL and len(entries) * item * size**2 > CACHE:
            size //= 2
        longest = max(entry.problem.n for entry in entries)
        return min(self._size or size, max(SMALLEST, 1 << (longest - 1).bit_length()))

    # -- rounds -------------------------------------------------------------------------------------------------------

    def _rounds(self, batch: Batch, rows: DeviceRows, dtype: type, largest: float) -> list[Entry]:
        """Go on until every problem is solved, stopped, or wants finer kernel values; return the last ones."""
        torch = load_torch()
        restarts = {entry.number: 0 for entry in batch.entries}
        most = torch.as_tensor([self._most(entry.problem) for entry in batch.entries], device=self._device)
        error = rounding(dtype, largest, np.ones(1))
        coarse: list[Entry] = []
        if bool((batch.beta != 0).any()):
            batch.recompute(rows, np.arange(len(batch)))
        while True:
            rise, fall = batch.scores()
            violation = batch.violation(rise, fall)
            # What rounding may hide in updated slopes is left as room for recomputed ones.
            rounded = error * batch.beta.square().sum(1).sqrt()
            enough = torch.maximum(batch.tolerance - rounded, 0.5 * batch.tolerance)
            if dtype is np.float64:
                enough = torch.maximum(enough, HOPELESS * rounded)
            left = most - batch.n_iter
            settled = violation <= enough
            stopped = (left <= 0) | (batch.steps == 0)
            state = torch.stack([settled, stopped]).cpu().numpy()  # the one thing a round waits for
            late = self._limits.max_time is not None and time.monotonic() - self._start > self._limits.max_time
            ready = state[0] | state[1] | late
            if ready.any():
                done, again = self._settle(batch, rows, np.flatnonzero(ready), state[0], dtype, largest, restarts)
                coarse += again
                if len(done):
                    kept = np.setdiff1d(np.arange(len(batch)), done)
                    if len(kept) == 0:
                        return coarse
                    batch.keep(kept)
                    most = most[torch.as_tensor(kept, device=self._device)]
                continue
            batch.round(rows, rise, fall, violation, enough, left)
            if self._progress is not None:
                steps = int(batch.n_iter.sum()) + sum(s.n_iter for s in self._found.values())
                self._progress(steps, float((violation * batch.units).max()))

    def _settle(
        self,
        batch: Batch,
        rows: DeviceRows,
        ready: np.ndarray,
        settled: np.ndarray,
        dtype: type,
        largest: float,
        restarts: dict[int, int],
    ) -> tuple[list[int], list[Entry]]:
        """Recompute Kβ of problems that seem finished; return which are, and which want finer kernel values."""
        violation = batch.recompute(rows, ready).tolist()
        batch.steps[load_torch().as_tensor(ready, device=self._device)] = 1  # what stopped them may be gone
        done, coarse = [], []
        for i, left in zip(ready.tolist(), violation, strict=True):
            entry, tolerance = batch.entries[i], float(batch.tolerance[i])
            solution = batch.solution(i, self._limits.tol, rounding(dtype, largest, np.ones(1)))

            def coarser(than: float, error: float = solution.error) -> bool:
                return dtype is np.float32 and 2 * error > SAFETY * than

            further: float | None = tolerance
            if left <= tolerance and not coarser(tolerance):
                further = next_tolerance(solution, tolerance, largest)
            else:
                restarts[entry.number] += 1
            if settled[i] and further is not None:
                if further < tolerance:  # the gap does not certify it yet
                    batch.tolerance[i], restarts[entry.number] = further, 0
                if coarser(further) or (restarts[entry.number] >= RESTARTS and dtype is np.float32):
                    begun = replace(entry.problem, start=solution.beta)
                    coarse.append(replace(entry, problem=begun, tolerance=further, n_iter=solution.n_iter))
                    done.append(i)
                    continue
                if restarts[entry.number] < 2 * RESTARTS:  # beyond that rounding in float64 allows no more
                    continue
            self._found[entry.number] = solution
            done.append(i)
        return done, coarse

    def _most(self, problem: DualProblem) -> int:
        return self._limits.max_iter if self._limits.max_iter >= 0 else max(MOST_STEPS, 1000 * problem.n)


def _placed(X: Rows, device: Any) -> Rows:
    """Return points on the device if they are a matrix of numbers, so that they are moved once."""
    if is_tensor(X):
        return X.detach().to(device)
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "biuf":
        return on_device(X, device, np.float32 if X.dtype == np.float32 else np.float64)
    return X


def _neighbours(parts: list[np.ndarray], n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the points in an order in which those of the same problems are side by side, and the place of each in it.

    Reading a part of a row is then reading a few stretches of it.  Points without a problem are left out.

    Examples
    --------
    >>> order, places = _neighbours([np.array([0, 2, 3]), np.array([3, 4])], 5)
    >>> order.tolist(), places[[3, 4]].tolist()
    ([0, 2, 3, 4], [2, 3])
    """
    first, last = np.full(n, len(parts)), np.full(n, -1)
    for i, index in enumerate(parts):
        first[index] = np.minimum(first[index], i)
        last[index] = i
    used = np.flatnonzero(last >= 0)
    order = used[np.lexsort((last[used], first[used]))]
    places = np.zeros(n, dtype=np.int64)
    places[order] = np.arange(len(order))
    return order, places


def _batches(entries: list[Entry], size: int, item: int, memory: int, most: int = MOST) -> Iterator[list[Entry]]:
    """Yield problems to be solved side by side, those of about the same length together, within a memory budget."""
    batch: list[Entry] = []
    for entry in sorted(entries, key=lambda entry: -entry.problem.n):
        longest = max(size, (batch[0] if batch else entry).problem.n)
        taken = (len(batch) + 1) * (item * size**2 + VARIABLE * longest)
        if batch and (taken > memory or len(batch) == min(most, MOST)):
            yield batch
            batch = []
        batch.append(entry)
    if batch:
        yield batch
