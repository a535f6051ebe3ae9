"""Tasks over pieces that are read from a disk one after the other, in this process, within the budget of a fit.

Sums are saved on the way, and values of single rows that later passes need go to the disk too: what is held at a time
is one piece and what is computed from it, whatever the number of rows.
"""

from __future__ import annotations

import shutil
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mercer.distributed.executor import Executor, Pieces, add_up, size_of
from mercer.estimators.engine import lives_elsewhere
from mercer.formula.data import length
from mercer.solvers.plan import Plan

from .arrays import describe_file, open_array
from .checkpoint import Checkpoint, is_whole, save_record
from .names import name_value
from .notes import StoredNotes
from .plan import StoredPlan, round_down, size_pieces
from .table import ARRAYS, is_column
from .tasks import Reading, Result, Slice, Task, Total

SHARE = 4  # of the budget: one part of so many for what is computed from one piece
WORTH = 1e7  # bytes of a sum that are written for every second that it took, which is a hundredth of that or less


class _Handle:
    """What all results of one pass hold on to."""


class DiskExecutor(Executor):
    """Computes tasks one after the other.

    Parameters
    ----------
    rows : ParquetRows or ArrayRows
        The rows, not cut yet.
    columns : list of str or None
        The columns that are learned from, None where columns have no names.
    memory : int
        The budget in bytes.
    checkpoint : Checkpoint
        Where sums are saved.
    on_step : callable, optional
        Told of every piece.
    """

    here = True

    def __init__(
        self, rows: Any, columns: list[str] | None, memory: int, checkpoint: Checkpoint,
        on_step: Callable[[int, float], bool] | None = None, target: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(on_step)
        self.rows, self.columns, self.checkpoint = rows, columns, checkpoint
        self.room = round_down(memory // SHARE)
        self._gone: list[Any] = []  # what removes results
        self._seen: set[str] = set()  # names of results that this fit has asked for
        self._handles: weakref.WeakValueDictionary[str, _Handle] = weakref.WeakValueDictionary()
        self.notes = StoredNotes(rows, target)
        width = rows.width if columns is None else len(columns)
        rows.cut(size_pieces(memory, width))
        self.key = name_value(rows.describe())

    def read(self, number: int, columns: Any) -> Any:
        """Return columns of a piece."""
        found = self.rows.read(self.rows.pieces[number], [columns] if isinstance(columns, str) else columns)
        found = found[columns].to_numpy() if isinstance(columns, str) else found
        self.count("read", 8 * found.size)
        return found

    def align(self, X: Any, y: Any, sample_weight: Any, owner: str) -> tuple[Pieces, Pieces | None, Any]:
        """Return the pieces of points, and of targets and weights: columns of the same rows, or arrays of as many."""
        targets = None if y is None else self._cut(y, "y", owner)
        weights = sample_weight
        if isinstance(weights, str | Path) or (weights is not None and np.ndim(weights) > 0):
            weights = self._cut(weights, "sample_weight", owner)
        return Pieces(self._read_all(self.columns), self._counts, "X"), targets, weights

    @property
    def _counts(self) -> list[int]:
        return [piece.count for piece in self.rows.pieces]

    def _read_all(self, columns: Any) -> list[Any]:
        return [Reading(self, number, columns) for number in range(len(self.rows.pieces))]

    def _cut(self, given: Any, what: str, owner: str) -> Pieces:
        if is_column(given):
            if self.rows.names is not None:
                return Pieces(self._read_all(given), self._counts, what)
            if isinstance(given, str) and not given.lower().endswith(ARRAYS):
                raise ValueError(
                    f"{owner}: {what}={given!r} names a column, but the columns of {self.rows.name} have no names; "
                    f"give {what} as an array, or as the path of another .npy file"
                )
        values: Any = given
        if isinstance(given, str | Path):
            values, key = Path(given), describe_file(str(given))
            size = open_array(values).shape[0]
        else:
            if lives_elsewhere(given):
                raise TypeError(f"{owner}: {what} is a Dask collection and X is on a disk; compute() it")
            values = given if isinstance(given, np.ndarray) else np.asarray(given)
            key, size = name_value(np.asarray(values)), length(values)
        if size != self.rows.n:
            raise ValueError(f"{owner}: X has {self.rows.n} rows, but {what} has {size}; they must be the same")
        counts = self._counts
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]]).tolist()
        tasks = [Slice(values, start, count, key) for start, count in zip(starts, counts, strict=True)]
        return Pieces(tasks, counts, what)

    def map(self, name: str, function: Callable[..., Any], blocks: Sequence[Any], *shared: Any) -> list[Any]:
        """Return the tasks function(block, *shared)."""
        return [Task(function, block, shared) for block in blocks]

    def sum(self, name: str, tasks: Sequence[Any]) -> Total:
        """Return the task that adds up what others return."""
        return Total(name, tuple(tasks))

    def join(self, name: str, function: Callable[..., Any], tasks: Sequence[Any], *more: Any) -> Task:
        """Return the task function(results of tasks, *more)."""
        return Task(function, list(tasks), more)

    def share(self, value: Any) -> Any:
        """Return the value itself."""
        return value

    def compute(self, tasks: Sequence[Any]) -> list[Any]:
        """Return the results of tasks, one after the other; what is known of sums is not computed again."""
        found = [self._add_up(task) if isinstance(task, Total) else self._run(task) for task in tasks]
        self.steps += 1
        return found

    def keep(self, tasks: Sequence[Any]) -> list[Any]:
        """Return tasks that read results from the disk, where they are written now."""
        key = self._name("keep", tasks)
        done, handle = self.checkpoint.path(f"{key}-done"), self._handles.get(key)
        # What a fit that was killed had done with need not be there any more, and is made again if it is asked for.
        trusted = key not in self._seen and done.is_file()
        if handle is None and not trusted:
            for number, task in enumerate(tasks):
                path = self.checkpoint.path(key, number)
                if not is_whole(path):
                    save_record(path, self._run(task))
            save_record(done, True)
        if handle is None:
            handle = self._handles[key] = _Handle()
            gone = weakref.finalize(handle, shutil.rmtree, self.checkpoint.path(key, 0).parent, ignore_errors=True)
            gone.atexit = False
            self._gone.append(gone)
        self._seen.add(key)
        self.steps += 1
        return [
            Result(self.checkpoint.path(key, number), handle, task if trusted else None)
            for number, task in enumerate(tasks)
        ]

    def close(self) -> None:
        """Let results stay on the disk: an error that somebody keeps would remove those of the next fit with it."""
        for gone in self._gone:
            gone.detach()

    def keep_rows(self, blocks: Sequence[Any]) -> list[Any]:
        """Return the blocks as they are: their rows are on the disk."""
        return list(blocks)

    def keep_targets(self, blocks: Sequence[Any]) -> list[Any]:
        """Return the blocks without their points, which would be read and checked for nothing."""
        return self.keep(self.map("targets", _drop_points, blocks))

    def plan(self, chosen: Plan, partitions: int, workers: str, client: str) -> StoredPlan:
        """Return a plan with what was read."""
        return StoredPlan(
            chosen.solver, chosen.reason, chosen.memory, chosen.flops, chosen.seconds, pieces=partitions,
            passes=self.steps, read=self.moved.get("read", 0), what=workers,
        )  # fmt: skip

    def _run(self, task: Any) -> Any:
        found = task.run()
        if self._on_step is not None:
            self._on_step(self.steps, float("nan"))
        return found

    def _add_up(self, whole: Total) -> Any:
        key, began = self._name(whole.name, whole.tasks), time.monotonic()
        count, total = self.checkpoint.read(key) or (0, None)
        for number in range(count, len(whole.tasks)):
            total = add_up([total, self._run(whole.tasks[number])])
            done = number + 1 == len(whole.tasks) and size_of(total) <= WORTH * (time.monotonic() - began)
            if done or self.checkpoint.is_due:
                self.checkpoint.write(key, number + 1, total)
        return total

    def _name(self, name: str, tasks: Sequence[Any]) -> str:
        """Return a hash of all that goes into tasks, of which the first stands for others that follow it."""
        return name_value((name, len(tasks), tasks[0].describe()))


def _drop_points(block: Any) -> Any:
    none = np.empty(0, dtype=np.intp)
    return replace(block, X=None, dropped=none, places=none)
