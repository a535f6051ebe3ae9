"""What is played with: points, a kernel as text and a learner, as one value that never changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from .composing import read_kernel
from .learners import LEARNERS, TASKS, Task, Value, find_learner
from .limits import LARGEST, LONGEST_NAME, MOST_CLASSES, MOST_POINTS, PlayError

__all__ = ["LARGEST", "MOST_CLASSES", "MOST_POINTS", "PlayError", "State", "Task", "View", "find_view"]

View = tuple[float, float, float, float]
MARGIN = 0.12  # of a picture beyond its points, as a share of their range
WIDEST = 10 * LARGEST  # end of a picture, which has room around its points
PLAIN_KERNEL = "Gaussian(1.0)"
NEAREST = "ridge"  # the learner that can do every task, for one that cannot


@dataclass(frozen=True, eq=False)
class State:
    """Points, a kernel and a learner.

    Everything is checked and copied when a state is made, so that a state can always be drawn, linked to and written
    down; whether it can be fitted is for :func:`~mercer.playground.fitting.fit_state` to say.

    Parameters
    ----------
    task : {"regression", "classification"}
        One input and a target, or two inputs and classes.
    x : array of shape (n, 1) or (n, 2)
        The inputs.
    y : array of shape (n,)
        The targets, or the codes of classes from 0 to 5.
    kernel : str, default="Gaussian(1.0)"
        The text of the kernel.
    learner : str, default="ridge"
        A key of :data:`~mercer.playground.learners.LEARNERS`.
    settings : mapping, optional
        Settings of the learner by name; those missing have their defaults.
    view : (x0, x1, y0, y1)
        The ranges of the picture.
    names : pair of str
        What the axes are called.

    Raises
    ------
    PlayError
        If something is not as said, in words for whoever plays.

    Examples
    --------
    >>> from mercer.playground.state import State
    >>> state = State("regression", [[0.0], [1.0]], [1.0, 2.0]).add_point((2.0, 0.5))
    >>> state.x.shape, state.y.tolist()
    ((3, 1), [1.0, 2.0, 0.5])
    """

    task: Task
    x: np.ndarray
    y: np.ndarray
    kernel: str = PLAIN_KERNEL
    learner: str = "ridge"
    settings: Mapping[str, Value] = field(default_factory=dict)
    view: View = (-3.0, 3.0, -2.0, 2.0)
    names: tuple[str, str] = ("x", "y")

    def __post_init__(self) -> None:
        if self.task not in TASKS:
            raise PlayError(f"a task is regression or classification; got {str(self.task)[:60]!r}")
        x, y = _check_points(self.task, self.x, self.y)
        read_kernel(self.kernel, self.dim)
        learner = find_learner(self.learner)
        if self.task not in learner.tasks:
            others = [known.title for known in LEARNERS.values() if self.task in known.tasks]
            raise PlayError(f"{learner.title} does no {self.task}. Choose one of {', '.join(others)}.")
        given: object = self.settings
        if not isinstance(given, Mapping):
            raise PlayError(f"settings are values by name; got {type(given).__name__}")
        for name, value in (
            ("x", x), ("y", y), ("settings", MappingProxyType(learner.check_settings(self.task, given))),
            ("view", _check_view(self.view)), ("names", _check_names(self.names)),
        ):  # fmt: skip
            object.__setattr__(self, name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        # The view of the settings that nobody can write to is neither copied nor pickled by Python.
        given = (self.task, self.x, self.y, self.kernel, self.learner, dict(self.settings), self.view, self.names)
        return type(self), given

    @property
    def n(self) -> int:
        """How many points there are."""
        return len(self.y)

    @property
    def dim(self) -> int:
        """How many inputs a point has."""
        return 1 if self.task == "regression" else 2

    @property
    def values(self) -> dict[str, Value]:
        """The value of every setting: what was chosen, or its default, within what the points allow."""
        return LEARNERS[self.learner].read_settings(self.task, self.settings, self.n)

    @property
    def positions(self) -> np.ndarray:
        """Where the points are in the picture, shape (n, 2)."""
        return np.column_stack([self.x[:, 0], self.y if self.task == "regression" else self.x[:, 1]])

    def same(self, other: State) -> bool:
        """Whether another state has the same content."""
        return (
            (self.task, self.kernel, self.learner, self.view, self.names, dict(self.settings))
            == (other.task, other.kernel, other.learner, other.view, other.names, dict(other.settings))
            and np.array_equal(self.x, other.x)
            and np.array_equal(self.y, other.y)
        )

    # -- points -----------------------------------------------------------------------------------------------------

    def with_points(self, x: Any, y: Any) -> Self:
        """Return the state with other points."""
        return replace(self, x=x, y=y)

    def add_point(self, at: tuple[float, float], label: int = 0) -> Self:
        """Return the state with one more point.

        Parameters
        ----------
        at : pair of float
            Where it is in the picture.
        label : int, default=0
            Its class, if there are classes.
        """
        if self.n >= MOST_POINTS:
            raise PlayError(f"there are {MOST_POINTS} points already. Erase some first.")
        x, y = self._locate(at, label)
        return self.with_points(np.vstack([self.x, [x]]), np.append(self.y, y))

    def move_point(self, i: int, at: tuple[float, float]) -> Self:
        """Return the state with point i elsewhere, of the class it has."""
        self._check_position(i)
        x, y = self._locate(at, self.y[i])
        inputs, targets = self.x.copy(), self.y.copy()
        inputs[i], targets[i] = x, y
        return self.with_points(inputs, targets)

    def erase_point(self, i: int) -> Self:
        """Return the state without point i."""
        self._check_position(i)
        return self.with_points(np.delete(self.x, i, axis=0), np.delete(self.y, i))

    def _locate(self, at: tuple[float, float], label: Any) -> tuple[list[float], Any]:
        first, second = at
        return ([first], second) if self.task == "regression" else ([first, second], label)

    def _check_position(self, i: int) -> None:
        if not 0 <= i < self.n:
            raise PlayError(f"there is no point {i}; there are {self.n}, counted from 0")

    # -- what is done with them ---------------------------------------------------------------------------------------

    def with_kernel(self, text: str) -> Self:
        """Return the state with another kernel."""
        return replace(self, kernel=text)

    def with_learner(self, key: str) -> Self:
        """Return the state with another learner, which keeps settings of the same name."""
        return replace(self, learner=key, settings=self._keep_settings(key, self.task))

    def with_setting(self, name: str, value: Value) -> Self:
        """Return the state with a setting of its learner changed."""
        return replace(self, settings={**self.settings, name: value})

    def with_view(self, view: View) -> Self:
        """Return the state with other ranges of the picture."""
        return replace(self, view=view)

    def with_task(self, task: Task) -> Self:
        """Return the state for another task, with as much kept as can be.

        Points stay where they are in the picture: targets become the second input, with two classes above and below
        their median, or the other way round.  A kernel of the other number of inputs becomes a Gaussian, and a learner
        without the task ridge.
        """
        if task == self.task:
            return self
        if task not in TASKS:
            raise PlayError(f"a task is regression or classification; got {str(task)[:60]!r}")
        at = self.positions
        if task == "classification":
            x, y, dim = at, (at[:, 1] > np.median(at[:, 1]) if len(at) else at[:, 1]).astype(np.int64), 2
        else:
            x, y, dim = at[:, :1], at[:, 1], 1
        try:
            read_kernel(self.kernel, dim)
            kernel = self.kernel
        except PlayError:
            kernel = PLAIN_KERNEL
        key = self.learner if task in LEARNERS[self.learner].tasks else NEAREST
        kept = self._keep_settings(key, task)
        return replace(self, task=task, x=x, y=y, kernel=kernel, learner=key, settings=kept)

    def _keep_settings(self, key: str, task: Task) -> dict[str, Value]:
        """Return the settings that another learner has too."""
        known = {setting.name: setting for setting in find_learner(key).list_settings(task)}
        return {name: value for name, value in self.settings.items() if _fits(known.get(name), value)}


def find_view(x: np.ndarray, y: np.ndarray | None = None) -> View:
    """Return the ranges of a picture of points: of one input and targets, or of two inputs.

    Examples
    --------
    >>> from mercer.playground.state import find_view
    >>> find_view([[0.0, 0.0], [1.0, 2.0]])
    (-0.12, 1.12, -0.24, 2.24)
    """
    points = np.asarray(x, dtype=np.float64)
    columns = [points[:, 0], points[:, 1] if points.shape[1] == 2 else np.asarray(y, dtype=np.float64)]
    ranges = []
    for column in columns:
        low, high = (float(column.min()), float(column.max())) if len(column) else (-1.0, 1.0)
        margin = MARGIN * (high - low) or 1.0
        ranges += [round(low - margin, 6), round(high + margin, 6)]
    return ranges[0], ranges[1], ranges[2], ranges[3]


def _fits(setting: Any, value: Value) -> bool:
    """Whether a value is one of a setting."""
    try:
        return setting is not None and setting.check(value) == value
    except PlayError:
        return False


def _read_numbers(values: Any, what: str, most: float = LARGEST) -> np.ndarray:
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise PlayError(f"{what} are numbers; got something else") from None
    if not np.isfinite(array).all():
        raise PlayError(f"{what} are numbers; got one that is not finite")
    if array.size and np.abs(array).max() > most:
        raise PlayError(
            f"{what} go up to {most:g} here; got {np.abs(array).max():g}. Measure the points in a larger unit."
        )
    return array


def _check_points(task: Task, x: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return inputs and targets as arrays of their own that cannot be written to."""
    if max(_count(x), _count(y)) > MOST_POINTS:
        raise PlayError(f"there can be {MOST_POINTS} points; got {max(_count(x), _count(y))}. Take a sample of them.")
    inputs, targets = _read_numbers(x, "coordinates"), _read_numbers(y, "targets")
    width = 1 if task == "regression" else 2
    inputs = inputs.reshape(-1, width) if inputs.size == 0 else inputs
    if inputs.ndim != 2 or inputs.shape[1] != width or targets.shape != inputs.shape[:1]:
        raise PlayError(
            f"a {task} has points of {width} input{'s' * (width > 1)} and a {'target' if width == 1 else 'class'} for "
            f"each; got arrays of shape {inputs.shape} and {targets.shape}"
        )
    if task == "classification":
        whole = targets.astype(np.int64)
        if not (np.array_equal(whole, targets) and ((whole >= 0) & (whole < MOST_CLASSES)).all()):
            raise PlayError(f"classes are whole numbers from 0 to {MOST_CLASSES - 1}; got another")
        targets = whole
    for array in (inputs, targets):
        array.flags.writeable = False
    return inputs, targets


def _count(values: Any) -> int:
    return len(values) if hasattr(values, "__len__") else 0


def _check_view(view: Any) -> View:
    ranges = _read_numbers(view, "ranges of a picture", WIDEST)
    if ranges.shape != (4,) or not (ranges[0] < ranges[1] and ranges[2] < ranges[3]):
        raise PlayError("a view is left, right, bottom and top, each pair in order; got something else")
    x0, x1, y0, y1 = ranges.tolist()
    return x0, x1, y0, y1


def _check_names(names: Any) -> tuple[str, str]:
    right = isinstance(names, list | tuple) and len(names) == 2 and all(isinstance(name, str) for name in names)
    if not right:
        raise PlayError("names are two texts, of the axes; got something else")
    return names[0][:LONGEST_NAME], names[1][:LONGEST_NAME]
