"""Steps back and forward."""

from __future__ import annotations

from ..state import State

LONGEST = 100  # steps


class Timeline:
    """A state, those before it and those that were taken back.

    Changes of one kind in a row, such as the places of a point while it is dragged, are one step.

    Examples
    --------
    >>> from mercer.playground.page.timeline import Timeline  # doctest: +SKIP
    """

    def __init__(self, state: State) -> None:
        self.state = state
        self._past: list[State] = []
        self._future: list[State] = []
        self._kind = ""

    @property
    def can_undo(self) -> bool:
        """Whether there is a step back."""
        return bool(self._past)

    @property
    def can_redo(self) -> bool:
        """Whether a step was taken back."""
        return bool(self._future)

    def keep(self, state: State, kind: str = "") -> None:
        """Go to a new state; what was taken back is gone."""
        if not (kind and kind == self._kind and self._past):
            self._past = [*self._past[-LONGEST + 1 :], self.state]
        self.state, self._future, self._kind = state, [], kind

    def undo(self) -> None:
        """Go one step back, if there is one."""
        if self._past:
            self._future.append(self.state)
            self.state, self._kind = self._past.pop(), ""

    def redo(self) -> None:
        """Take back a step back, if there was one."""
        if self._future:
            self._past.append(self.state)
            self.state, self._kind = self._future.pop(), ""
