"""The curve of a regression along one feature, with intervals and support vectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import check_is_fitted

from mercer.arrays.threads import silence_warnings
from mercer.formula.data import Rows
from mercer.solvers.conformal.ranks import FEW_POINTS

from ._display import Display
from ._estimator import encode_rows, find_model, is_automatic
from ._slice import Slice
from ._style import GREY, INK, add_legend, hide_frame, pick_colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COVERAGE = 0.9


@dataclass(kw_only=True, eq=False, repr=False)
class FitDisplay(Display):
    """The function a regression found, along one feature.

    Use :meth:`from_estimator`; the parameters are what it computes.

    Parameters
    ----------
    grid : array of shape (r,)
        Values of the feature.
    prediction : array of shape (r,)
        f + b there.
    interval : array of shape (r, 2), optional
        The ends of intervals there.
    coverage : float, optional
        The share of new targets that the intervals are to hold.
    tube : float, optional
        ε of a support vector regression, whose errors count from there on.
    x, y : arrays of shape (n,), optional
        The data.
    support : array of shape (m, 2), optional
        Values of the feature and targets of the support vectors.
    names : pair of str
        The names of the feature and of the target.

    Attributes
    ----------
    ax_, figure_
        What was drawn on, after :meth:`plot`.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.inspection import FitDisplay
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0.0, 6.0, 40).reshape(-1, 1)
    >>> y = np.sin(X[:, 0]) + 0.1 * np.cos(37.0 * X[:, 0])
    >>> display = FitDisplay.from_estimator(KernelRidge(0.1, kernel=Gaussian()).fit(X, y), X, y)
    >>> [text.get_text() for text in display.ax_.get_legend().get_texts()]
    ['data', 'f(x)', '90 % interval']
    >>> plt.close(display.figure_)
    """

    grid: np.ndarray
    prediction: np.ndarray
    interval: np.ndarray | None = None
    coverage: float | None = None
    tube: float | None = None
    x: np.ndarray | None = None
    y: np.ndarray | None = None
    support: np.ndarray | None = None
    names: tuple[str, str] = ("x0", "y")

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Rows,
        y: ArrayLike | None = None,
        *,
        feature: int | str | None = None,
        fixed: Mapping[Any, Any] | None = None,
        coverage: float | Literal["auto"] | None = "auto",
        grid_resolution: int = 400,
        margin: float = 0.05,
        ax: Axes | None = None,
    ) -> Self:
        """Ask a regressor about a grid, and draw.

        Parameters
        ----------
        estimator : fitted regressor
            Any with ``predict`` and one target.
        X : array or frame of shape (n, d)
            The points to draw.
        y : array of shape (n,), optional
            Their targets.
        feature : int or str, optional
            The feature to draw along, needed if there are several.
        fixed : mapping from features to values, optional
            Where the other features stay; at their medians if not given.
        coverage : float, "auto" or None, default="auto"
            The share of new targets that intervals are to hold; "auto" is 0.9 where the estimator has
            ``predict_interval`` and can give them, and None draws none.
        grid_resolution : int, default=400
            Points of the curve.
        margin : float, default=0.05
            How far to draw beyond the data, as a share of its range.
        ax : Axes, optional
            What to draw on; a new figure if not given.

        Returns
        -------
        FitDisplay
        """
        check_is_fitted(estimator)
        if is_classifier(estimator):
            raise ValueError(
                f"{cls.__name__} draws regressors, and {type(estimator).__name__} is a classifier; use DecisionDisplay"
            )
        view = Slice(cls.__name__, X, 1, None if feature is None else [feature], fixed)
        (grid,) = view.ticks(grid_resolution, margin)
        rows = view.points(grid[:, None])
        prediction = np.asarray(estimator.predict(rows), dtype=np.float64)
        if prediction.ndim > 1 and prediction.shape[1] > 1:
            raise ValueError(
                f"{cls.__name__} draws one target, and the model has {prediction.shape[1]}; fit one model for each"
            )
        interval = _find_interval(estimator, rows, coverage)
        targets = None if y is None else _check_targets(cls.__name__, y, len(view.values))
        return cls(
            grid=grid,
            prediction=prediction.ravel(),
            interval=interval,
            coverage=COVERAGE if coverage == "auto" else coverage,
            tube=_find_tube(estimator),
            x=view.values[:, 0],
            y=targets,
            support=None if targets is None else _find_support(estimator, X, view.values[:, 0], targets),
            names=(view.names[0], str(getattr(y, "name", None) or "y")),
        ).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the data, the curve, its intervals or its tube, and the support vectors.

        Parameters
        ----------
        ax : Axes, optional
            What to draw on; a new figure if not given.

        Returns
        -------
        self
        """
        ax = self._start(ax, (8.0, 4.5))
        if self.x is not None and self.y is not None:
            ax.scatter(
                self.x, self.y, s=20, color=pick_colour(1), edgecolors="white", linewidths=0.4, label="data", zorder=2
            )
        ax.plot(self.grid, self.prediction, color=pick_colour(0), linewidth=2.0, label="f(x)", zorder=3)
        self._draw_interval(ax)
        if self.tube is not None:
            look: dict[str, Any] = {"color": pick_colour(0), "linewidth": 1.0, "linestyle": "--"}
            ax.plot(self.grid, self.prediction + self.tube, label=f"tube f ± {self.tube:.3g}", **look)
            ax.plot(self.grid, self.prediction - self.tube, **look)
        if self.support is not None:
            ring: dict[str, Any] = {"s": 80, "facecolors": "none", "edgecolors": INK, "linewidths": 1.0}
            ax.scatter(*self.support.T, label=f"{len(self.support)} support vectors", zorder=4, **ring)
        elif self.y is None and self.x is not None:
            ax.plot(self.x, np.zeros(len(self.x)), "|", color=GREY, transform=ax.get_xaxis_transform(), label="data")
        ax.set(xlabel=self.names[0], ylabel=self.names[1], xlim=(self.grid[0], self.grid[-1]))
        hide_frame(ax)
        add_legend(ax)
        return self

    def _draw_interval(self, ax: Axes) -> None:
        if self.interval is None:
            return
        lower, upper = self.interval.T
        there = np.isfinite(lower) & np.isfinite(upper)
        if there.any():
            label = "interval" if self.coverage is None else f"{100 * self.coverage:g} % interval"
            look: dict[str, Any] = {"color": pick_colour(0), "alpha": 0.2, "linewidth": 0}
            ax.fill_between(self.grid, lower, upper, where=there.tolist(), label=label, zorder=1, **look)


