"""Where two samples differ: the witness function over one or two features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from mercer.embeddings import witness
from mercer.embeddings.samples import join
from mercer.formula.data import Rows, length
from mercer.kernels import Kernel

from ..drawing.display import Display
from ..drawing.slice import Slice
from ..drawing.style import GREY, SIGNED, add_legend, add_note, hide_frame, pick_colour, pick_marker

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARGIN = 0.08  # beyond the data, as a share of its range
STEPS = 20  # of colour
LETTERS = 16  # of a legend to an inch


@dataclass(kw_only=True, eq=False, repr=False)
class WitnessDisplay(Display):
    """The function whose means in two samples are furthest apart: above 0 where X has more points, below where Y has.

    Along one feature it is a curve over the points of both samples, along two a map.  Use :meth:`from_samples`; the
    parameters are what it computes.

    Parameters
    ----------
    grid : list of one or two arrays
        Where the function was evaluated, along each feature.
    values : array of shape (r,) or (s, r)
        The function there; rows are those of the second feature.
    samples : pair of arrays of shape (n, 1 or 2) and (m, 1 or 2)
        The points.
    names : list of str
        What the features are called.
    labels : pair of str
        What the samples are called.
    note : str
        Where other features stay.

    Attributes
    ----------
    ax_, figure_
        What was drawn on, after :meth:`plot`.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from mercer.inspection import WitnessDisplay
    >>> rng = np.random.default_rng(0)
    >>> display = WitnessDisplay.from_samples(rng.normal(size=(50, 1)), rng.laplace(size=(50, 1)))
    >>> display.values.shape
    (300,)
    >>> plt.close(display.figure_)
    """

    grid: Sequence[np.ndarray]
    values: np.ndarray
    samples: tuple[np.ndarray, np.ndarray]
    names: Sequence[str]
    labels: tuple[str, str] = ("X", "Y")
    note: str = ""

    @classmethod
    def from_samples(
        cls,
        X: Rows,
        Y: Rows,
        kernel: Kernel | None = None,
        *,
        features: Sequence[int | str] | None = None,
        fixed: Mapping[Any, Any] | None = None,
        labels: tuple[str, str] = ("X", "Y"),
        grid_resolution: int | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Compute the witness function of two samples and draw it.

        Parameters
        ----------
        X : array or frame of shape (n, d)
            A sample.
        Y : array or frame of shape (m, d)
            Another one.
        kernel : Kernel, optional
            The kernel, such as that of an outcome of ``MMDTest``; a Gaussian of the median distance if not given.
        features : sequence of one or two int or str, optional
            The features to draw along, needed if there are more than two.
        fixed : mapping from features to values, optional
            Where the other features stay; at their medians if not given.
        labels : pair of str, default=("X", "Y")
            What the samples are called.
        grid_resolution : int, optional
            Points along each feature; 300 along one, 120 along each of two if not given.
        ax : Axes, optional
            What to draw on; a new figure if not given.

        Returns
        -------
        WitnessDisplay
        """
        both, n = join(X, Y), length(X)
        width = np.shape(both)[1] if len(np.shape(both)) == 2 else 1
        count = min(width, 2) if features is None else len(features)
        if count not in (1, 2):
            raise ValueError(f"{cls.__name__} draws along one or two features, got {features!r}")
        view = Slice(cls.__name__, both, count, features, fixed)
        f = witness(X, Y, kernel)
        axes = list(view.ticks(grid_resolution or (300 if count == 1 else 120), MARGIN))
        mesh = np.stack([each.ravel() for each in np.meshgrid(*axes)], axis=1)
        values = np.asarray(f(view.points(mesh))).reshape([len(axis) for axis in axes][::-1])
        samples = view.values[:n], view.values[n:]
        return cls(
            grid=axes, values=values, samples=samples, names=view.names, labels=labels, note=view.describe_rest()
        ).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the function and the points.

        Parameters
        ----------
        ax : Axes, optional
            What to draw on; a new figure if not given.

        Returns
        -------
        self
        """
        ax = self._start(ax)
        (self._plot_curve if len(self.grid) == 1 else self._plot_map)(ax)
        add_note(ax, self.note)
        add_legend(ax, room=int(LETTERS * ax.bbox.width / self.figure_.dpi))
        return self

    def _plot_curve(self, ax: Axes) -> None:
        x, top = self.grid[0], float(np.abs(self.values).max()) or 1.0
        for i, sign in enumerate((1.0, -1.0)):
            part = np.where(sign * self.values > 0, self.values, 0.0)
            ax.fill_between(x, part, color=pick_colour(i), alpha=0.25, linewidth=0)
            at = np.full(len(self.samples[i]), sign * 1.12 * top)  # X above, where its function is, and Y below
            ax.scatter(
                self.samples[i][:, 0], at, marker="|", s=60, linewidth=0.8, color=pick_colour(i), alpha=0.7,
                label=f"{self.labels[i]}, {len(at)} points",
            )  # fmt: skip
        ax.plot(x, self.values, color="#222222", linewidth=1.8, label="witness f(x)")
        ax.axhline(0.0, color=GREY, linewidth=0.8, zorder=0)
        ax.set(xlim=(x[0], x[-1]), ylim=(-1.25 * top, 1.25 * top), xlabel=self.names[0], ylabel="witness f(x)")
        hide_frame(ax)

    def _plot_map(self, ax: Axes) -> None:
        from matplotlib.ticker import MaxNLocator

        top = float(np.abs(self.values).max()) or 1.0
        levels = np.linspace(-top, top, STEPS + 1)
        drawn = ax.contourf(*self.grid, self.values, levels=levels, cmap=SIGNED, alpha=0.6)
        ax.contour(*self.grid, self.values, levels=[0.0], colors=[GREY], linewidths=1.0)
        bar = self.figure_.colorbar(drawn, ax=ax, pad=0.02, ticks=MaxNLocator(6))
        bar.set_label(f"witness f(x): above 0 more of {self.labels[0]}, below more of {self.labels[1]}")
        # The ends of the colours, so that points are told by the side where there are more of them.
        for i, colour in enumerate(("#B35806", "#542788")):
            ax.scatter(
                self.samples[i][:, 0], self.samples[i][:, 1], s=22, marker=pick_marker(i), color=colour,
                edgecolor="white", linewidth=0.6, label=f"{self.labels[i]}, {len(self.samples[i])} points", zorder=3,
            )  # fmt: skip
        ax.set(
            xlim=(self.grid[0][0], self.grid[0][-1]), ylim=(self.grid[1][0], self.grid[1][-1]), xlabel=self.names[0],
            ylabel=self.names[1],
        )  # fmt: skip
