"""Tasks over pieces that are read from a disk one after the other, in this process, within the budget of a fit.

Sums are saved on the way, and values of single rows that later passes need go to the disk too: what is held at a time
is one piece and what is computed from it, whatever the number of rows.
"""

from __future__ import annotations

import shutil
import uuid
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import joblib  # type: ignore[import-untyped]
import numpy as np

from mercer.arrays.budget import show_bytes
from mercer.distributed.executor import Executor, PieceNotes, Pieces, add_up
from mercer.estimators.engine import lives_elsewhere
from mercer.formula.data import is_frame, length
from mercer.markup import Cell
from mercer.solvers.plan import Plan
from mercer.words import count_things

from .arrays import describe_file, open_array
from .checkpoint import Checkpoint, load_record, save_record
from .table import ARRAYS, is_column

SHARE = 4  # of the budget: one part of so many for what is computed from one piece
PIECE = 2**25  # bytes of the rows of a piece at most: more would make nothing quicker
PART = 64  # of the budget: one part of so many for the rows of a piece, of which there are several copies
FEWEST = 256  # rows of a piece at least


@dataclass(frozen=True)
class StoredPlan(Plan):
    """A plan for rows that are read from a disk, a piece at a time.

    Parameters
    ----------
    pieces : int
        How many pieces there are.
    passes : int
        How many times a computation went over them or asked for some of their rows.
    read : int
        Bytes of points, targets and weights that were read in all.
    what : str
        What was computed from each piece.
    """

    pieces: int = 1
    passes: int = 0
    read: int = 0
    what: str = ""

    def facts(self) -> list[tuple[str, Cell]]:
        """Return what is expected, and what was read."""
        own = [
            ("from each piece", self.what),
            ("read", self._show_reading()),
        ]
        return [*super().facts(), *own]

    def _show_reading(self) -> str:
        passes = f"{self.passes:,} pass{'es' * (self.passes != 1)}"
        return f"{show_bytes(self.read)}, {count_things(self.pieces, 'piece')} in {passes}"

    def __str__(self) -> str:
        return f"{super().__str__()}. Read from the disk: {self._show_reading()}. From each piece: {self.what}."


@dataclass(frozen=True)
class Task:
    """A function of a piece, and of what is the same for all pieces."""

    function: Callable[..., Any]
    block: Any  # a task, a value, or a list of these
    shared: tuple[Any, ...]

    def run(self) -> Any:
        """Compute it, and all that it depends on."""
        return self.function(_run(self.block), *self.shared)

    def describe(self) -> Any:
        """Return what tells tasks of this kind from others, whichever their piece."""
        name = f"{self.function.__module__}.{self.function.__qualname__}"
        return name, _describe(self.block), _describe(list(self.shared))

    def __getitem__(self, index: int) -> Task:
        return Task(_take_item, self, (index,))


@dataclass(frozen=True)
class Reading:
    """Columns of a piece, or rows of an array that belongs to it."""

    executor: DiskExecutor = field(repr=False)
    number: int
    columns: Any  # a list of names for a frame, a name for an array; None for all columns of an array

    def run(self) -> Any:
        """Read them."""
        return self.executor.read(self.number, self.columns)

    def describe(self) -> Any:
        """Return which rows and columns these are of."""
        return self.executor.rows.describe(), self.columns


@dataclass(frozen=True)
class Slice:
    """The rows of an array here, or in a file, that belong to a piece."""

    values: Any
    start: int
    count: int
    key: Any

    def run(self) -> Any:
        """Return them, copied from the disk if they are there."""
        values = open_array(self.values) if isinstance(self.values, Path) else self.values
        return np.array(values[self.start : self.start + self.count])

    def describe(self) -> Any:
        """Return which array it is."""
        return self.key


@dataclass(frozen=True)
class Result:
    """A result that lies on the disk as long as a task may ask for it."""

    path: Path
    handle: object = field(repr=False)  # when nobody has it any more, the files go
    task: Any = field(default=None, repr=False)  # what makes it, where a fit that was killed may have removed it

    def run(self) -> Any:
        """Read it, or make it again."""
        if self.task is not None and not self.path.is_file():
            save_record(self.path, self.task.run())
        return load_record(self.path)

    def describe(self) -> Any:
        """Return the name of the results, which is a hash of all that went into them."""
        return self.path.parent.name


