"""Support vector machines on a device: many dual problems at once, on one kernel matrix.

The matrix of all points is stored while it fits, and rows of the working sets are computed in each round beyond.
Rounds are those of the host, with all problems side by side: working sets of the worst violators, solved to a tenth of
the violation; kernel values float32 where their rounding is small beside the tolerance, sums and coefficients float64,
and Kβ recomputed before a solution is believed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.arrays.budget import require
from mercer.arrays.place import Place
from mercer.arrays.tensors import is_tensor, load_torch
from mercer.formula.data import Rows, length, pick
from mercer.gram import Gram
from mercer.kernels import Kernel

from ..dual import DualSolution, Part
from ..rounds import Course, Progress, bound_rounding, leave_room
from .batch import Batch, BatchEntry
from .rows import ComputedRows, DeviceRows, StoredRows

if TYPE_CHECKING:
    from ..smo import SMO

SMALLEST, SMALL, LARGE = 16, 512, 2048  # variables of a working set
CACHE = 2**25  # bytes of small matrices that stay in the fast memory of a large device
STORED = 0.6  # share of the budget that the whole matrix may take
MOST = 2**15  # problems side by side, as many as a launch takes
VARIABLE = 400  # bytes of a variable in a round, with everything sorted and copied


def solve_on_device(
    limits: SMO,
    place: Place,
    kernel: Kernel,
    X: Rows,
    parts: Sequence[Part],
    progress: Progress | None = None,
    size: int | None = None,
) -> list[DualSolution]:
    """Solve several problems, each on some points of X given by their positions; two variables a point are allowed.

    ``progress`` hears of all steps so far and the largest violation left after each round; ``size`` is how many
    variables a working set has, a power of two, chosen by the number of problems if not given.
    """
    with place.be_current():
        return _DeviceRun(place, kernel, X, parts, progress, size).solve(limits)


class _DeviceRun:
    """Problems on their way to solutions."""

    def __init__(
        self,
        place: Place,
        kernel: Kernel,
        X: Rows,
        parts: Sequence[Part],
        progress: Progress | None,
        size: int | None,
    ) -> None:
        self._place, self._kernel, self._progress, self._size = place, kernel, progress, size
        self._parts = parts
        order, self._places = order_neighbours([index for index, _ in parts], length(X))
        points = _move(X, place)
        as_given = len(order) == length(X) and bool((order == np.arange(len(order))).all())
        self._X = points if as_given else pick(points, order)
        self._held: Any = None  # the lazy matrix used last
        self._found: dict[int, DualSolution] = {}

    def solve(self, limits: SMO) -> list[DualSolution]:
        """Solve with values of float32 what can be, and everything else and what is left of that with float64."""
        largest = float(self._gram(np.float32).diag().abs().max())
        single: list[BatchEntry] = []
        double: list[BatchEntry] = []
        for i, (index, problem) in enumerate(self._parts):
            course = Course(limits, problem, largest)
            (single if course.is_single else double).append(
                BatchEntry(i, np.resize(self._places[index], problem.n), course)
            )
        double += self._solve_with(single, np.float32)
        self._solve_with(double, np.float64)
        return [self._found[i] for i in range(len(self._parts))]

    def _gram(self, dtype: type) -> Any:
        if self._held is None or self._held.dtype != dtype:
            self._held = Gram(self._kernel, self._X, memory=self._place.memory, dtype=dtype, device=self._place.device)
        return self._held

    def _solve_with(self, entries: list[BatchEntry], dtype: type) -> list[BatchEntry]:
        """Solve problems with kernel values of some precision; return those it is too coarse for, as they are then."""
        if not entries:
            return []
        gram, item, memory = self._gram(dtype), np.dtype(dtype).itemsize, self._place.memory
        n, size = gram.shape[0], self._choose_size(entries, item)
        stored = item * n * n <= STORED * memory
        if not stored:
            room = memory // 4 // (item * n)
            size = min(size, 1 << max(room, 1).bit_length() - 1)
            require(
                item * n * max(size, SMALLEST),
                memory // 4,
                f"rows of {SMALLEST} of {n} points on {self._place}, a quarter of the budget there,",
                "give more memory or fewer points",
            )
        rows: DeviceRows = StoredRows(gram) if stored else ComputedRows(gram, room)
        coarse: list[BatchEntry] = []
        for few in cut_batches(entries, size, item, memory // 8, MOST if stored else max(1, room // size)):
            coarse += self._solve_batch(Batch(few, size, self._place), rows, dtype)
        return coarse

    def _choose_size(self, entries: list[BatchEntry], item: int) -> int:
        """Return how many variables a working set has: more where there are few problems, and never too many."""
        size = LARGE
        while size > SMALL and len(entries) * item * size**2 > CACHE:
            size //= 2
        longest = max(entry.problem.n for entry in entries)
        return min(self._size or size, max(SMALLEST, 1 << (longest - 1).bit_length()))

    def _solve_batch(self, batch: Batch, rows: DeviceRows, dtype: type) -> list[BatchEntry]:
        """Go on until every problem is solved, stopped, or wants finer kernel values; return the last ones."""
        torch = load_torch()
        error = bound_rounding(dtype, batch.entries[0].course.largest, np.ones(1))
        coarse: list[BatchEntry] = []
        if bool((batch.beta != 0).any()):
            batch.recompute(rows, np.arange(len(batch)))
        while True:
            rise, fall = batch.scores()
            violation = batch.violation(rise, fall)
            enough = leave_room(torch, batch.tolerance, error * batch.beta.square().sum(1).sqrt(), dtype)
            left = batch.most - batch.n_iter
            stopped = (left <= 0) | (batch.steps == 0)
            state = torch.stack([violation <= enough, stopped]).cpu().numpy()  # the one thing a round waits for
            ready = state[0] | state[1] | batch.entries[0].course.is_late
            if ready.any():
                done, again = self._settle(batch, rows, np.flatnonzero(ready), state[0], dtype)
                coarse += again
                kept = np.setdiff1d(np.arange(len(batch)), done)
                if len(kept) == 0:
                    return coarse
                if len(done):
                    batch.keep(kept)
                continue
            batch.round(rows, rise, fall, violation, enough, left)
            if self._progress is not None:
                steps = int(batch.n_iter.sum()) + sum(s.n_iter for s in self._found.values())
                self._progress(steps, float((violation * batch.units).max()))

    def _settle(
        self, batch: Batch, rows: DeviceRows, ready: np.ndarray, settled: np.ndarray, dtype: type
    ) -> tuple[list[int], list[BatchEntry]]:
        """Recompute Kβ of problems that seem finished; return which are, and which want finer kernel values."""
        violation = batch.recompute(rows, ready).tolist()
        batch.steps[load_torch().as_tensor(ready, device=self._place.device)] = 1  # what stopped them may be gone
        done, coarse = [], []
        for i, left in zip(ready.tolist(), violation, strict=True):
            entry = batch.entries[i]
            found = batch.solution(i, dtype)
            verdict = entry.course.judge(found, left, dtype) if settled[i] else "done"
            if verdict == "again":
                batch.tolerance[i] = entry.course.tolerance
                continue
            done.append(i)
            if verdict == "finer":
                entry.course.problem = replace(entry.problem, start=found.beta)
                coarse.append(entry)
            else:
                self._found[entry.number] = entry.course.finish(found)
        return done, coarse


def _move(X: Rows, place: Place) -> Rows:
    """Return points on the device if they are a matrix of numbers, so that they are moved once."""
    if is_tensor(X):
        return X.detach().to(place.device)
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "biuf":
        return place.put(X, np.float32 if X.dtype == np.float32 else np.float64)
    return X


def order_neighbours(parts: list[np.ndarray], n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the points in an order in which those of the same problems are side by side, and the place of each in it.

    Reading a part of a row is then reading a few stretches of it.  Points without a problem are left out.

    Examples
    --------
    >>> order, places = order_neighbours([np.array([0, 2, 3]), np.array([3, 4])], 5)
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


def cut_batches(
    entries: list[BatchEntry], size: int, item: int, memory: int, most: int = MOST
) -> Iterator[list[BatchEntry]]:
    """Yield problems to be solved side by side, those of about the same length together, within a memory budget."""
    batch: list[BatchEntry] = []
    for entry in sorted(entries, key=lambda entry: -entry.problem.n):
        longest = max(size, (batch[0] if batch else entry).problem.n)
        taken = (len(batch) + 1) * (item * size**2 + VARIABLE * longest)
        if batch and (taken > memory or len(batch) == min(most, MOST)):
            yield batch
            batch = []
        batch.append(entry)
    if batch:
        yield batch
