"""The column to predict: its cells are read once, and tell what kind of model they ask for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.words import count_things

from .._errors import CommandError

if TYPE_CHECKING:
    import pandas as pd

    from mercer.auto.judging.targets import ReadTargets
    from mercer.losses import Loss

FEW_CLASSES = 10  # different whole numbers up to which they are taken for classes
LARGEST = 1e150  # number whose square is one too
LEAST_REPEATS = 5  # rows that each of them has on average, at least


@dataclass(frozen=True)
class TargetCells:
    """The cells of a target.

    Parameters
    ----------
    name : str
        The column.
    cells : array of shape (n,)
        As they are.
    numbers : array of shape (n,)
        The numbers they are, NaN for others.
    missing : array of shape (n,)
        Which say that there is no value.
    numeric : bool
        Whether they are numbers, a few aside.
    """

    name: str
    cells: np.ndarray
    numbers: np.ndarray
    missing: np.ndarray
    numeric: bool

    def guess_task(self) -> tuple[str, str]:
        """Return the task that the cells ask for, and why."""
        if not self.numeric:
            distinct = len(set(self.cells[~self.missing].tolist()))
            return "classification", f"the target holds {distinct} different values that are not numbers"
        numbers = self.numbers[~np.isnan(self.numbers)]
        distinct = len(np.unique(numbers))
        whole = bool(np.all(numbers == numbers.round()))
        if whole and distinct <= FEW_CLASSES and len(numbers) >= LEAST_REPEATS * distinct:
            return "classification", f"the target holds only {count_things(distinct, 'different whole number')}"
        return "regression", "the target holds numbers"

    def find_odd(self) -> Any:
        """Return the first cell that is no number if there are too many of them, None if the target is of numbers."""
        from mercer.auto.judging.targets import SHARE

        odd = np.flatnonzero(~self.missing & (np.isnan(self.numbers) | (self.cells.dtype.kind == "b")))
        return self.cells[odd[:1]].tolist()[0] if len(odd) > (1 - SHARE) * (~self.missing).sum() else None

    def check_loss(self, loss: Loss) -> None:
        """Raise if a loss is one of numbers and the target holds none, or one of classes and it holds nothing else."""
        if loss.task == "regression":
            if (wrong := self.find_odd()) is not None:
                raise CommandError(
                    f"{loss!r} is a loss of numbers, and column {self.name!r} holds {wrong!r}; use one of classes such "
                    "as --loss Logistic"
                )
        elif self.guess_task()[0] == "regression":
            distinct = len(np.unique(self.numbers[~np.isnan(self.numbers)]))
            if distinct > max(2, len(self.cells) // 2):
                raise CommandError(
                    f"{loss!r} is a loss of classes, and column {self.name!r} holds {distinct} different numbers; use "
                    'one of numbers such as --loss "Huber(1.0)"'
                )

    def read(self, task: str) -> ReadTargets:
        """Return the targets of the rows that have one."""
        from mercer.auto.judging.targets import read_targets
        from mercer.auto.tables.reading import write_label

        owner = f"column {self.name!r}"
        if task == "classification":
            read = read_targets(self.cells, "classification", owner)
            self._check_classes(read)
            if read.values.dtype.kind == "f" and (read.values % 1).any():  # 0.5 and 1.5 are names of classes too
                return replace(read, values=np.array([write_label(self.name, value) for value in read.values]))
            return read
        wrong = self.find_odd()
        if isinstance(wrong, float):
            raise CommandError(f"{owner} holds an infinite value; replace it by a number, or leave it empty")
        if wrong is not None:
            raise CommandError(
                f"{owner} holds {wrong!r}, which is not a number; correct it, or use --task classification"
            )
        read = read_targets(self.numbers, "regression", owner)  # which are numbers already
        if (largest := float(np.abs(read.values).max())) > LARGEST:
            raise CommandError(
                f"{owner} holds {largest:.1e}, which is too large to be squared; give it in larger units"
            )
        odd = np.flatnonzero(np.isnan(self.numbers) & ~self.missing)
        shown = tuple((int(row), str(self.cells[row])) for row in odd)
        return replace(read, odd=shown, missing=np.flatnonzero(self.missing))

    def _check_classes(self, read: ReadTargets) -> None:
        """Raise if there are so many different values that they cannot be classes."""
        rows = len(read.kept)
        distinct = len(set(read.values.tolist()))
        if distinct <= max(2, rows // 2):
            return
        odd = read.kept[np.isnan(self.numbers[read.kept])]
        if 0 < len(odd) < rows // 2:
            raise CommandError(
                f"column {self.name!r} holds numbers, but {len(odd)} of {rows} cells are none, such as "
                f"{self.cells[odd[:1]].tolist()[0]!r}; correct them, or leave them empty"
            )
        remedy = "use --task regression" if len(odd) == 0 else "choose a column with fewer different values"
        raise CommandError(f"column {self.name!r} has {distinct} different values in {rows} rows; {remedy}")


def parse_target(y: pd.Series) -> TargetCells:
    """Return the cells of a target, each read once."""
    from mercer.auto.judging.cells import parse_cells
    from mercer.auto.judging.targets import hold_numbers

    cells = y.to_numpy()
    numbers, missing, mostly = parse_cells(cells)
    numeric = cells.dtype.kind in "iuf" or hold_numbers(numbers, missing, mostly)
    return TargetCells(str(y.name), cells, numbers, missing, numeric)


def guess_task(y: pd.Series) -> tuple[str, str]:
    """Return the task that a target asks for, and why.

    Examples
    --------
    >>> import pandas as pd
    >>> from mercer.cli.reading.target import guess_task
    >>> guess_task(pd.Series([0.5, 1.25, 7.0]))
    ('regression', 'the target holds numbers')
    >>> guess_task(pd.Series(["yes", "no", "no"]))
    ('classification', 'the target holds 2 different values that are not numbers')
    """
    return parse_target(y).guess_task()
