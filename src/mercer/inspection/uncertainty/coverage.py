"""How often intervals and sets hold, against what was asked for, on the whole or from place to place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom
from sklearn.base import BaseEstimator, is_classifier

from mercer.formula.data import Rows
from mercer.solvers.conformal.ranks import check_coverage
from mercer.words import shorten

from ..drawing.bounds import Case, find_held, list_cases, read_values
from ..drawing.display import Display
from ..drawing.style import (
    INK,
    add_legend,
    add_note,
    hide_frame,
    measure_room,
    pick_colour,
    pick_line,
    pick_marker,
    show_percent,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COVERAGES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
BY = 0.9  # the coverage that is followed from bin to bin
CHANCE = 0.95  # how often an honest method stays inside of the grey band, at each place
MOST_LEVELS = 20
LETTERS = 14  # of a level


@dataclass(kw_only=True, eq=False, repr=False)
class CoverageDisplay(Display):
    """The share of held-out targets that intervals or sets hold, against the coverage that was asked for.

    A method that holds each target with a probability of exactly the coverage q holds a share of m targets that varies
    by chance: m times the share is binomial, with m and q.  The grey band has 95 % of that, at each place by itself.
    The training points have their own chance, which is not in the band: with few of them an honest method leaves it now
    and then.  Use :meth:`from_estimator` or :meth:`from_estimators`; the parameters are what they compute.

    Parameters
    ----------
    labels : sequence of k str
        What the lines belong to.
    nominal : array of shape (p,)
        The coverages asked for; one and the same in all bins.
    observed : array of shape (k, p)
        The shares that hold; NaN in a bin without points.
    counts : int array of shape (p,)
        Of how many targets.
    sets : bool
        Whether they are of sets of classes rather than of intervals.
    edges : array of shape (p + 1,), optional
        Where bins of a column begin and end.
    levels : sequence of p str, optional
        What bins are called, if they are of levels.
    by : str
        The name of what bins are of.

    Attributes
    ----------
    ax_, figure_
        What was drawn on, after :meth:`plot`.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.inspection import CoverageDisplay
    >>> from mercer.kernels import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0.0, 1.0, size=(900, 1))
    >>> y = np.sin(6.0 * X[:, 0]) + (0.05 + 0.5 * X[:, 0]) * rng.normal(size=900)
    >>> model = KernelRidge(0.1, kernel=Gaussian(0.2), fit_intercept=True).fit(X[:100], y[:100])
    >>> display = CoverageDisplay.from_estimator(model, X[100:], y[100:])
    >>> bool(np.abs(display.observed[0] - display.nominal).max() < 0.1)
    True

    On the whole they hold, but too often where there is little noise, and too rarely where there is much:

    >>> left, *_, right = CoverageDisplay.from_estimator(model, X[100:], y[100:], by=0).observed[0]
    >>> bool(left > 0.95), bool(right < 0.85)
    (True, True)
    >>> plt.close("all")
    """

    labels: Sequence[str]
    nominal: np.ndarray
    observed: np.ndarray
    counts: np.ndarray
    sets: bool = False
    edges: np.ndarray | None = None
    levels: Sequence[str] | None = None
    by: str = ""

    @property
    def band(self) -> np.ndarray:
        """Where the shares of an honest method are with a probability of 95 %, shape (p, 2)."""
        return find_chance(self.nominal, self.counts)

    @property
    def is_grouped(self) -> bool:
        """Whether the shares are of bins, rather than of coverages."""
        return self.edges is not None or self.levels is not None

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Rows,
        y: ArrayLike,
        *,
        coverages: float | Sequence[float] | None = None,
        by: Any = None,
        bins: int = 8,
        method: str | Sequence[str] = "auto",
        conditional: bool = False,
        ax: Axes | None = None,
    ) -> Self:
        """Count how often the intervals or sets of a model hold, and draw.

        Parameters
        ----------
        estimator : fitted regressor or classifier
            Any with ``predict_interval`` or ``predict_set``, or a pipeline that ends in one.
        X : collection of m objects
            Points that the model was not fitted to.
        y : array of shape (m,)
            Their targets or labels.
        coverages : float or sequence of floats, optional
            What to ask for; six from 0.5 to 0.95 if not given, and 0.9 in bins.
        by : int, str or array of shape (m,), optional
            A column of X, by position or name, or values of any kind such as the labels: how often one coverage holds
            in bins of it.  Numbers have bins of equally many points, and other values one bin each.
        bins : int, default=8
            How many of numbers.
        method : str or sequence of str, default="auto"
            As for ``predict_interval``; several have a line each.
        conditional : bool, default=False
            As for ``predict_set``: whether sets are to hold for each class.
        ax : Axes, optional
            What to draw on; a new figure if not given.

        Returns
        -------
        CoverageDisplay
        """
        cases = list_cases(cls.__name__, estimator, method)
        return cls._count(cases, X, y, coverages, by, bins, conditional).plot(ax)

    @classmethod
    def from_estimators(
        cls,
        estimators: Mapping[str, Any] | Iterable[Any],
        X: Rows,
        y: ArrayLike,
        *,
        coverages: float | Sequence[float] | None = None,
        by: Any = None,
        bins: int = 8,
        method: str = "auto",
        conditional: bool = False,
        ax: Axes | None = None,
    ) -> Self:
        """Count how often several models hold the same targets, and draw a line for each.

        Parameters
        ----------
        estimators : mapping from labels, or list, of fitted regressors, or of classifiers
            What :meth:`from_estimator` takes.  A list is labelled by the names of classes.
        X, y, coverages, by, bins, method, conditional, ax
            As for :meth:`from_estimator`; there is one method for all.

        Returns
        -------
        CoverageDisplay
        """
        cases = list_cases(cls.__name__, estimators, method)
        return cls._count(cases, X, y, coverages, by, bins, conditional).plot(ax)

    @classmethod
    def _count(
        cls,
        cases: Sequence[Case],
        X: Rows,
        y: ArrayLike,
        coverages: float | Sequence[float] | None,
        by: Any,
        bins: int,
        conditional: bool,
    ) -> Self:
        owner, kinds = cls.__name__, {is_classifier(model) for _, model, _ in cases}
        if len(kinds) > 1:
            raise ValueError(f"{owner} draws regressors or classifiers, and not both in one picture")
        asked = (COVERAGES if by is None else BY) if coverages is None else coverages
        shares = [check_coverage(q, owner) for q in sorted(np.atleast_1d(np.asarray(asked, dtype=object)).tolist())]
        if not shares or (by is not None and len(shares) > 1):
            raise ValueError(f"{owner} draws one coverage in bins, such as coverages=0.9; got {coverages!r}")
        grouping: dict[str, Any] = {}
        places = np.empty(0, dtype=np.int64)
        if by is not None:
            values, name = read_values(owner, X, by)
            places, grouping = split_values(owner, values, bins)
            grouping["by"] = name
        held = [
            [find_held(owner, model, X, y, q, method, conditional) for q in shares] for _, model, method in cases
        ]  # fmt: skip
        if by is None:
            observed, counts = (
                np.array([[each.mean() for each in row] for row in held]),
                np.full(len(shares), held[0][0].size),
            )
        else:
            groups = np.arange(places.max() + 1)
            counts = np.bincount(places)
            observed = np.array([[row[0][places == group].mean() for group in groups] for row in held])
        return cls(
            labels=[label for label, _, _ in cases], nominal=np.broadcast_to(shares, counts.shape).astype(np.float64),
            observed=observed, counts=counts, sets=kinds == {True}, **grouping,
        )  # fmt: skip

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the shares of each model or method over the band of chance.

        Parameters
        ----------
        ax : Axes, optional
            What to draw on; a new figure if not given.

        Returns
        -------
        self
        """
        ax = self._start(ax, (8.0, 4.5))
        places = self._draw_chance(ax)
        for i, (label, shares) in enumerate(zip(self.labels, self.observed, strict=True)):
            look: dict[str, Any] = {"color": pick_colour(i), "marker": pick_marker(i), "markeredgecolor": "white"}
            line = "none" if self.levels is not None else pick_line(i)
            beside = 0.0 if self.levels is None else 0.5 * ((i + 0.5) / len(self.labels) - 0.5)
            ax.plot(places + beside, shares, linestyle=line, linewidth=1.8, markersize=8, label=label, zorder=3, **look)
        ax.yaxis.set_major_formatter(show_percent)
        what = "labels in their set" if self.sets else "targets in their interval"
        ax.set(xlabel=self.by if self.is_grouped else "coverage asked for", ylabel=what)
        hide_frame(ax)
        add_legend(ax, room=measure_room(ax))
        total = int(self.counts.sum() if self.is_grouped else self.counts[0])
        add_note(ax, f"{total} held-out points")
        return self

    def _draw_chance(self, ax: Axes) -> np.ndarray:
        """Draw what was asked for, with the band around it, and return where the shares go."""
        grey: dict[str, Any] = {"color": "0.87", "linewidth": 0, "zorder": 0, "label": "honest, 95 % of the time"}
        asked: dict[str, Any] = {"color": INK, "linewidth": 1.0, "linestyle": "--", "zorder": 1, "label": "asked for"}
        low, high = self.band.T
        if self.levels is not None:
            places = np.arange(len(self.levels), dtype=np.float64)
            ax.bar(places, high - low, 0.8, bottom=low, **grey)
            ax.axhline(float(self.nominal[0]), **asked)
            names = [shorten(level, LETTERS) for level in self.levels]
            ax.set_xticks(places, names, rotation=30 * (len(names) > 6))
            return places
        if self.edges is not None:
            ax.fill_between(self.edges, [*low, low[-1]], [*high, high[-1]], step="post", **grey)
            ax.axhline(float(self.nominal[0]), **asked)
            ax.set_xlim(self.edges[0], self.edges[-1])
            return np.asarray((self.edges[1:] + self.edges[:-1]) / 2)
        fine = np.linspace(max(0.0, self.nominal[0] - 0.03), min(1.0, self.nominal[-1] + 0.03), 200)
        ax.fill_between(fine, *find_chance(fine, np.full(len(fine), self.counts[0])).T, **grey)
        ax.plot(fine, fine, **asked)
        ax.set_xlim(fine[0], fine[-1])
        ax.xaxis.set_major_formatter(show_percent)
        return self.nominal


