"""What a model predicts on average when all rows have the same value in a column, or in two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from mercer.auto.figures import Dependence
from mercer.auto.judging.dependence import choose_outputs, measure_dependence, measure_joint_dependence
from mercer.auto.tables.encoder import TableEncoder
from mercer.formula.data import Rows
from mercer.needs import load_package
from mercer.words import count_things, shorten

from .drawing.answers import find_column, find_encoder, make_answers, read_table
from .drawing.display import Display
from .drawing.style import LEVELS, add_legend, add_note, hide_frame, pick_colour, pick_line, pick_marker

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LETTERS = 20  # of a level
AXES = {"prediction": "mean prediction", "probability": "mean probability", "share": "share of rows predicted"}


@dataclass(kw_only=True, eq=False, repr=False)
class DependenceDisplay(Display):
    """Partial dependence: f̄(v) = Σ f(v, xᵢ') / m, where xᵢ' are the other columns of the rows.

    One column is a line, or a point for each level.  Two columns of numbers are a map, and a column of levels beside
    another is a line for each level.  Where columns go together, some of the rows that are asked about do not exist.
    Use :meth:`from_estimator`; the parameters are what it computes.

    Parameters
    ----------
    names : sequence of str
        The column, or the two.
    grids : sequence of tuples
        The values of each: numbers from low to high, days since 1970, or levels, the most frequent first.
    dates : sequence of bool
        Whether they are days.
    values : array of shape (outputs, first grid) or (outputs, first grid, second grid)
        The means.
    outputs : sequence of str
        Which classes they are of; empty for a regression.
    kind : {"prediction", "probability", "share"}
        What they are means of.
    rows : int
        How many rows they are over.

    Attributes
    ----------
    ax_, figure_
        What was drawn on, after :meth:`plot`.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.inspection import DependenceDisplay
    >>> from mercer.kernels import Linear
    >>> X = np.random.default_rng(0).normal(size=(80, 3))
    >>> model = KernelRidge(1e-6, kernel=Linear()).fit(X, 2.0 * X[:, 1])
    >>> display = DependenceDisplay.from_estimator(model, X, 1)
    >>> low, high = np.array(display.grids[0])[[0, -1]]
    >>> bool(np.isclose(display.values[0, -1] - display.values[0, 0], 2.0 * (high - low)))
    True
    >>> plt.close(display.figure_)
    """

    names: Sequence[str]
    grids: Sequence[tuple[Any, ...]]
    dates: Sequence[bool]
    values: np.ndarray
    outputs: Sequence[str] = ()
    kind: str = "prediction"
    rows: int = 0

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Rows,
        features: int | str | Sequence[int | str],
        *,
        target: Any = None,
        ax: Axes | None = None,
    ) -> Self:
        """Ask a model about rows with some values replaced, and draw.

        Parameters
        ----------
        estimator : fitted estimator
            Any with ``predict``: a model, a pipeline or an automatic model.
        X : array or frame of shape (n, d)
            Rows such as the model was fitted to.  Of many some are drawn, always the same ones, so that there are at
            most 20,000 predictions.
        features : int or str, or two of them
            The column or columns, by name or position.
        target : label, optional
            The class whose chance is drawn; if not given the second of two, or for one column up to three of more.
        ax : Axes, optional
            What to draw on; a new figure if not given.

        Returns
        -------
        DependenceDisplay
        """
        owner, table = cls.__name__, read_table(cls.__name__, X)
        ask, classes, kind = make_answers(owner, estimator)
        encoder = find_encoder(estimator, table)
        chosen = [features] if isinstance(features, int | str | np.integer) else list(features)
        if not 1 <= len(chosen) <= 2:
            raise ValueError(f"{owner} draws along one column or two, got {features!r}")
        names = _check_columns(owner, chosen, encoder)
        outputs = [] if classes is None else _choose_classes(owner, classes, target, len(names))
        places = [place for place, _ in outputs] or [0]
        found: tuple[Dependence, ...]
        if len(names) == 1:
            found = measure_dependence(ask, table, encoder, names)
            values = np.array([found[0].values[place] for place in places]) if found else np.empty(0)
        else:
            first, second, means = measure_joint_dependence(ask, table, encoder, (names[0], names[1]))
            found, values = (first, second), means[places]
        if not values.size:
            raise ValueError(f"{owner}: no row has a value in {' or '.join(map(repr, names))}")
        return cls(
            names=names, grids=[each.grid for each in found], dates=[each.dates for each in found], values=values,
            outputs=[label for _, label in outputs], kind=kind, rows=found[0].rows,
        ).plot(ax)  # fmt: skip

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw lines, points or a map.

        Parameters
        ----------
        ax : Axes, optional
            What to draw on; a new figure if not given.

        Returns
        -------
        self
        """
        ax = self._start(ax, (8.0, 4.5))
        numbers = [not any(isinstance(value, str) for value in grid) for grid in self.grids]
        what = AXES[self.kind]
        if len(self.outputs) == 1:
            what += f" of {self.outputs[0]}"
        if len(self.grids) == 2 and all(numbers):
            self._draw_map(ax, what)
        elif len(self.grids) == 2:
            # A line for each level of one column, along the other.
            along = 1 if not numbers[0] and numbers[1] else 0
            lines = self.values[0].T if along == 0 else self.values[0]
            labels = [f"{self.names[1 - along]} = {level}" for level in self.grids[1 - along]]
            self._draw_lines(ax, along, lines, labels, what)
        else:
            self._draw_lines(ax, 0, self.values, self.outputs if len(self.outputs) > 1 else [None], what)
        add_note(ax, f"mean over {count_things(self.rows, 'row')}")
        return self

    def _draw_lines(self, ax: Axes, along: int, lines: np.ndarray, labels: Sequence[str | None], what: str) -> None:
        grid, levels = self.grids[along], any(isinstance(value, str) for value in self.grids[along])
        places: Any = np.arange(len(grid)) if levels else np.asarray(grid, dtype=np.float64)
        for i, (line, label) in enumerate(zip(lines, labels, strict=True)):
            look: dict[str, Any] = {"color": pick_colour(i), "linestyle": "none" if levels else pick_line(i)}
            marker = pick_marker(i) if levels or len(grid) <= 8 else None
            name = None if label is None else shorten(str(label), 2 * LETTERS)
            ax.plot(places, line, marker=marker, markersize=8 if levels else 5, linewidth=2.0, label=name, **look)
        if levels:
            ax.set_xticks(places, [shorten(str(level), LETTERS) for level in grid], rotation=30 * (len(grid) > 4))
            ax.set_xlim(-0.5, len(grid) - 0.5)
            ax.grid(axis="y", linewidth=0.4)
        else:
            ax.plot(places, np.full(len(grid), 0.015), "|", color="black", transform=ax.get_xaxis_transform())
            self._date(ax.xaxis, along)
        ax.set(xlabel=self.names[along], ylabel=what)
        hide_frame(ax)
        add_legend(ax)

    def _draw_map(self, ax: Axes, what: str) -> None:
        x, y = (np.asarray(grid, dtype=np.float64) for grid in self.grids)
        values = self.values[0].T
        flat = len(x) < 2 or len(y) < 2 or np.ptp(values) == 0
        if flat:  # one value of a column has no area
            x, y = (np.array([z[0] - 0.5, z[0] + 0.5]) if len(z) < 2 else z for z in (x, y))
            values = np.broadcast_to(values, (len(y), len(x)))
            picture: Any = ax.pcolormesh(x, y, values, cmap=LEVELS, shading="gouraud")
        else:
            picture = ax.contourf(x, y, values, levels=14, cmap=LEVELS)
            ax.contour(x, y, values, levels=picture.levels, colors="white", linewidths=0.5)
        ax.figure.colorbar(picture, ax=ax, label=what)
        inside: dict[str, Any] = {"color": "white", "clip_on": True, "markersize": 5}
        ax.plot(x, np.full(len(x), 0.012), "|", transform=ax.get_xaxis_transform(), **inside)
        ax.plot(np.full(len(y), 0.008), y, "_", transform=ax.get_yaxis_transform(), **inside)
        ax.set(xlabel=self.names[0], ylabel=self.names[1], xlim=(x[0], x[-1]), ylim=(y[0], y[-1]))
        self._date(ax.xaxis, 0)
        self._date(ax.yaxis, 1)

    def _date(self, axis: Any, place: int) -> None:
        if self.dates[place]:  # matplotlib counts days since 1970, too
            dates = load_package("matplotlib.dates", type(self).__name__)
            locator = dates.AutoDateLocator()
            axis.set_major_locator(locator)
            axis.set_major_formatter(dates.ConciseDateFormatter(locator))


def _check_columns(owner: str, chosen: Sequence[int | str], encoder: TableEncoder) -> list[str]:
    kinds = {step["name"]: step["kind"] for step in encoder.steps_}
    names = [find_column(owner, column, list(kinds)) for column in chosen]
    if len(set(names)) != len(names):
        raise ValueError(f"{owner}: the two columns must be different, got {names[0]!r} twice")
    for name in names:
        if kinds[name] not in ("numeric", "categorical"):
            raise ValueError(
                f"{owner} draws along columns of numbers, dates or levels, and {name!r} is taken for {kinds[name]}"
            )
    return names


def _choose_classes(owner: str, classes: np.ndarray, target: Any, columns: int) -> Sequence[tuple[int, str]]:
    """Return positions and names of the classes that are drawn."""
    if target is not None:
        found = [i for i, label in enumerate(classes.tolist()) if label == target]
        if not found:
            raise ValueError(
                f"{owner}: there is no class {target!r}; there are {', '.join(map(repr, classes.tolist()))}"
            )
        return [(found[0], str(target))]
    if columns == 2 and len(classes) > 2:
        raise ValueError(
            f"{owner} draws one class along two columns, and there are {len(classes)}; say which by "
            f"target={classes.tolist()[0]!r}"
        )
    return choose_outputs(np.arange(len(classes)), classes)