def _find_interval(estimator: BaseEstimator, rows: Rows, coverage: float | str | None) -> np.ndarray | None:
    if coverage is None:
        return None
    methods = getattr(estimator, "interval_methods", ("jackknife+",))
    if coverage == "auto" and methods[0] != "jackknife+":  # which would be fitted again, although nobody asked for it
        return None
    if not hasattr(estimator, "predict_interval"):
        if coverage == "auto":
            return None
        raise ValueError(
            f"{type(estimator).__name__} has no predict_interval, so there is no interval of coverage {coverage!r} "
            "to draw; leave coverage out"
        )
    try:
        if coverage != "auto":
            return np.asarray(estimator.predict_interval(rows, coverage))
        with silence_warnings(FEW_POINTS):
            return np.asarray(estimator.predict_interval(rows, COVERAGE))
    except ValueError:
        if coverage == "auto":  # no penalty, for example: the model has no intervals, and none were asked for
            return None
        raise


def _check_targets(owner: str, y: ArrayLike, n: int) -> np.ndarray:
    targets = np.asarray(y, dtype=np.float64).ravel()
    if len(targets) != n:
        raise ValueError(f"{owner}: X has {n} points, so y must have as many targets; got {len(targets)}")
    return targets


def _find_tube(estimator: BaseEstimator) -> float | None:
    model = find_model(estimator)
    model = getattr(model, "best_estimator_", model)
    if not hasattr(model, "support_") or is_automatic(estimator):  # whose target may be transformed
        return None
    epsilon = getattr(model, "epsilon_", getattr(model, "epsilon", None))
    return None if epsilon is None else float(epsilon)


def _find_support(estimator: BaseEstimator, X: Rows, x: np.ndarray, y: np.ndarray) -> np.ndarray | None:
    """Return where the support vectors are, if the points drawn are those that the model was fitted to."""
    model = find_model(estimator)
    positions, vectors = getattr(model, "support_", None), getattr(model, "support_vectors_", None)
    if positions is None or vectors is None or len(positions) == 0 or positions.max() >= len(x):
        return None
    seen = np.asarray(encode_rows(estimator, X), dtype=np.float64)
    if not np.array_equal(seen[positions], np.asarray(vectors)):
        return None
    return np.column_stack([x[positions], y[positions]])
