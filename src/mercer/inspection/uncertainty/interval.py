"""Intervals of regressors: as bands along one input, or how wide they are where."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from mercer.formula.data import Rows, length

from ..drawing.bounds import Case, ask_interval, check_numbers, is_inside, list_cases, read_values
from ..drawing.display import PanelsDisplay
from ..drawing.slice import Slice
from ..drawing.style import add_legend, add_note, hide_frame, measure_room, pick_colour

OUTSIDE = 5  # the colour of points outside, in the palette
MOST = 4  # panels side by side


@dataclass(kw_only=True, eq=False, repr=False)
class IntervalDisplay(PanelsDisplay):
    """The intervals of one or more regressors, or of one by several methods, side by side.

    With one input the interval is a band along it.  With more, each point has the width of its interval, against a
    column or against the prediction.  Targets outside of their interval are marked.  Use :meth:`from_estimator` or
    :meth:`from_estimators`; the parameters are what they compute.

    Parameters
    ----------
    labels : sequence of k str
        What the panels show.
    coverage : float
        The share of new targets that the intervals are to hold.
    intervals : array of shape (k, n, 2)
        The ends at the points.
    predictions : array of shape (k, n)
        The predictions there.
    x : array of shape (n,), optional
        The column against which widths are drawn; the predictions if not given.
    y : array of shape (n,), optional
        The targets.
    grid : array of shape (r,), optional
        Values of the only input, for bands.
    bands : array of shape (k, r, 2), optional
        The ends there.
    curves : array of shape (k, r), optional
        The predictions there.
    names : pair of str
        The names of the column and of the target.

    Attributes
    ----------
    ax_, figure_
        What was drawn on, after :meth:`plot`; ``ax_`` is a tuple if there are several panels.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.inspection import IntervalDisplay
    >>> from mercer.kernels import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0.0, 1.0, size=(150, 1))
    >>> y = np.sin(6.0 * X[:, 0]) + (0.05 + 0.5 * X[:, 0]) * rng.normal(size=150)
    >>> model = KernelRidge(0.1, kernel=Gaussian(0.2), fit_intercept=True).fit(X[:100], y[:100])
    >>> display = IntervalDisplay.from_estimator(model, X[100:], y[100:], method=["jackknife+", "local"])
    >>> display.labels, display.widths.shape, display.outside.shape
    (['jackknife+', 'local'], (2, 50), (2, 50))
    >>> plt.close(display.figure_)
    """

    labels: Sequence[str]
    coverage: float
    intervals: np.ndarray
    predictions: np.ndarray
    x: np.ndarray | None = None
    y: np.ndarray | None = None
    grid: np.ndarray | None = None
    bands: np.ndarray | None = None
    curves: np.ndarray | None = None
    names: tuple[str, str] = ("x0", "y")

    @property
    def widths(self) -> np.ndarray:
        """How wide intervals are at the points, shape (k, n); infinite where an end is."""
        return np.asarray(self.intervals[..., 1] - self.intervals[..., 0])

    @property
    def outside(self) -> np.ndarray | None:
        """Which targets lie outside of their interval, shape (k, n); None if they are not known."""
        if self.y is None:
            return None
        return np.stack([~is_inside(self.y, ends) for ends in self.intervals])

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Rows,
        y: ArrayLike | None = None,
        *,
        coverage: float = 0.9,
        feature: int | str | None = 0,
        method: str | Sequence[str] = "auto",
        grid_resolution: int = 200,
        margin: float = 0.05,
        ax: Any = None,
    ) -> Self:
        """Ask a regressor for intervals, and draw.

        Parameters
        ----------
        estimator : fitted regressor
            Any with ``predict_interval`` and one target, or a pipeline that ends in one.
        X : collection of n objects
            The points: new ones, since those of the fit say little about how often intervals hold.
        y : array of shape (n,), optional
            Their targets.
        coverage : float, default=0.9
            The share of new targets that intervals are to hold.
        feature : int, str or None, default=0
            The column to draw widths against; None for the prediction.  If it is the only one, intervals are bands.
        method : str or sequence of str, default="auto"
            As for ``predict_interval``; several have a panel each.
        grid_resolution : int, default=200
            Points of a band.
        margin : float, default=0.05
            How far a band goes beyond the data, as a share of its range.
        ax : Axes or sequence of Axes, optional
            What to draw on, one for each panel; a new figure if not given.

        Returns
        -------
        IntervalDisplay
        """
        cases = list_cases(cls.__name__, estimator, method)
        return cls._ask(cases, X, y, coverage, feature, grid_resolution, margin).plot(ax)

    @classmethod
    def from_estimators(
        cls,
        estimators: Mapping[str, Any] | Iterable[Any],
        X: Rows,
        y: ArrayLike | None = None,
        *,
        coverage: float = 0.9,
        feature: int | str | None = 0,
        method: str = "auto",
        grid_resolution: int = 200,
        margin: float = 0.05,
        ax: Any = None,
    ) -> Self:
        """Ask several regressors for intervals at the same points, and draw a panel for each.

        Parameters
        ----------
        estimators : mapping from labels, or list, of fitted regressors
            What :meth:`from_estimator` takes.  A list is labelled by the names of classes.
        X, y, coverage, feature, method, grid_resolution, margin, ax
            As for :meth:`from_estimator`; there is one method for all.

        Returns
        -------
        IntervalDisplay
        """
        cases = list_cases(cls.__name__, estimators, method)
        return cls._ask(cases, X, y, coverage, feature, grid_resolution, margin).plot(ax)

    @classmethod
    def _ask(
        cls,
        cases: Sequence[Case],
        X: Rows,
        y: ArrayLike | None,
        coverage: float,
        feature: int | str | None,
        resolution: int,
        margin: float,
    ) -> Self:
        owner = cls.__name__
        if len(cases) > MOST:
            raise ValueError(f"{owner} draws up to {MOST} panels side by side, and there are {len(cases)}")
        given: dict[str, Any] = {"names": ("prediction", str(getattr(y, "name", None) or "y"))}
        shape = np.shape(X)
        if feature is not None and len(shape) == 2 and shape[1] == 1:
            view = Slice(owner, X, 1, [feature], None)
            (grid,) = view.ticks(resolution, margin)
            rows = view.points(grid[:, None])
            given["names"] = (view.names[0], given["names"][1])
            given |= {"x": view.values[:, 0], "grid": grid}
            given["bands"] = np.stack([ask_interval(owner, model, rows, coverage, how) for _, model, how in cases])
            given["curves"] = np.stack([np.asarray(model.predict(rows)).ravel() for _, model, _ in cases])
        elif feature is not None:
            values, name = read_values(owner, X, feature)
            try:
                given["x"] = values.astype(np.float64)
            except (TypeError, ValueError):
                raise ValueError(
                    f"{owner} draws against columns of numbers, but column {name!r} holds others"
                ) from None
            given["names"] = (name, given["names"][1])
        return cls(
            labels=[label for label, _, _ in cases], coverage=float(coverage),
            intervals=np.stack([ask_interval(owner, model, X, coverage, how) for _, model, how in cases]),
            predictions=np.stack([np.asarray(model.predict(X), dtype=np.float64).ravel() for _, model, _ in cases]),
            y=None if y is None else check_numbers(owner, y, length(X)), **given,
        )  # fmt: skip

    def plot(self, ax: Any = None) -> Self:
        """Draw a band with the points, or the widths at the points, for each model or method.

        Parameters
        ----------
        ax : Axes or sequence of Axes, optional
            What to draw on, one for each panel; a new figure if not given.

        Returns
        -------
        self
        """
        count = len(self.labels)
        panels = self._start_panels(ax, count, (8.0, 4.5 if count == 1 else 3.8), shared=True)
        for i, panel in enumerate(panels):
            if self.grid is not None:
                self._draw_band(panel, i)
            else:
                self._draw_widths(panel, i)
            if i:
                panel.set_ylabel("")
            hide_frame(panel)
            add_legend(panel, room=measure_room(panel), title=self.labels[i] if count > 1 else None)
        low, high = zip(*(panel.get_ylim() for panel in panels), strict=True)
        for panel in panels:  # also those of the caller, which may not share their scales
            panel.set_ylim(min(low), max(high))
        return self

    def _draw_band(self, ax: Any, i: int) -> None:
        assert self.grid is not None
        assert self.bands is not None
        assert self.curves is not None
        blue, ends = pick_colour(0), self.bands[i]
        there = np.isfinite(ends).all(axis=1)
        if there.any():
            look: dict[str, Any] = {"color": blue, "alpha": 0.2, "linewidth": 0, "zorder": 1}
            label = f"{100 * self.coverage:g} % interval"
            ax.fill_between(self.grid, *ends.T, where=there.tolist(), label=label, **look)
        ax.plot(self.grid, self.curves[i], color=blue, linewidth=1.8, zorder=3)
        if self.y is not None and self.x is not None:
            self._mark(ax, i, self.x, self.y)
        ax.set(xlabel=self.names[0], ylabel=self.names[1], xlim=(self.grid[0], self.grid[-1]))

    def _draw_widths(self, ax: Any, i: int) -> None:
        x = self.predictions[i] if self.x is None else self.x
        widths = self.widths[i]
        there = np.isfinite(widths)
        self._mark(ax, i, x, widths)
        if not there.all():
            add_note(ax, f"{np.count_nonzero(~there)} of {len(there)} intervals are infinite, and not drawn")
        ax.set(xlabel=self.names[0], ylabel=f"width of the {100 * self.coverage:g} % interval")
        if there.any():
            ax.set_ylim(0.0, 1.08 * float(widths[there].max()))

    def _mark(self, ax: Any, i: int, x: np.ndarray, heights: np.ndarray) -> None:
        """Draw points, those outside of their interval on top and in another shape."""
        there, out = np.isfinite(self.widths[i]) | (self.grid is not None), self.outside
        missed = np.zeros(len(x), dtype=bool) if out is None else out[i]
        small: dict[str, Any] = {"color": pick_colour(1 if self.grid is not None else 0), "linewidths": 0.0, "s": 14}
        inside = f"{np.count_nonzero(~missed)} inside" if out is not None else "points"
        ax.scatter(x[there & ~missed], heights[there & ~missed], alpha=0.8, label=inside, zorder=2, **small)
        if missed.any():
            cross: dict[str, Any] = {"color": pick_colour(OUTSIDE), "marker": "X", "edgecolors": "white"}
            count = f"{np.count_nonzero(missed)} outside"
            ax.scatter(x[there & missed], heights[there & missed], s=34, linewidths=0.5, label=count, zorder=4, **cross)
