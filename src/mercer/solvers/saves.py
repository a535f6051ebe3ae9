"""Where a solver that iterates keeps its state, so that a fit that was killed goes on where it was."""

from __future__ import annotations

import hashlib
from typing import Any, Protocol

import numpy as np

from mercer.messages import warn_caller


class Saves(Protocol):
    """What is asked of a place for states; :class:`mercer.stored.checkpoint.Checkpoint` is one.

    It belongs to one problem and one choice of settings: whoever makes it sees to that.
    """

    @property
    def is_due(self) -> bool:
        """Whether so much was done since something was saved that it would be a loss."""

    def read(self, key: str) -> tuple[int, Any] | None:
        """Return how far a state had come and the state, None if there is none."""

    def write(self, key: str, count: int, total: Any) -> None:
        """Keep a state, whole or not at all."""


class State(Protocol):
    """An iteration that can be left and taken up."""

    def snapshot(self) -> dict[str, Any]:
        """Return all that the next step depends on, on the host."""

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a snapshot of the same problem."""


def resume(saves: Saves | None, key: str, state: State) -> None:
    """Take up what was kept of a state, if there is something."""
    found = None if saves is None else saves.read(key)
    if found is not None:
        state.restore(found[1])


def save_if_due(saves: Saves | None, key: str, count: int, state: State) -> None:
    """Keep a state if that was long ago; a fit goes on without one where the disk is full or gone."""
    if saves is None or not saves.is_due:
        return
    try:
        saves.write(key, count, state.snapshot())
    except OSError as reason:
        warn_caller(f"the state of this fit was not saved ({reason}); it goes on: make room for the next one")


def name_state(solver: str, *arrays: np.ndarray) -> str:
    """Return the name of the state of a solver that works on given numbers.

    Examples
    --------
    >>> name_state("cg", np.ones(2)) == name_state("cg", np.ones(2)), name_state("cg", np.ones(2))[:3]
    (True, 'cg-')
    """
    found = hashlib.sha1(usedforsecurity=False)
    for values in arrays:
        found.update(repr((values.shape, values.dtype.str)).encode())
        found.update(np.ascontiguousarray(values).tobytes())
    return f"{solver}-{found.hexdigest()[:16]}"