@dataclass(frozen=True)
class Total:
    """The sum of what tasks return."""

    name: str
    tasks: tuple[Any, ...]

    def run(self) -> Any:
        """Add up, piece by piece."""
        total = None
        for task in self.tasks:
            total = add_up([total, task.run()])
        return total


class _Handle:
    """What all results of one pass hold on to."""


class StoredNotes(PieceNotes):
    """Says where something was wrong: in which row of which file."""

    def __init__(self, rows: Any, target: Any) -> None:
        self._rows, self._target = rows, target

    def __getstate__(self) -> Any:
        return self._target

    def explain(self, error: Exception, index: int, rows: Any, y: Any) -> Exception:
        """Name the first value that is missing or infinite, if that is what was wrong, and the piece if not."""
        piece = self._rows.pieces[index]
        for name, values in (*_list_columns(rows), *_list_columns(y, self._target)):
            bad = _find_bad(values)
            if len(bad):
                more = f" and {len(bad) - 1} more of this piece" if len(bad) > 1 else ""
                value = "missing" if values[bad[0]] != values[bad[0]] else values[bad[0]]
                return ValueError(
                    f"{name} is {value} in {self._rows.locate(piece, int(bad[0]))}{more}; leave such rows out or fill "
                    "them in where the file is written, or give sample_weight a column that is 0 there and a value here"
                )
        error.add_note(f"This was found in rows from {self._rows.locate(piece, 0)}.")
        return error


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

    def __init__(
        self, rows: Any, columns: list[str] | None, memory: int, checkpoint: Checkpoint,
        on_step: Callable[[int, float], bool] | None = None, target: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(on_step)
        self.rows, self.columns, self.checkpoint = rows, columns, checkpoint
        self.room = _round_down(memory // SHARE)
        self._gone: list[Any] = []  # what removes results
        self._seen: set[str] = set()  # names of results that this fit has asked for
        self._handles: weakref.WeakValueDictionary[str, _Handle] = weakref.WeakValueDictionary()
        self.notes = StoredNotes(rows, target)
        width = rows.width if columns is None else len(columns)
        rows.cut(max(FEWEST, min(PIECE, _round_down(memory // PART)) // (8 * max(1, width))))

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
            key, size = joblib.hash(np.asarray(values)), length(values)
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
                if not path.is_file():
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

    def leave(self) -> None:
        """Let results stay on the disk, for a fit that was interrupted and may be started again."""
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
        key = self._name(whole.name, whole.tasks)
        count, total = self.checkpoint.read(key) or (0, None)
        saved = count
        for number in range(count, len(whole.tasks)):
            total = add_up([total, self._run(whole.tasks[number])])
            if self.checkpoint.is_due:
                saved = number + 1
                self.checkpoint.write(key, saved, total)
        return total

    def _name(self, name: str, tasks: Sequence[Any]) -> str:
        """Return a hash of all that goes into tasks, or any name if a function of the caller's own has none."""
        try:
            return str(joblib.hash((name, len(tasks), tasks[0].describe()), hash_name="sha1"))
        except Exception:  # pickle has many
            return uuid.uuid4().hex


def _drop_points(block: Any) -> Any:
    none = np.empty(0, dtype=np.intp)
    return replace(block, X=None, dropped=none, places=none)


def _run(block: Any) -> Any:
    if isinstance(block, list):
        return [_run(part) for part in block]
    return block.run() if hasattr(block, "run") else block


def _describe(block: Any) -> Any:
    if isinstance(block, list):
        return [_describe(part) for part in block]
    return block.describe() if hasattr(block, "describe") else block


def _take_item(value: Any, index: int) -> Any:
    return value[index]


def _round_down(count: int) -> int:
    """Return the largest power of two, so that pieces are the same when a fit is repeated with nearly as much room."""
    return 1 << max(0, int(count).bit_length() - 1)


def _list_columns(values: Any, name: Any = None) -> list[tuple[str, np.ndarray]]:
    """Return the columns of a frame or an array with their names."""
    if values is None:
        return []
    if is_frame(values):
        return [(f"column {column!r}", values[column].to_numpy()) for column in values.columns]
    array = np.asarray(values)
    if array.ndim == 1:
        return [(f"column {name!r}" if isinstance(name, str) else "y", array)]
    return [(f"column {column}", array[:, column]) for column in range(array.shape[1])]


def _find_bad(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind == "f":
        return np.flatnonzero(~np.isfinite(values))
    if values.dtype.kind == "O":
        return np.flatnonzero([value is None or value != value for value in values])
    return np.empty(0, dtype=np.intp)
