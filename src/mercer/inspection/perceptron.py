"""The perceptron step by step: its function after each mistake, and all of them as a film."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from mercer.estimators.classifier import choose_classes
from mercer.formula.data import Rows, length, pick
from mercer.models.perceptron import KernelPerceptron
from mercer.solvers.perceptron.history import History

from .drawing.display import Display
from .drawing.estimator import encode_rows, find_model, is_precomputed
from .drawing.frames import MOST_FRAMES, check_target, write_frames
from .drawing.outlines import trace_outlines
from .drawing.regions import encode_labels
from .drawing.slice import Slice
from .drawing.style import INK, add_legend, add_note, fill_outlines, pick_colour, pick_marker

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PICTURE = (8.0, 5.4)  # inches, of a film
WIDE = 6.0  # inches that legend and title need beside each other


@dataclass(kw_only=True, eq=False, repr=False)
class PerceptronDisplay(Display):
    """A perceptron after some of its mistakes: regions of its function then, what it is made of, and the last mistake.

    Functions are those after single mistakes, fₜ = fₜ₋₁ + y k(x, ·), whatever the ``kind`` of the model: a mean or a
    vote is made of them.  Use :meth:`from_estimator`; the parameters are what it computes.

    Parameters
    ----------
    history : History
        The mistakes.
    evaluate : callable
        Takes a step and points of the plane, shape (m, 2), and returns the class of each, a position in ``classes``.
    xx0, xx1 : arrays of shape (r,)
        The grid along the two features.
    points : array of shape (n, 2)
        The data.
    codes : int array of shape (n,)
        The class of each point, a position in ``classes``.
    classes : sequence of str
        The names of the classes.
    names : pair of str
        The names of the two features.
    note : str
        Where the other features stay.

    Attributes
    ----------
    step_ : int
        How many mistakes had been made where it was drawn, after :meth:`plot`.
    ax_, figure_
        What was drawn on, after :meth:`plot`.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import make_moons
    >>> from mercer import KernelPerceptron
    >>> from mercer.inspection import PerceptronDisplay
    >>> from mercer.kernels import Gaussian
    >>> X, y = make_moons(60, noise=0.1, random_state=0)
    >>> model = KernelPerceptron(kernel=Gaussian(0.5), random_state=0).fit(X, y)
    >>> display = PerceptronDisplay.from_estimator(model, X, y, step=3)
    >>> display.ax_.get_title(loc="right")
    'after 3 of 14 mistakes'
    >>> plt.close(display.figure_)
    """

    history: History
    evaluate: Callable[[int, np.ndarray], np.ndarray]
    xx0: np.ndarray
    xx1: np.ndarray
    points: np.ndarray
    codes: np.ndarray
    classes: Sequence[str]
    names: tuple[str, str] = ("x0", "x1")
    note: str = ""

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Rows,
        y: ArrayLike,
        *,
        step: int = -1,
        features: Sequence[int | str] | None = None,
        fixed: Mapping[Any, Any] | None = None,
        grid_resolution: int = 120,
        margin: float = 0.08,
        ax: Axes | None = None,
    ) -> Self:
        """Rebuild a function of a perceptron from its history, and draw.

        Parameters
        ----------
        estimator : fitted KernelPerceptron
            The model, without a budget, or a pipeline that ends in one.
        X : array or frame of shape (n, d)
            The points that it has learnt from, in the order of the data: those of ``fit``, or of all calls of
            ``partial_fit``.
        y : array of shape (n,)
            Their labels.
        step : int, default=-1
            The number of mistakes; 0 is before the first, and −1 the last function.
        features : pair of int or str, optional
            The two features to draw along, needed if there are more.
        fixed : mapping from features to values, optional
            Where the other features stay; at their medians if not given.
        grid_resolution : int, default=120
            Points of the grid along each feature.
        margin : float, default=0.08
            How far to draw beyond the data, as a share of its range.
        ax : Axes, optional
            What to draw on; a new figure if not given.

        Returns
        -------
        PerceptronDisplay
        """
        model = find_model(estimator)
        if not isinstance(model, KernelPerceptron):
            raise ValueError(
                f"{cls.__name__} draws the steps of a KernelPerceptron, and {type(model).__name__} has none; "
                "DecisionDisplay draws the regions of any classifier"
            )
        if is_precomputed(model):
            raise ValueError(f"{cls.__name__}: a precomputed kernel is not known between other points than the data")
        history, view = model.history_, Slice(cls.__name__, X, 2, features, fixed)
        _check_same(cls.__name__, history, encode_rows(estimator, X))
        xx0, xx1 = view.ticks(grid_resolution, margin)

        def evaluate(at: int, places: np.ndarray) -> np.ndarray:
            return choose_classes(history.function(at)(encode_rows(estimator, view.points(places))))

        return cls(
            history=history, evaluate=evaluate, xx0=xx0, xx1=xx1, points=view.values,
            codes=encode_labels(cls.__name__, y, np.asarray(model.classes_), len(view.values)),
            classes=[str(label) for label in np.asarray(model.classes_).tolist()],
            names=(view.names[0], view.names[1]), note=view.describe_rest(),
        ).plot(ax, step=step)  # fmt: skip

    def plot(self, ax: Axes | None = None, *, step: int = -1) -> Self:
        """Draw the regions after some mistakes, the points that the function is made of, and the last mistake.

        Parameters
        ----------
        ax : Axes, optional
            What to draw on; a new figure if not given.
        step : int, default=-1
            The number of mistakes; 0 is before the first, and −1 the last function.

        Returns
        -------
        self
        """
        self.step_ = self._check_step(step)
        ax = self._start(ax)
        self._draw(ax, self.step_)
        return self

    def describe_step(self, step: int) -> str:
        """Return what happened in a step, in a sentence.

        Parameters
        ----------
        step : int
            The number of mistakes.
        """
        step = self._check_step(step)
        if step == 0:
            return "Before the first point: f = 0."
        point, label = self.history.points[step - 1], self.history.labels[step - 1]
        seen = int(self.history.times[step - 1])
        return f"Mistake {step}, at point {seen} of those seen: row {point}, of class {label}, was not on its side."

    def animate(
        self,
        path: str | Path,
        *,
        steps: Iterable[int] | None = None,
        seconds: float = 0.6,
        overwrite: bool = False,
    ) -> Path:
        """Write a film of the steps: a GIF, or a page with a slider that works without a network.

        The file is written whole or not at all.

        Parameters
        ----------
        path : str or Path
            The file; its ending, .gif or .html, says which.
        steps : sequence of int, optional
            The numbers of mistakes to show; if not given all of them, or 60 from the first to the last if there are
            more.
        seconds : float, default=0.6
            How long each is shown.
        overwrite : bool, default=False
            Whether a file that is there may be replaced.

        Returns
        -------
        Path
            The file.
        """
        owner, count = type(self).__name__, len(self.history)
        target = check_target(owner, path, overwrite)
        if not 0.02 <= seconds <= 60.0:
            raise ValueError(f"{owner}: seconds must be between 0.02 and 60, got {seconds!r}")
        chosen = np.unique(np.linspace(0, count, MOST_FRAMES + 1).round()) if steps is None else steps
        numbers = [self._check_step(int(step)) for step in chosen]
        if not numbers:
            raise ValueError(f"{owner}: steps is empty; leave it out to show all {count} mistakes")
        plt = self._import_pyplot()
        figure, ax = plt.subplots(figsize=PICTURE, layout="constrained")

        def draw(step: int) -> str:
            ax.clear()
            self._draw(ax, step)
            return self.describe_step(step)

        try:
            write_frames(target, figure, draw, numbers, seconds, "The perceptron, step by step")
        finally:
            plt.close(figure)
        return target

    def _check_step(self, step: int) -> int:
        count = len(self.history)
        if not -count - 1 <= step <= count:
            raise ValueError(
                f"{type(self).__name__}: there were {count} mistakes, so step must be between 0 and {count}; got {step}"
            )
        return int(step) if step >= 0 else int(step) + count + 1

    def _draw(self, ax: Any, step: int) -> None:
        if step > 0:  # before that f is 0, and there are no regions
            found = trace_outlines(lambda at: self.evaluate(step, at), self.xx0, self.xx1, len(self.classes))
            for code, outlines in enumerate(found.loops):
                fill_outlines(ax, outlines, pick_colour(code))
            for line in found.boundary:
                ax.plot(*line.T, color=INK, linewidth=1.4, zorder=2)
        handles = []
        for code, name in enumerate(self.classes):
            look: dict[str, Any] = {"color": pick_colour(code), "marker": pick_marker(code), "s": 26, "label": name}
            own = self.points[self.codes == code]
            handles.append(ax.scatter(*own.T, edgecolors="white", linewidths=0.5, zorder=3, **look))
        wrong = self.history.points[:step]
        ring: dict[str, Any] = {"facecolors": "none", "zorder": 4}
        vectors, last = self.points[np.unique(wrong)], self.points[wrong[-1:]]
        handles.append(ax.scatter(*vectors.T, s=95, edgecolors=INK, linewidths=1.1, label="wrong so far", **ring))
        red: dict[str, Any] = {"s": 260, "edgecolors": pick_colour(5), "linewidths": 2.4, "label": "wrong just now"}
        handles.append(ax.scatter(*last.T, **red, **ring))
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        ax.set(xlim=(self.xx0[0], self.xx0[-1]), ylim=(self.xx1[0], self.xx1[-1]))
        # Beside the legend if there is room for both, and above it if not.
        inches = ax.bbox.width / ax.figure.dpi
        title: dict[str, Any] = {"loc": "right", "fontsize": 10} | ({} if inches > WIDE else {"pad": 46.0})
        ax.set_title(f"after {step} of {len(self.history)} mistakes", **title)
        add_legend(ax, handles, room=70 if inches > WIDE else 40)
        add_note(ax, self.note)


def _check_same(owner: str, history: History, X: Rows) -> None:
    """Raise if the points are not those that the model has learnt from."""
    wrong = np.unique(history.points)
    if wrong[-1] < length(X):
        vectors, rows = (np.asarray(each, dtype=np.float64) for each in (history.vectors(-1), pick(X, wrong)))
        if np.array_equal(vectors, rows):
            return
    raise ValueError(
        f"{owner} needs the points that the model has learnt from, in the same order, as X: those of fit, or of all "
        "calls of partial_fit one after the other"
    )
