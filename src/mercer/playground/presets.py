"""Points to begin with: those of the lecture, of textbooks, and real ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from .learners import Task, Value
from .limits import MOST_POINTS, PlayError, round_numbers
from .state import State, find_view

Points = tuple[np.ndarray, np.ndarray]
Draw = Callable[[int, float, np.random.Generator], Points]


@dataclass(frozen=True)
class Preset:
    """Points with a kernel and a learner that show what they are for.

    Parameters
    ----------
    key, title : str
        Its name, and what people read.
    task : {"regression", "classification"}
        What is learned.
    draw : function of count, noise and a random generator
        Returns inputs and targets.
    kernel : str
        The kernel to begin with.
    learner : str, default="ridge"
        The learner to begin with.
    settings : mapping, optional
        Its settings.
    noise : float, default=0.2
        The noise to begin with.
    count : int, default=120
        How many points to begin with.
    names : pair of str
        The names of the axes.
    """

    key: str
    title: str
    task: Task
    draw: Draw
    kernel: str
    learner: str = "ridge"
    settings: Mapping[str, Value] = field(default_factory=dict)
    noise: float = 0.2
    count: int = 120
    names: tuple[str, str] = ("x₁", "x₂")

    def make(self, count: int | None = None, noise: float | None = None, seed: int = 0) -> State:
        """Return the state; points of the lecture and real ones have their own number and no noise.

        Parameters
        ----------
        count : int, optional
            How many points.
        noise : float, optional
            The deviation of the noise, from 0 to 10.
        seed : int, default=0
            The same seed gives the same points.

        Examples
        --------
        >>> from mercer.playground.presets import PRESETS
        >>> PRESETS["moons"].make(count=50, seed=1).x.shape
        (50, 2)
        """
        n = self.count if count is None else count
        if not 1 <= n <= MOST_POINTS:
            raise PlayError(f"there can be 1 to {MOST_POINTS} points; got {n}. Choose a number in between.")
        amount = self.noise if noise is None else noise
        if not 0 <= amount <= 10:
            raise PlayError(f"noise lies between 0 and 10; got {amount:g}. Choose a number in between.")
        x, y = self.draw(n, amount, np.random.default_rng(seed))
        x = round_numbers(x)
        y = y if self.task == "classification" else round_numbers(y)
        return State(
            self.task, x, y, self.kernel, self.learner, self.settings, find_view(x, None if x.shape[1] == 2 else y),
            self.names,
        )  # fmt: skip


def _share(n: int, classes: int) -> np.ndarray:
    """Return the classes of n points, about equally many of each."""
    return np.arange(n) * classes // n


def _draw_moons(n: int, noise: float, rng: np.random.Generator) -> Points:
    y = _share(n, 2)
    angle = rng.uniform(0.0, np.pi, n)
    upper, lower = (
        np.column_stack([np.cos(angle), np.sin(angle)]),
        np.column_stack([1 - np.cos(angle), 0.5 - np.sin(angle)]),
    )
    return np.where(y[:, None] == 0, upper, lower) + rng.normal(0.0, noise, (n, 2)), y


def _draw_sine(n: int, noise: float, rng: np.random.Generator) -> Points:
    x = np.sort(rng.uniform(-3.0, 3.0, n))
    return x[:, None], np.sin(2.0 * x) + rng.normal(0.0, noise, n)


PLANE = (Preset("moons", "Two moons", "classification", _draw_moons, "Gaussian(0.5)", "svm"),)
LINE = (Preset("sine", "A sine with noise", "regression", _draw_sine, "Gaussian(0.7)", count=60, names=("x", "y")),)

PRESETS: dict[str, Preset] = {preset.key: preset for preset in (*PLANE, *LINE)}
