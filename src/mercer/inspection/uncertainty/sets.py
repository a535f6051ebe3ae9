"""Sets of classes: where on the simplex of probabilities which set is given, or how large sets are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, is_classifier

from mercer.formula.data import Rows
from mercer.words import shorten

from ..drawing.bounds import ask_set, open_pipeline
from ..drawing.display import Display
from ..drawing.regions import encode_labels
from ..drawing.style import (
    GREY,
    INK,
    LEVELS,
    add_legend,
    hide_frame,
    measure_room,
    pick_colour,
    pick_marker,
    show_percent,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])  # of a triangle with sides of 1
PAIRS = {(0, 1): "D", (0, 2): "v", (1, 2): "h"}  # the shapes of sets of two, each half in either colour
MOST_ROWS = 16  # classes with a bar of their own
LETTERS = 18  # of a class


@dataclass(kw_only=True, eq=False, repr=False)
class SetDisplay(Display):
    """The sets that a classifier gives to points.

    Probabilities of three classes are drawn as points of a triangle: p₁, p₂ and p₃ are the weights of its corners.
    Each point shows its set, and a ring that the set misses the class it should hold.  For other numbers of classes,
    and for classifiers without probabilities, bars show how large sets are, for the points of each class.  Use
    :meth:`from_estimator`; the parameters are what it computes.

    Parameters
    ----------
    classes : sequence of c str
        The names of the classes.
    sets : bool array of shape (m, c)
        Which classes are in the set of each point.
    coverage : float
        The share of sets that are to hold.
    chances : array of shape (m, c), optional
        The probabilities.
    codes : int array of shape (m,), optional
        The class of each point, a position among the classes.

    Attributes
    ----------
    ax_, figure_
        What was drawn on, after :meth:`plot`.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_iris
    >>> from mercer import KernelLogisticRegression
    >>> from mercer.inspection import SetDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelLogisticRegression().fit(X[::2], y[::2])
    >>> display = SetDisplay.from_estimator(model, X[1::2], y[1::2], coverage=0.95)
    >>> display.sets.shape, display.places.shape, display.sizes.shape
    ((75, 3), (75, 2), (75,))
    >>> plt.close(display.figure_)
    """

    classes: Sequence[str]
    sets: np.ndarray
    coverage: float
    chances: np.ndarray | None = None
    codes: np.ndarray | None = None

    @property
    def sizes(self) -> np.ndarray:
        """How many classes are in each set, shape (m,)."""
        return np.asarray(self.sets.sum(axis=1))

    @property
    def places(self) -> np.ndarray | None:
        """Where probabilities of three classes are in the triangle, shape (m, 2); None if there are no such."""
        return None if self.chances is None or len(self.classes) != 3 else find_places(self.chances)

    @property
    def held(self) -> np.ndarray | None:
        """Which sets hold the class of their point, shape (m,); None if that is not known."""
        return None if self.codes is None else np.asarray(self.sets[np.arange(len(self.sets)), self.codes])

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Rows,
        y: ArrayLike | None = None,
        *,
        coverage: float = 0.9,
        conditional: bool = False,
        ax: Axes | None = None,
    ) -> Self:
        """Ask a classifier for sets, and draw.

        Parameters
        ----------
        estimator : fitted classifier
            Any with ``predict_set``, or a pipeline that ends in one.
        X : collection of m objects
            The points: new ones, since those of the fit say little about how often sets hold.
        y : array of shape (m,), optional
            Their labels.
        coverage : float, default=0.9
            The share of sets that are to hold the right class.
        conditional : bool, default=False
            As for ``predict_set``: whether they are to hold for each class.
        ax : Axes, optional
            What to draw on; a new figure if not given.

        Returns
        -------
        SetDisplay
        """
        owner = cls.__name__
        if not is_classifier(estimator):
            raise ValueError(
                f"{owner} draws sets of classes, and {type(estimator).__name__} is no classifier; IntervalDisplay "
                "draws the intervals of regressors"
            )
        sets = ask_set(owner, estimator, X, coverage, conditional)
        classes = np.asarray(open_pipeline(estimator, X)[0].classes_)
        drawn = len(classes) == 3 and hasattr(estimator, "predict_proba")
        return cls(
            classes=[str(label) for label in classes.tolist()], sets=sets, coverage=float(coverage),
            chances=np.asarray(estimator.predict_proba(X), dtype=np.float64) if drawn else None,
            codes=None if y is None else encode_labels(owner, y, classes, len(sets)),
        ).plot(ax)  # fmt: skip

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw points of the triangle with their sets, or bars of the sizes of sets.

        Parameters
        ----------
        ax : Axes, optional
            What to draw on; a new figure if not given.

        Returns
        -------
        self
        """
        places = self.places
        if places is not None:
            self._draw_triangle(self._start(ax, (8.0, 5.6)), places)
        else:
            self._draw_bars(ax)
        return self

    # -- three classes ------------------------------------------------------------------------------------------------

    def _draw_triangle(self, ax: Axes, places: np.ndarray) -> None:
        outline = np.vstack([CORNERS, CORNERS[:1]])
        ax.plot(*outline.T, color=INK, linewidth=1.0, zorder=1)
        middle = CORNERS.mean(axis=0)
        for i in range(3):  # where two classes are equally likely, and more so than the third
            ax.plot(
                *np.stack([middle, (CORNERS.sum(axis=0) - CORNERS[i]) / 2]).T, color=GREY, linewidth=0.7, linestyle=":"
            )
        for i, (corner, name) in enumerate(zip(CORNERS, self.classes, strict=True)):
            below: dict[str, Any] = {"va": "bottom" if i == 2 else "top", "ha": ("left", "right", "center")[i]}
            ax.annotate(
                shorten(name, LETTERS), corner, (0, 6 if i == 2 else -8), textcoords="offset points", fontsize=11,
                color=pick_colour(i), weight="bold", **below,
            )  # fmt: skip
        handles = [
            handle
            for members in sorted({tuple(np.flatnonzero(row).tolist()) for row in self.sets}, key=lambda s: (len(s), s))
            for handle in self._draw_set(ax, members, places)
        ]
        if self.held is not None and not self.held.all():
            ring: dict[str, Any] = {"s": 110, "facecolors": "none", "edgecolors": INK, "linewidths": 1.2}
            label = f"{np.count_nonzero(~self.held)} miss their class"
            handles.append(ax.scatter(*places[~self.held].T, label=label, zorder=4, **ring))
        ax.set_aspect("equal")
        ax.set_xlim(-0.06, 1.06)
        ax.set_ylim(-0.06, 0.95)
        ax.axis("off")
        add_legend(ax, handles, room=measure_room(ax), title=f"sets of coverage {self.coverage:g}")

    def _draw_set(self, ax: Axes, members: tuple[int, ...], places: np.ndarray) -> list[Any]:
        """Draw the points that have a set, in the shape and the colours of it."""
        own = places[(self.sets == np.isin(np.arange(3), members)).all(axis=1)]
        names = " or ".join(shorten(self.classes[i], LETTERS) for i in members)
        look: dict[str, Any] = {
            "linestyle": "none",
            "markersize": 7.5,
            "markeredgecolor": "white",
            "markeredgewidth": 0.5,
        }
        if len(members) == 0:
            names, look = "no class", look | {"marker": "x", "markeredgecolor": INK, "markeredgewidth": 1.6}
        elif len(members) == 1:
            look |= {"marker": pick_marker(members[0]), "color": pick_colour(members[0])}
        elif len(members) == 2:
            first, second = members
            look |= {"marker": PAIRS[first, second], "fillstyle": "left", "markersize": 9.0}
            look |= {"markerfacecolor": pick_colour(first), "markerfacecoloralt": pick_colour(second)}
        else:
            names = "all three"
            look |= {"marker": "*", "color": GREY, "markersize": 11.0}
        return list(ax.plot(*own.T, label=f"{names}: {len(own)}", zorder=3, **look))

    # -- any number ---------------------------------------------------------------------------------------------------

    def _draw_bars(self, ax: Axes | None) -> None:
        rows = self._list_rows()
        ax = self._start(ax, (8.0, 1.7 + 0.36 * len(rows)))
        cmap, most = self._import_pyplot().get_cmap(LEVELS), len(self.classes)
        largest = max(int(self.sizes[self.sizes < most].max(initial=0)), 2)
        for size in np.unique(self.sizes).tolist():
            shares = np.array([np.mean(self.sizes[own] == size) for _, own in rows])
            before = np.array([np.mean(self.sizes[own] < size) for _, own in rows])
            look: dict[str, Any] = {
                "color": cmap(0.1 + 0.85 * (size - 1) / (largest - 1)),
                "edgecolor": "white",
                "linewidth": 1.0,
            }
            label = f"{size} class{'es' * (size > 1)}"
            if size == 0:
                label, look = "no class", {"color": "white", "edgecolor": INK, "hatch": "xx", "linewidth": 0.8}
            elif size == most:
                label, look = f"all {size}", {"color": "0.8", "edgecolor": "0.45", "hatch": "//", "linewidth": 0.8}
            ax.barh(np.arange(len(rows)), shares, 0.72, left=before, label=label, **look)
        if self.held is not None:
            for place, (_, own) in enumerate(rows):
                ax.text(1.015, place, f"{100 * self.held[own].mean():.0f} % hold", va="center", fontsize=9)
        ax.set_yticks(np.arange(len(rows)), [shorten(name, LETTERS) for name, _ in rows])
        ax.invert_yaxis()
        ax.set(xlabel="share of points", xlim=(0.0, 1.0))
        ax.xaxis.set_major_formatter(show_percent)
        hide_frame(ax)
        add_legend(ax, room=measure_room(ax), title=f"sets of coverage {self.coverage:g}")

    def _list_rows(self) -> list[tuple[str, np.ndarray]]:
        """Return which points have a bar: all of them, and those of each class if they are known and not too many."""
        rows = [("all points", np.ones(len(self.sets), dtype=bool))]
        if self.codes is None or len(self.classes) > MOST_ROWS:
            return rows
        own = [(name, self.codes == i) for i, name in enumerate(self.classes)]
        return rows + [(name, members) for name, members in own if members.any()]


def find_places(chances: np.ndarray) -> np.ndarray:
    """Return where probabilities of three classes are in a triangle with sides of 1: Σ p_c times corner c.

    Examples
    --------
    >>> find_places(np.array([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]])).round(3).tolist()
    [[0.0, 0.0], [0.75, 0.433]]
    """
    return np.asarray(chances @ CORNERS)
