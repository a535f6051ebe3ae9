"""What is computed from pieces: tasks, what they read, and what is kept of them on the disk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mercer.distributed.executor import add_up

from .arrays import open_array
from .checkpoint import load_record, save_record


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
        """Return what tells this task from others."""
        name = f"{self.function.__module__}.{self.function.__qualname__}"
        return name, _describe(self.block), _describe(list(self.shared))


@dataclass(frozen=True)
class Reading:
    """Columns of a piece, or rows of an array that belongs to it."""

    executor: Any = field(repr=False)
    number: int
    columns: Any  # a list of names for a frame, a name for an array; None for all columns of an array

    def run(self) -> Any:
        """Read them."""
        return self.executor.read(self.number, self.columns)

    def describe(self) -> Any:
        """Return which rows and columns these are."""
        return self.executor.key, self.number, self.columns


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
        """Return which array it is, and which part of it."""
        return self.key, self.start


@dataclass(frozen=True)
class Result:
    """A result that lies on the disk as long as a task may ask for it."""

    path: Path
    handle: object = field(repr=False)  # when nobody has it any more, the files go
    task: Any = field(default=None, repr=False)  # what makes it, where a fit that was killed may have removed it

    def run(self) -> Any:
        """Read it, or make it again."""
        try:
            return load_record(self.path)
        except Exception:  # a file that is not there, or not whole
            if self.task is None:
                raise
        found = self.task.run()
        save_record(self.path, found)
        return found

    def describe(self) -> Any:
        """Return the name of the results, which is a hash of all that went into them."""
        return self.path.parent.name, self.path.name


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


def _run(block: Any) -> Any:
    if isinstance(block, list):
        return [_run(part) for part in block]
    return block.run() if hasattr(block, "run") else block


def _describe(block: Any) -> Any:
    if isinstance(block, list):
        return [_describe(part) for part in block]
    return block.describe() if hasattr(block, "describe") else block
