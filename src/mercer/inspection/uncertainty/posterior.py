"""The Gaussian process that a ridge model is the mean of: the mean, how far from it the function may be, and draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from mercer.formula.data import Rows, pick
from mercer.words import count_things

from ..drawing.bounds import check_numbers, open_pipeline
from ..drawing.display import PanelsDisplay
from ..drawing.slice import Slice
from ..drawing.style import GREY, LEVELS, add_legend, add_note, hide_frame, measure_room, pick_colour

LINE = 400  # points of a curve
PLANE = 60  # points of a map along each side


@dataclass(kw_only=True, eq=False, repr=False)
class PosteriorDisplay(PanelsDisplay):
    """The posterior of a ridge model along one input, or over the plane of two.

    Along one input: the mean, bands of one and two standard deviations, draws from the posterior and the data.  Over
    two: the mean, and beside it the deviation.  Use :meth:`from_estimator`; the parameters are what it computes.

    Parameters
    ----------
    grids : sequence of one or two arrays of shape (r,)
        Values of the inputs.
    mean, deviation : arrays of shape (r,) or (r, r)
        Of f(x) + b, by ``predict(X, return_std=True)``; rows belong to the second of two inputs.
    noise_variance : float
        How much more variance a new observation has.
    observations : bool
        Whether bands and maps are of new observations rather than of the function.
    draws : array of shape (r, samples), optional
        Functions that the data allows for.
    points : array of shape (n, inputs), optional
        The data.
    y : array of shape (n,), optional
        Its targets.
    names : sequence of str
        The names of the inputs and of the target.
    note : str
        Where other inputs stay.

    Attributes
    ----------
    ax_, figure_
        What was drawn on, after :meth:`plot`; ``ax_`` is a pair for two inputs.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.inspection import PosteriorDisplay
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0.0, 6.0, 20)[:, None]
    >>> model = KernelRidge(0.01, kernel=Gaussian()).fit(X, np.sin(X[:, 0]))
    >>> display = PosteriorDisplay.from_estimator(model, margin=0.5)
    >>> [text.get_text() for text in display.ax_.get_legend().get_texts()]
    ['data', 'mean', '± 1 deviation', '± 2 deviations', '5 draws']
    >>> mean, deviation = model.predict(display.grids[0][:, None], return_std=True)
    >>> bool(np.allclose(display.band(2.0), np.column_stack([mean - 2.0 * deviation, mean + 2.0 * deviation])))
    True
    >>> plt.close(display.figure_)
    """

    grids: Sequence[np.ndarray]
    mean: np.ndarray
    deviation: np.ndarray
    noise_variance: float = 0.0
    observations: bool = False
    draws: np.ndarray | None = None
    points: np.ndarray | None = None
    y: np.ndarray | None = None
    names: Sequence[str] = ("x0", "y")
    note: str = ""

    @property
    def spread(self) -> np.ndarray:
        """The deviation that is drawn: of the function, or of new observations, whose noise comes on top."""
        return np.sqrt(self.deviation**2 + self.noise_variance) if self.observations else self.deviation

    def band(self, deviations: float) -> np.ndarray:
        """Return the ends of mean ± ``deviations`` · spread, on a last axis of two."""
        return np.stack([self.mean - deviations * self.spread, self.mean + deviations * self.spread], axis=-1)

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Rows | None = None,
        y: ArrayLike | None = None,
        *,
        features: int | str | Sequence[int | str] | None = None,
        fixed: Mapping[Any, Any] | None = None,
        samples: int = 5,
        observations: bool = False,
        grid_resolution: int | None = None,
        margin: float = 0.1,
        random_state: Any = 0,
        ax: Any = None,
    ) -> Self:
        """Ask a ridge model for its posterior on a grid, and draw.

        Parameters
        ----------
        estimator : fitted KernelRidge, KernelRidgeCV, or a pipeline that ends in one
            Any with ``predict(X, return_std=True)`` and ``sample``, and one target.
        X : array or frame of shape (n, d), optional
            The points to draw; the training points if not given.
        y : array of shape (n,), optional
            Their targets; those of the training points if X is not given.
        features : int or str, or two of them, optional
            The inputs to draw along, needed if there are more than two.
        fixed : mapping from features to values, optional
            Where the others stay; at their medians if not given.
        samples : int, default=5
            How many draws from the posterior to show along one input; 0 for none.
        observations : bool, default=False
            Whether the deviations are those of new observations, with the noise, rather than of the function.
        grid_resolution : int, optional
            Points along each input; 400 for one and 60 for two if not given.
        margin : float, default=0.1
            How far to draw beyond the data, as a share of its range.
        random_state : int, RandomState or None, default=0
            The seed of the draws.
        ax : Axes or pair of Axes, optional
            What to draw on, a pair for two inputs; a new figure if not given.

        Returns
        -------
        PosteriorDisplay
        """
        owner = cls.__name__
        model = _check_posterior(owner, estimator)
        if X is None:
            X, y = _read_training(owner, estimator, y)
        chosen = features if features is None or isinstance(features, list | tuple) else [features]
        count = len(chosen) if chosen is not None else 2 if np.ndim(X) == 2 and np.shape(X)[1] == 2 else 1
        if count not in (1, 2):
            raise ValueError(f"{owner} draws along one input or two, got {features!r}")
        view = Slice(owner, X, count, chosen, fixed)
        grids = view.ticks(grid_resolution or (LINE, PLANE)[count - 1], margin)
        at = np.stack(np.meshgrid(*grids), axis=-1).reshape(-1, count)
        rows = open_pipeline(estimator, view.points(at))[1]
        mean, deviation = (np.asarray(part, dtype=np.float64) for part in model.predict(rows, return_std=True))
        if mean.ndim > 1 and mean.shape[1] > 1:
            raise ValueError(f"{owner} draws one target, and the model has {mean.shape[1]}; fit one model for each")
        shape = tuple(len(grid) for grid in grids[::-1])
        drawn = None
        if count == 1 and samples:
            drawn = np.asarray(model.sample(rows, samples, random_state)).reshape(len(at), samples)
        return cls(
            grids=grids, mean=mean.reshape(shape), deviation=deviation.reshape(shape),
            noise_variance=float(np.ravel(model.noise_variance_)[0]), observations=observations, draws=drawn,
            points=view.values, y=None if y is None else check_numbers(owner, y, len(view.values)),
            names=(*view.names, str(getattr(y, "name", None) or "y")), note=view.describe_rest(),
        ).plot(ax)  # fmt: skip

    def plot(self, ax: Any = None) -> Self:
        """Draw bands, draws, mean and data along one input, or mean and deviation over two.

        Parameters
        ----------
        ax : Axes or pair of Axes, optional
            What to draw on, a pair for two inputs; a new figure if not given.

        Returns
        -------
        self
        """
        if len(self.grids) == 1:
            (panel,) = self._start_panels(ax, 1, (8.0, 4.5))
            self._draw_line(panel)
        else:
            panels = self._start_panels(ax, 2, (8.0, 3.8))
            what = "deviation of new observations" if self.observations else "deviation of f"
            for panel, values, label in zip(panels, (self.mean, self.spread), ("mean", what), strict=True):
                self._draw_map(panel, values, label)
            add_note(panels[-1], self.note)
        return self

    def _draw_line(self, ax: Any) -> None:
        (grid,), blue = self.grids, pick_colour(0)
        if self.points is not None and self.y is not None:
            look: dict[str, Any] = {"color": pick_colour(1), "edgecolors": "white", "linewidths": 0.4}
            ax.scatter(self.points[:, 0], self.y, s=24, label="data", zorder=4, **look)
        elif self.points is not None:
            low = np.full(len(self.points), 0.015)  # whole ticks, just above the axis
            ax.plot(self.points[:, 0], low, "|", color=GREY, transform=ax.get_xaxis_transform(), label="data")
        ax.plot(grid, self.mean, color=blue, linewidth=2.2, label="mean", zorder=3)
        tail = " of new observations" if self.observations else ""
        for deviations, shade in ((1.0, 0.28), (2.0, 0.16)):
            label = f"± {deviations:g} deviation{'s' * (deviations > 1)}{tail}"
            ax.fill_between(grid, *self.band(deviations).T, color=blue, alpha=shade, linewidth=0, label=label, zorder=1)
        if self.draws is not None:
            for i, line in enumerate(self.draws.T):
                name = None if i else count_things(self.draws.shape[1], "draw")
                ax.plot(grid, line, color=GREY, linewidth=0.9, label=name, zorder=2)
        ax.set(xlabel=self.names[0], ylabel=self.names[-1], xlim=(grid[0], grid[-1]))
        hide_frame(ax)
        add_legend(ax, room=measure_room(ax))
        add_note(ax, self.note)

    def _draw_map(self, ax: Any, values: np.ndarray, label: str) -> None:
        flat = np.ptp(values) == 0
        picture: Any
        if flat:  # which has no levels
            picture = ax.pcolormesh(*self.grids, values, cmap=LEVELS, shading="gouraud")
        else:
            picture = ax.contourf(*self.grids, values, levels=14, cmap=LEVELS)
            ax.contour(*self.grids, values, levels=picture.levels, colors="white", linewidths=0.4)
        bar: dict[str, Any] = {"location": "top", "aspect": 30, "pad": 0.02, "label": label}
        ax.figure.colorbar(picture, ax=ax, ticks=_choose_ticks(values), **bar).ax.tick_params(labelsize=8)
        if self.points is not None:
            ax.scatter(*self.points.T, s=14, color="white", edgecolors="black", linewidths=0.7, zorder=3)
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        ax.set(xlim=(self.grids[0][0], self.grids[0][-1]), ylim=(self.grids[1][0], self.grids[1][-1]))


def _choose_ticks(values: np.ndarray) -> np.ndarray:
    """Return a few round numbers, so that a narrow panel has room for them."""
    from matplotlib.ticker import MaxNLocator

    return np.asarray(MaxNLocator(3).tick_values(float(values.min()), float(values.max())))


def _check_posterior(owner: str, estimator: Any) -> Any:
    """Return the model that has a posterior: the estimator or the last step of a pipeline."""
    model = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if not all(hasattr(type(model), name) for name in ("sample", "noise_variance_")):
        raise ValueError(
            f"{owner} draws the posterior of KernelRidge and KernelRidgeCV, and {type(model).__name__} has none; "
            "IntervalDisplay draws the intervals of any regressor"
        )
    return model


def _read_training(owner: str, estimator: Any, y: ArrayLike | None) -> tuple[Rows, ArrayLike]:
    """Return the training points of a model with their targets, of those with a weight."""
    if y is not None:
        raise ValueError(f"{owner}: y is given without X; give both, or neither for the training points")
    if isinstance(estimator, Pipeline):
        raise ValueError(f"{owner}: a pipeline does not keep its training points as they came; give X")
    open_pipeline(estimator, [])  # which checks that it is fitted
    rows = estimator._training_rows()
    return pick(rows.X, rows.kept), rows.y[rows.kept]