def find_chance(coverages: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the ends of the middle 95 % of a binomial share, on a last axis of two.

    Examples
    --------
    >>> find_chance(np.array([0.9, 0.9]), np.array([100, 10_000])).round(3).tolist()
    [[0.84, 0.95], [0.894, 0.906]]
    """
    tail = (1.0 - CHANCE) / 2.0
    ends = [binom.ppf(level, counts, coverages) / counts for level in (tail, 1.0 - tail)]
    return np.stack(ends, axis=-1)


def split_values(owner: str, values: np.ndarray, bins: int) -> tuple[np.ndarray, dict[str, Any]]:
    """Return the bin of each value, with the edges of bins of numbers or the names of levels.

    Examples
    --------
    >>> split_values("example", np.array([0.0, 1.0, 2.0, 9.0]), 2)
    (array([0, 0, 1, 1]), {'edges': array([0. , 1.5, 9. ])})
    >>> split_values("example", np.array(["b", "a", "b"]), 2)
    (array([1, 0, 1]), {'levels': ['a', 'b']})
    """
    if not isinstance(bins, int | np.integer) or bins < 1:
        raise ValueError(f"{owner}: bins must be a whole number of at least 1, got {bins!r}")
    found = np.unique(values[values == values] if values.dtype.kind == "f" else values.astype(str))
    if values.dtype.kind in "iuf" and len(found) > bins:
        if not np.isfinite(values).all():
            raise ValueError(
                f"{owner}: some of the numbers to make bins of are missing or infinite; leave these rows out"
            )
        edges = np.unique(np.quantile(values, np.linspace(0.0, 1.0, bins + 1)))
        return np.searchsorted(edges[1:-1], values, side="right"), {"edges": edges.astype(np.float64)}
    names, places = np.unique(values if values.dtype.kind in "iuf" else values.astype(str), return_inverse=True)
    if len(names) > MOST_LEVELS:
        raise ValueError(
            f"{owner} draws up to {MOST_LEVELS} levels, and there are {len(names)}; give numbers, or groups"
        )
    return places, {"levels": [f"{name:g}" if isinstance(name, float) else str(name) for name in names.tolist()]}
