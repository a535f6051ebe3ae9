"""Curves along one feature: regressions with intervals and support vectors, densities, and any function of points."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from mercer.formula.data import Rows
from mercer.palette import PALETTE

from .drawing.display import Display
from .drawing.fits import COVERAGE, Fit, find_support, name_models, read_fit
from .drawing.slice import Slice
from .drawing.style import GREY, INK, add_legend, add_note, hide_frame, pick_colour, pick_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(kw_only=True, eq=False, repr=False)
class FitDisplay(Display):
    """The functions that one or more models found, along one feature.

    Use :meth:`from_estimator`, :meth:`from_estimators` or :meth:`from_function`; the parameters are what they compute.

    Parameters
    ----------
    grid : array of shape (r,)
        Values of the feature.
    fits : sequence of Fit
        For each curve its ``label``, its ``values`` of shape (r,), and where there are any the ends of its
        ``interval``, of shape (r, 2), the ``tube`` ε of a support vector regression, whose errors count from there on,
        and the places of its ``support`` vectors, of shape (m, 2).
    coverage : float, optional
        The share of new targets that the intervals are to hold.
    x, y : arrays of shape (n,), optional
        The data.
    names : pair of str
        The names of the feature and of the target.
    note : str
        Where the other features stay.

    Attributes
    ----------
    ax_, figure_
        What was drawn on, after :meth:`plot`.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from mercer import SVR, KernelRidge
    >>> from mercer.inspection import FitDisplay
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0.0, 6.0, 40).reshape(-1, 1)
    >>> y = np.sin(X[:, 0]) + 0.1 * np.cos(37.0 * X[:, 0])
    >>> ridge = KernelRidge(0.1, kernel=Gaussian()).fit(X, y)
    >>> display = FitDisplay.from_estimator(ridge, X, y)
    >>> [text.get_text() for text in display.ax_.get_legend().get_texts()]
    ['data', 'f(x)', '90 % interval']
    >>> both = FitDisplay.from_estimators({"ridge": ridge, "machine": SVR().fit(X, y), "truth": np.sin}, X, y)
    >>> [text.get_text() for text in both.ax_.get_legend().get_texts()]
    ['data', 'ridge', 'machine', 'truth']
    >>> plt.close(display.figure_)
    >>> plt.close(both.figure_)
    """

    grid: np.ndarray
    fits: Sequence[Fit]
    coverage: float | None = None
    x: np.ndarray | None = None
    y: np.ndarray | None = None
    names: tuple[str, str] = ("x0", "y")
    note: str = ""

    @property
    def prediction(self) -> np.ndarray:
        """The values of the first curve."""
        return self.fits[0].values

    @property
    def interval(self) -> np.ndarray | None:
        """The interval of the first curve."""
        return self.fits[0].interval

    @property
    def tube(self) -> float | None:
        """The tube of the first curve."""
        return self.fits[0].tube

    @property
    def support(self) -> np.ndarray | None:
        """The support vectors of the first curve."""
        return self.fits[0].support

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
        """Ask a regressor or a density about a grid, and draw.

        Parameters
        ----------
        estimator : fitted regressor or density
            Any with ``predict`` and one target; or with ``score_samples`` alone, the logarithm of a density.
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
        view = Slice(cls.__name__, X, 1, None if feature is None else [feature], fixed)
        (grid,) = view.ticks(grid_resolution, margin)
        fit = read_fit(cls.__name__, "f(x)", estimator, view.points(grid[:, None]), coverage)
        targets = None if y is None else _check_targets(cls.__name__, y, len(view.values))
        if targets is not None and not fit.density:
            fit = replace(fit, support=find_support(estimator, X, view.values[:, 0], targets))
        return cls(
            grid=grid, fits=[replace(fit, label="density") if fit.density else fit],
            coverage=COVERAGE if coverage == "auto" else coverage, x=view.values[:, 0], y=targets,
            names=(view.names[0], _name_target(y, [fit])), note=view.describe_rest(),
        ).plot(ax)  # fmt: skip

    @classmethod
    def from_estimators(
        cls,
        estimators: Mapping[str, Any] | Iterable[Any],
        X: Rows,
        y: ArrayLike | None = None,
        *,
        feature: int | str | None = None,
        fixed: Mapping[Any, Any] | None = None,
        grid_resolution: int = 400,
        margin: float = 0.05,
        ax: Axes | None = None,
    ) -> Self:
        """Ask several models or functions about the same grid, and draw a curve for each.

        Intervals, tubes and support vectors are left to pictures of a single one.

        Parameters
        ----------
        estimators : mapping from labels, or list, of fitted estimators and functions
            What :meth:`from_estimator` and :meth:`from_function` take.  A list is labelled by the names of classes.
        X, y, feature, fixed, grid_resolution, margin, ax
            As for :meth:`from_estimator`.

        Returns
        -------
        FitDisplay
        """
        models = name_models(cls.__name__, estimators)
        view = Slice(cls.__name__, X, 1, None if feature is None else [feature], fixed)
        (grid,) = view.ticks(grid_resolution, margin)
        rows = view.points(grid[:, None])
        fits = [read_fit(cls.__name__, label, model, rows, None) for label, model in models.items()]
        targets = None if y is None else _check_targets(cls.__name__, y, len(view.values))
        return cls(
            grid=grid, fits=[replace(fit, tube=None) for fit in fits], x=view.values[:, 0], y=targets,
            names=(view.names[0], _name_target(y, fits)), note=view.describe_rest(),
        ).plot(ax)  # fmt: skip

    @classmethod
    def from_function(
        cls,
        function: Callable[[Rows], Any],
        X: Rows,
        y: ArrayLike | None = None,
        *,
        label: str = "f(x)",
        feature: int | str | None = None,
        fixed: Mapping[Any, Any] | None = None,
        grid_resolution: int = 400,
        margin: float = 0.05,
        ax: Axes | None = None,
    ) -> Self:
        """Ask a function of points, such as a :class:`mercer.Expansion`, about a grid, and draw.

        Parameters
        ----------
        function : callable
            Takes rows such as those of X, and returns a number for each.
        X, y, feature, fixed, grid_resolution, margin, ax
            As for :meth:`from_estimator`.
        label : str, default="f(x)"
            What the curve is called.

        Returns
        -------
        FitDisplay
        """
        if isinstance(function, BaseEstimator):
            raise TypeError(f"{cls.__name__}: {type(function).__name__} is an estimator; use from_estimator")
        return cls.from_estimators(
            {label: function}, X, y, feature=feature, fixed=fixed, grid_resolution=grid_resolution, margin=margin, ax=ax
        )  # fmt: skip

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the data, the curves, their intervals or tubes, and support vectors.

        Parameters
        ----------
        ax : Axes, optional
            What to draw on; a new figure if not given.

        Returns
        -------
        self
        """
        ax, several = self._start(ax, (8.0, 4.5)), len(self.fits) > 1
        if self.x is not None and self.y is not None:
            look: dict[str, Any] = {"color": GREY if several else pick_colour(1), "edgecolors": "white"}
            ax.scatter(self.x, self.y, s=20, linewidths=0.4, label="data", zorder=2, **look)
        elif self.x is not None:
            low = np.full(len(self.x), 0.015)  # whole ticks, just above the axis
            ax.plot(self.x, low, "|", color=GREY, transform=ax.get_xaxis_transform(), label="data")
        for i, fit in enumerate(self.fits):
            style = {"color": pick_colour(i), "linestyle": pick_line(i + i // len(PALETTE))}
            self._draw_fit(ax, fit, style)
        ax.set(xlabel=self.names[0], ylabel=self.names[1], xlim=(self.grid[0], self.grid[-1]))
        if all(fit.density for fit in self.fits):
            ax.set_ylim(bottom=0.0)
        hide_frame(ax)
        add_legend(ax)
        add_note(ax, self.note)
        return self

    def _draw_fit(self, ax: Axes, fit: Fit, style: dict[str, Any]) -> None:
        ax.plot(self.grid, fit.values, linewidth=2.0, label=fit.label, zorder=3, **style)
        if fit.interval is not None:
            lower, upper = fit.interval.T
            there = np.isfinite(lower) & np.isfinite(upper)
            if there.any():
                label = "interval" if self.coverage is None else f"{100 * self.coverage:g} % interval"
                look: dict[str, Any] = {"color": style["color"], "alpha": 0.2, "linewidth": 0, "zorder": 1}
                ax.fill_between(self.grid, lower, upper, where=there.tolist(), label=label, **look)
        if fit.tube is not None:
            dashes: dict[str, Any] = {"color": style["color"], "linewidth": 1.0, "linestyle": "--"}
            ax.plot(self.grid, fit.values + fit.tube, label=f"tube f ± {fit.tube:.3g}", **dashes)
            ax.plot(self.grid, fit.values - fit.tube, **dashes)
        if fit.support is not None:
            ring: dict[str, Any] = {"s": 80, "facecolors": "none", "edgecolors": INK, "linewidths": 1.0, "zorder": 4}
            ax.scatter(*fit.support.T, label=f"{len(fit.support)} support vectors", **ring)


def _name_target(y: ArrayLike | None, fits: Sequence[Fit]) -> str:
    """Return what the values are: the target by its name, a density, or y."""
    name = getattr(y, "name", None)
    return str(name) if name else "density" if all(fit.density for fit in fits) else "y"


def _check_targets(owner: str, y: ArrayLike, n: int) -> np.ndarray:
    targets = np.asarray(y, dtype=np.float64).ravel()
    if len(targets) != n:
        raise ValueError(f"{owner}: X has {n} points, so y must have as many targets; got {len(targets)}")
    return targets
