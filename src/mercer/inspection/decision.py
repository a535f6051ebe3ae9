"""The regions of a classifier, its margins, and the points that carry it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from mercer.formula.data import Rows

from .drawing.display import Display
from .drawing.estimator import find_vectors
from .drawing.outlines import trace_outlines
from .drawing.regions import compute_margin, encode_labels, make_question, name_classes
from .drawing.slice import Slice
from .drawing.style import INK, add_legend, add_note, fill_outlines, pick_colour, pick_marker

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(kw_only=True, eq=False, repr=False)
class DecisionDisplay(Display):
    """The regions of a classifier in the plane of two features.

    Use :meth:`from_estimator`; the parameters are what it computes.

    Parameters
    ----------
    xx0, xx1 : arrays of shape (r,)
        The grid along the two features.
    predicted : int array of shape (r, r)
        The class at each point of the grid, a position in ``classes``.
    regions : sequence of sequences of arrays of shape (m, 2)
        For each class the closed outlines of where it is predicted.
    boundary : sequence of arrays of shape (m, 2)
        The curves on which the predicted class changes.  Each point on a line of the grid is one where it does, found
        by bisection.
    classes : sequence
        The names of the classes.
    margin : array of shape (r, r), optional
        Values whose levels are margins.
    margin_levels : sequence of float
        The levels.
    margin_label : str
        What they are, for the legend.
    points : array of shape (n, 2), optional
        The data.
    codes : int array of shape (n,), optional
        The class of each point, a position in ``classes``.
    vectors : array of shape (m, 2), optional
        Support or import vectors.
    vector_label : str
        What they are, for the legend.
    names : pair of str
        The names of the two features.
    note : str
        Where the other features stay.

    Attributes
    ----------
    ax_, figure_
        What was drawn on, after :meth:`plot`.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import make_moons
    >>> from mercer import SVC
    >>> from mercer.inspection import DecisionDisplay
    >>> X, y = make_moons(100, noise=0.2, random_state=0)
    >>> display = DecisionDisplay.from_estimator(SVC(C=10.0).fit(X, y), X, y)
    >>> [text.get_text() for text in display.ax_.get_legend().get_texts()]
    ['0', '1', 'boundary', 'margin f = ±1', '15 support vectors']
    >>> plt.close(display.figure_)
    """

    xx0: np.ndarray
    xx1: np.ndarray
    predicted: np.ndarray
    regions: Sequence[Sequence[np.ndarray]]
    boundary: Sequence[np.ndarray]
    classes: Sequence[Any]
    margin: np.ndarray | None = None
    margin_levels: Sequence[float] = ()
    margin_label: str = ""
    points: np.ndarray | None = None
    codes: np.ndarray | None = None
    vectors: np.ndarray | None = None
    vector_label: str = ""
    names: tuple[str, str] = ("x0", "x1")
    note: str = ""

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Rows,
        y: ArrayLike | None = None,
        *,
        features: Sequence[int | str] | None = None,
        fixed: Mapping[Any, Any] | None = None,
        grid_resolution: int = 200,
        margin: float = 0.08,
        ax: Axes | None = None,
    ) -> Self:
        """Ask a classifier about a grid, and draw.

        Parameters
        ----------
        estimator : fitted classifier or outlier detector
            Any with ``predict``.  Margins are f = ±1 of support vector machines for two classes, and probabilities of
            0.1 and 0.9.
        X : array or frame of shape (n, d)
            The points to draw.
        y : array of shape (n,), optional
            Their labels.
        features : pair of int or str, optional
            The two features to draw along, needed if there are more.
        fixed : mapping from features to values, optional
            Where the other features stay; at their medians if not given.
        grid_resolution : int, default=200
            Points of the grid along each feature.
        margin : float, default=0.08
            How far to draw beyond the data, as a share of its range.
        ax : Axes, optional
            What to draw on; a new figure if not given.

        Returns
        -------
        DecisionDisplay
        """
        check_is_fitted(estimator)
        view = Slice(cls.__name__, X, 2, features, fixed)
        xx0, xx1 = view.ticks(grid_resolution, margin)
        grid = view.points(np.stack(np.meshgrid(xx0, xx1), axis=-1).reshape(-1, 2))
        classes, labels = name_classes(cls.__name__, estimator)
        found = trace_outlines(make_question(estimator, view, classes), xx0, xx1, len(classes))
        values, levels, words = compute_margin(estimator, grid)
        vectors, called = find_vectors(estimator)
        if vectors is not None:
            vectors = vectors[:, view.positions] if vectors.shape[1] == view.width else None
        return cls(
            xx0=xx0,
            xx1=xx1,
            predicted=found.predicted,
            regions=found.loops,
            boundary=found.boundary,
            classes=labels,
            margin=None if values is None else values.reshape(found.predicted.shape),
            margin_levels=levels,
            margin_label=words,
            points=view.values,
            codes=None if y is None else encode_labels(cls.__name__, y, classes, len(view.values)),
            vectors=vectors,
            vector_label="" if vectors is None else f"{len(vectors)} {called}",
            names=(view.names[0], view.names[1]),
            note=view.describe_rest(),
        ).plot(ax)

    def plot(self, ax: Axes | None = None, *, margins: bool = True, vectors: bool = True) -> Self:
        """Draw regions, boundaries, margins, points and vectors.

        Parameters
        ----------
        ax : Axes, optional
            What to draw on; a new figure if not given.
        margins, vectors : bool, default=True
            Whether to draw margins, and support or import vectors.

        Returns
        -------
        self
        """
        ax = self._start(ax)
        handles = [*self._draw_regions(ax), *self._draw_lines(ax, margins)]
        if vectors and self.vectors is not None:
            ring: dict[str, Any] = {"s": 95, "facecolors": "none", "edgecolors": INK, "linewidths": 1.1}
            handles.append(
                ax.scatter(self.vectors[:, 0], self.vectors[:, 1], label=self.vector_label, zorder=4, **ring)
            )
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        ax.set(xlim=(self.xx0[0], self.xx0[-1]), ylim=(self.xx1[0], self.xx1[-1]))
        add_legend(ax, handles)
        add_note(ax, self.note)
        return self

    def _draw_regions(self, ax: Axes) -> list[Any]:
        from matplotlib.patches import Patch

        handles: list[Any] = []
        for code, (name, outlines) in enumerate(zip(self.classes, self.regions, strict=True)):
            colour = pick_colour(code)
            fill_outlines(ax, outlines, colour)
            if self.points is None or self.codes is None:
                handles.append(Patch(facecolor=colour, alpha=0.35, label=str(name)))
                continue
            own = self.points[self.codes == code]
            look: dict[str, Any] = {
                "color": colour,
                "marker": pick_marker(code),
                "s": 26,
                "edgecolors": "white",
                "linewidths": 0.5,
            }
            handles.append(ax.scatter(own[:, 0], own[:, 1], label=str(name), zorder=3, **look))
        if self.points is not None and self.codes is None:
            handles.append(ax.scatter(self.points[:, 0], self.points[:, 1], s=14, color=INK, label="data", zorder=3))
        return handles

    def _draw_lines(self, ax: Axes, margins: bool) -> list[Any]:
        from matplotlib.lines import Line2D

        handles: list[Any] = [Line2D([], [], color=INK, linewidth=1.4, label="boundary")] if self.boundary else []
        for line in self.boundary:
            ax.plot(*line.T, color=INK, linewidth=1.4, zorder=2, solid_joinstyle="round")
        if not margins or self.margin is None:
            return handles
        inside = [level for level in self.margin_levels if self.margin.min() < level < self.margin.max()]
        if inside:
            look: dict[str, Any] = {"linewidths": 1.1, "linestyles": "--", "colors": INK}
            ax.contour(self.xx0, self.xx1, self.margin, levels=inside, zorder=2, **look)
            handles.append(Line2D([], [], color=INK, linewidth=1.1, linestyle="--", label=self.margin_label))
        return handles
