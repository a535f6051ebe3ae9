"""What fits ask of the place where rows live: tasks over their pieces, sums of what they return, and an account.

The mathematics of fits to pieces is written against this alone.  A cluster of Dask workers is one such place; pieces
that are read from a disk one after the other are another.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.solvers.plan import Plan


@dataclass(frozen=True)
class Pieces:
    """The pieces of one collection."""

    tasks: list[Any]  # one task for each
    counts: list[int] | None  # their numbers of rows, if they are known
    what: str  # the name of the argument, for messages

    @property
    def total(self) -> int | None:
        """All rows, if their number is known."""
        return None if self.counts is None else sum(self.counts)


@dataclass(frozen=True)
class PieceNotes:
    """Says where something was wrong: in which partition."""

    def explain(self, error: Exception, index: int, rows: Any, y: Any) -> Exception:
        """Return the error that rows or targets of a piece are refused with, with the place where they are."""
        error.add_note(f"This was found in partition {index}, counted from 0.")
        return error


class Executor(ABC):
    """Computes tasks over pieces of rows, and keeps account of the passes and of what moved."""

    client: Any = None  # of Dask workers, if there are such
    here: bool = False  # whether tasks run in this process, where rows that were fetched are at hand
    room: int | None = None  # bytes that a task on one piece may use; what its worker has if None
    notes: PieceNotes = PieceNotes()

    def __init__(self, on_step: Callable[[int, float], bool] | None = None) -> None:
        self._on_step = on_step
        self.steps = 0
        self.moved: dict[str, int] = {}  # bytes, by what they were

    def __reduce__(self) -> Any:
        raise TypeError("what computes tasks is not part of a model and is never pickled with it")

    @abstractmethod
    def align(self, X: Any, y: Any, sample_weight: Any, owner: str) -> tuple[Pieces, Pieces | None, Any]:
        """Return the pieces of all that a fit is given, row by row; one number for all weights stays a number."""

    @abstractmethod
    def map(self, name: str, function: Callable[..., Any], blocks: Sequence[Any], *shared: Any) -> list[Any]:
        """Return the tasks function(block, *shared), one for each block, which may be a list of results."""

    @abstractmethod
    def sum(self, name: str, tasks: Sequence[Any]) -> Any:
        """Return the task that adds up what others return, nothing being None."""

    @abstractmethod
    def join(self, name: str, function: Callable[..., Any], tasks: Sequence[Any], *more: Any) -> Any:
        """Return the task function(results of tasks, *more)."""

    @abstractmethod
    def share(self, value: Any) -> Any:
        """Return a value as tasks take it."""

    @abstractmethod
    def compute(self, tasks: Sequence[Any]) -> list[Any]:
        """Return the results of tasks."""

    @abstractmethod
    def keep(self, tasks: Sequence[Any]) -> list[Any]:
        """Return tasks whose results stay where they are computed, to be used by other tasks."""

    def keep_rows(self, blocks: Sequence[Any]) -> list[Any]:
        """Return blocks whose rows are wanted many times."""
        return self.keep(blocks)

    def keep_targets(self, blocks: Sequence[Any]) -> list[Any]:
        """Return blocks whose targets and weights alone are wanted many times."""
        return list(blocks)

    @abstractmethod
    def plan(self, chosen: Plan, partitions: int, workers: str, client: str) -> Plan:
        """Return a plan with what ran where."""

    def step(self, number: int = 0, error: float = float("nan")) -> bool:
        """Tell that a step is done, whatever its number is elsewhere, and return False: fits here go on to the end."""
        self.steps += 1
        if self._on_step is not None:
            self._on_step(self.steps, error)
        return False

    def count(self, what: str, size: float) -> None:
        """Add to the account of bytes that moved."""
        self.moved[what] = self.moved.get(what, 0) + int(size)


def add_up(parts: Sequence[Any]) -> Any:
    """Return the sum of what is there, leaving the parts as they are, because a task may be run again.

    Examples
    --------
    >>> import numpy as np
    >>> add_up([None, (1, np.ones(2)), (2, np.ones(2))])
    (3, array([2., 2.]))
    """
    present = [part for part in parts if part is not None]
    if not present:
        return None
    if isinstance(present[0], tuple):
        return tuple(add_up(columns) for columns in zip(*present, strict=True))
    total = copy.deepcopy(present[0])
    for part in present[1:]:
        total += part
    return total


def size_of(value: Any) -> int:
    """Return the bytes of arrays in a result."""
    if hasattr(value, "nbytes"):
        return int(value.nbytes)
    if hasattr(value, "data") and hasattr(value, "indices"):  # sparse
        return int(value.data.nbytes + value.indices.nbytes + value.indptr.nbytes)
    if hasattr(value, "memory_usage"):
        return int(np.sum(value.memory_usage(index=False)))
    if isinstance(value, dict):
        return sum(map(size_of, value.values()))
    if isinstance(value, list | tuple):
        return sum(map(size_of, value))
    if hasattr(value, "__dataclass_fields__"):
        return sum(size_of(getattr(value, name)) for name in value.__dataclass_fields__)
    return 8
