"""Points to begin with: those of the lecture, of textbooks, and real ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from mercer.datasets import load_credit, load_energy

from .learners import Task, Value
from .limits import MOST_POINTS, PlayError, round_numbers
from .state import State, find_view
from .tables import read_table

__all__ = ["PRESETS", "Preset", "read_table"]

Points = tuple[np.ndarray, np.ndarray]
SAMPLE = 300  # rows of real data
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


# -- two inputs and classes ------------------------------------------------------------------------------------------


def _circle(angle: np.ndarray) -> np.ndarray:
    return np.column_stack([np.cos(angle), np.sin(angle)])


def _draw_moons(n: int, noise: float, rng: np.random.Generator) -> Points:
    y, upper = _share(n, 2), _circle(rng.uniform(0.0, np.pi, n))
    return np.where(y[:, None] == 0, upper, [1.0, 0.5] - upper) + rng.normal(0.0, noise, (n, 2)), y


def _draw_rings(n: int, noise: float, rng: np.random.Generator) -> Points:
    y = _share(n, 2)
    ring = _circle(rng.uniform(0.0, 2 * np.pi, n)) * np.where(y == 0, 1.0, 2.2)[:, None]
    return ring + rng.normal(0.0, noise, (n, 2)), y


def _draw_xor(n: int, noise: float, rng: np.random.Generator) -> Points:
    corner = np.arange(n) % 4
    centers = np.array([[-1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]])
    return centers[corner] + rng.normal(0.0, 2 * noise, (n, 2)), corner // 2


def _draw_blobs(n: int, noise: float, rng: np.random.Generator) -> Points:
    y = _share(n, 3)
    return 1.5 * _circle(np.pi * (0.5 + 2.0 * y / 3.0)) + rng.normal(0.0, 3 * noise, (n, 2)), y


def _draw_spirals(n: int, noise: float, rng: np.random.Generator) -> Points:
    y, way = _share(n, 2), np.sqrt(rng.uniform(0.02, 1.0, n))
    arm = way[:, None] * _circle(3.0 * np.pi * way + np.pi * y) * 2.0
    return arm + rng.normal(0.0, 0.3 * noise, (n, 2)), y


def _draw_gaussians(n: int, noise: float, rng: np.random.Generator) -> Points:
    y = _share(n, 2)
    spread = np.where(y[:, None] == 0, [0.6, 0.6], [1.4, 0.5]) + noise
    return np.where(y[:, None] == 0, [-1.0, 0.0], [1.0, 0.4]) + rng.normal(size=(n, 2)) * spread, y


def _draw_corners(n: int, noise: float, rng: np.random.Generator) -> Points:
    """The four corners that no line separates, whatever the number asked for."""
    return np.array([[-1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]]), np.array([0, 0, 1, 1])


def _draw_credit(n: int, noise: float, rng: np.random.Generator) -> Points:
    """Duration and amount of a sample of credits, in standard units of their logarithms."""
    table = load_credit(as_frame=False)
    columns = [table.feature_names.index(name) for name in CREDIT_COLUMNS]
    return _sample_rows(np.log(table.data[:, columns].astype(np.float64)), (table.target == "bad").astype(int), n, rng)


# -- one input and a target ------------------------------------------------------------------------------------------


def _draw_sine(n: int, noise: float, rng: np.random.Generator) -> Points:
    x = np.sort(rng.uniform(-3.0, 3.0, n))
    return x[:, None], np.sin(2.0 * x) + rng.normal(0.0, noise, n)


def _draw_step(n: int, noise: float, rng: np.random.Generator) -> Points:
    x = np.sort(rng.uniform(-3.0, 3.0, n))
    return x[:, None], np.sign(x) + rng.normal(0.0, noise, n)


def _draw_sinc(n: int, noise: float, rng: np.random.Generator) -> Points:
    x = np.sort(rng.uniform(-4.0, 4.0, n))
    return x[:, None], np.sinc(x) + rng.normal(0.0, noise, n)


def _draw_outliers(n: int, noise: float, rng: np.random.Generator) -> Points:
    x, y = _draw_sine(n, noise, rng)
    far = rng.choice(n, max(1, n // 12), replace=False)
    y[far] += rng.uniform(2.5, 4.5, len(far))
    return x, y


def _draw_fan(n: int, noise: float, rng: np.random.Generator) -> Points:
    x = np.sort(rng.uniform(0.0, 4.0, n))
    return x[:, None], np.sin(1.5 * x) + rng.normal(0.0, 1.0, n) * noise * x


def _draw_three(n: int, noise: float, rng: np.random.Generator) -> Points:
    """Three points that are computed by hand, whatever the number asked for."""
    return np.array([[0.0], [1.0], [3.0]]), np.array([1.0, 2.0, 0.0])


def _draw_energy(n: int, noise: float, rng: np.random.Generator) -> Points:
    """Compactness of a sample of buildings, in standard units, and their heating load."""
    table = load_energy(as_frame=False)
    column = table.feature_names.index(ENERGY_COLUMN)
    x, y = _sample_rows(table.data[:, [column]].astype(np.float64), table.target.astype(np.float64), n, rng)
    return x, (y - y.mean()) / y.std()


CREDIT_COLUMNS = ("duration", "amount")
ENERGY_COLUMN = "relative_compactness"


def _sample_rows(x: np.ndarray, y: np.ndarray, n: int, rng: np.random.Generator) -> Points:
    """Return a sample of rows whose inputs have mean 0 and deviation 1."""
    rows = np.sort(rng.choice(len(y), min(n, len(y)), replace=False))
    x = x[rows]
    return (x - x.mean(axis=0)) / np.where(x.std(axis=0) > 0, x.std(axis=0), 1.0), y[rows]


XY = ("x", "y")
PRESETS: dict[str, Preset] = {
    preset.key: preset
    for preset in (
        Preset("moons", "Two moons", "classification", _draw_moons, "Gaussian(0.5)", "svm"),
        Preset("rings", "Two rings", "classification", _draw_rings, "Polynomial(2, 1.0)", "svm"),
        Preset("xor", "Exclusive or", "classification", _draw_xor, "Polynomial(2, 1.0)", "ridge"),
        Preset("blobs", "Three clouds", "classification", _draw_blobs, "Gaussian(1.0)", "logistic"),
        Preset("spirals", "Two spirals", "classification", _draw_spirals, "Gaussian(0.3)", "svm", {"C": 100.0}),
        Preset("gaussians", "Two Gaussians", "classification", _draw_gaussians, "Linear()", "logistic"),
        Preset("corners", "Four corners (lecture)", "classification", _draw_corners, "Polynomial(2)", "perceptron"),
        Preset(
            "credit", "Credits (real data)", "classification", _draw_credit, "Gaussian(1.0)", "logistic",
            {"alpha": 1.0}, count=SAMPLE, names=("log duration, standardised", "log amount, standardised"),
        ),
        Preset("sine", "A sine with noise", "regression", _draw_sine, "Gaussian(0.7)", count=60, names=XY),
        Preset("step", "A step", "regression", _draw_step, "Matern(0.5, 1.0)", noise=0.1, count=60, names=XY),
        Preset("sinc", "The cardinal sine", "regression", _draw_sinc, "Gaussian(0.7)", "svm", noise=0.05, names=XY),
        Preset(
            "outliers", "Outliers", "regression", _draw_outliers, "Gaussian(0.7)", "any_loss", {"loss": "Huber(0.3)"},
            count=60, names=XY,
        ),
        Preset("fan", "Noise that grows", "regression", _draw_fan, "Gaussian(0.7)", noise=0.25, names=XY),
        Preset(
            "three", "Three points (lecture)", "regression", _draw_three, "Gaussian(1.0)", settings={"alpha": 0.5},
            names=XY,
        ),
        Preset(
            "energy", "Buildings (real data)", "regression", _draw_energy, "Gaussian(1.0)", count=SAMPLE,
            names=("relative compactness, standardised", "heating load, standardised"),
        ),
    )
}  # fmt: skip
