"""Tables from which nothing can be learned: why not, and what to do about it."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.formula.data import Rows

from ..tables.frames import name_columns
from ..tables.reading import read_column

FEWEST = 2


def check_table_has_something(
    X: Rows, targets: np.ndarray, target: str = "y", owner: str = "an automatic model"
) -> None:
    """Raise if a table has too few rows, a target that is always the same, or columns that all are.

    Parameters
    ----------
    X : frame or array of shape (n, columns)
        The table.
    targets : array of shape (n,)
        Numbers or labels of all rows, none of them missing.
    target : str
        The name of the target.
    owner : str
        Who asks.

    Raises
    ------
    ValueError
        With the reason and a remedy.

    Examples
    --------
    >>> import numpy as np
    >>> check_table_has_something(np.ones((3, 2)), np.arange(3.0))
    Traceback (most recent call last):
    ...
    ValueError: an automatic model: all 2 columns are the same in every row, so that they say nothing about 'y'; add \
columns that differ between rows
    """
    n = len(targets)
    if n < FEWEST:
        raise ValueError(
            f"{owner} needs at least {FEWEST} rows with a target, got n_samples = {n}; add rows, and look whether "
            f"{target!r} is filled in"
        )
    if np.all(targets == targets[0]):
        shown = targets[:1].tolist()[0]
        shown = int(shown) if isinstance(shown, float) and shown.is_integer() else shown
        raise ValueError(
            f"{owner}: {target!r} is always {shown!r}; there is nothing to learn from one class or value: add rows "
            "where it differs, or choose another target"
        )
    if not any(_varies(name, column) for name, column in name_columns(X)):
        which = f"all {X.shape[1]} columns are" if X.shape[1] > 1 else "the only column is"
        raise ValueError(
            f"{owner}: {which} the same in every row, so that {'they say' if X.shape[1] > 1 else 'it says'} nothing "
            f"about {target!r}; add columns that differ between rows"
        )


def _varies(name: str, column: Any) -> bool:
    """Return whether two rows differ; a row without a value differs from one that has one."""
    values = read_column(name, column)
    present = values.data[~values.missing]
    return bool(len(present)) and (len(present) < len(values.data) or bool(np.any(present != present[0])))
