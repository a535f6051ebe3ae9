"""Which columns matter to a model: what permuting each costs, with how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from mercer.auto.judging.importance import MOST_ROWS, measure_importance
from mercer.formula.data import Rows
from mercer.words import count_things, shorten

from .drawing.answers import make_answers, read_table
from .drawing.display import Display
from .drawing.regions import encode_labels
from .drawing.style import GREY, INK, add_note, hide_frame, pick_colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Metric = Literal["auto", "RMSE", "mean absolute error", "share of errors", "log-loss"]
LETTERS = 28  # of a name
TINY = 1e-15  # the least probability whose logarithm is taken


@dataclass(kw_only=True, eq=False, repr=False)
class ImportanceDisplay(Display):
    """By how much a model gets worse when the values of a column are dealt out anew among the rows.

    Bars are means over permutations, and lines one standard error to each side, by the jackknife over ten groups of
    rows.  Columns that say the same as others have little importance each.  Use :meth:`from_estimator`; the parameters
    are what it computes.

    Parameters
    ----------
    names : sequence of str
        The columns, most important first.
    values : array of shape (columns,)
        By how much the metric rises.
    errors : array of shape (columns,)
        The standard errors of that.
    metric : str
        What is measured; small is good.
    note : str
        How it was.

    Attributes
    ----------
    ax_, figure_
        What was drawn on, after :meth:`plot`.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.inspection import ImportanceDisplay
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(150, 3))
    >>> y = 2.0 * X[:, 1] + X[:, 0]
    >>> model = KernelRidge(0.01, kernel=Gaussian(3.0)).fit(X[:100], y[:100])
    >>> display = ImportanceDisplay.from_estimator(model, X[100:], y[100:])
    >>> display.names, display.metric
    (['x1', 'x0', 'x2'], 'RMSE')
    >>> plt.close(display.figure_)
    """

    names: Sequence[str]
    values: np.ndarray
    errors: np.ndarray
    metric: str = ""
    note: str = ""

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Rows,
        y: ArrayLike,
        *,
        metric: Metric = "auto",
        repeats: int = 5,
        max_columns: int = 15,
        random_state: int | None = 0,
        ax: Axes | None = None,
    ) -> Self:
        """Permute the columns of a table one by one, and draw what that costs.

        Parameters
        ----------
        estimator : fitted estimator
            Any with ``predict``: a model, a pipeline or an automatic model.
        X : array or frame of shape (n, d)
            Rows that the model was not fitted to; of more than 1,000 that many are drawn.
        y : array of shape (n,)
            Their targets.
        metric : {"auto", "RMSE", "mean absolute error", "share of errors", "log-loss"}, default="auto"
            What is measured: "RMSE" of numbers and "share of errors" of classes if not given.  "log-loss" needs
            ``predict_proba``.
        repeats : int, default=5
            Permutations of each column.
        max_columns : int, default=15
            How many are drawn, the most important ones.
        random_state : int, optional
            The seed of permutations.
        ax : Axes, optional
            What to draw on; a new figure if not given.

        Returns
        -------
        ImportanceDisplay
        """
        table, targets = read_table(cls.__name__, X), np.asarray(y)
        n = int(table.shape[0])
        if targets.shape != (n,) or n < 2:
            raise ValueError(
                f"{cls.__name__}: X has {count_things(n, 'row')}, and needs two or more and a y of shape ({n},); got "
                f"{targets.shape}"
            )
        ask, classes, kind = make_answers(cls.__name__, estimator, chances=metric == "log-loss")
        name, score = _choose_score(cls.__name__, metric, classes, kind)
        codes = targets.astype(np.float64) if classes is None else encode_labels(cls.__name__, targets, classes, n)
        rng = np.random.default_rng(random_state)
        found = measure_importance(ask, table, codes, score, rng, repeats=repeats)
        shown = found[:max_columns]
        more = f", {len(found) - len(shown)} columns of less importance left out" if len(shown) < len(found) else ""
        return cls(
            names=[each.name for each in shown], values=np.array([each.value for each in shown]),
            errors=np.array([each.error for each in shown]), metric=name,
            note=f"{min(n, MOST_ROWS):,} rows, {count_things(repeats, 'permutation')} of each column{more}",
        ).plot(ax)  # fmt: skip

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw a bar for each column, most important first.

        Parameters
        ----------
        ax : Axes, optional
            What to draw on; a new figure if not given.

        Returns
        -------
        self
        """
        places = np.arange(len(self.names))
        ax = self._start(ax, (8.0, max(2.4, 1.3 + 0.3 * len(places))))
        ax.barh(places, self.values, 0.66, color=pick_colour(0), alpha=0.85)
        look: dict[str, Any] = {"fmt": "none", "ecolor": INK, "elinewidth": 1.2, "capsize": 3}
        ax.errorbar(self.values, places, xerr=self.errors, label="standard error", **look)
        ax.axvline(0.0, color=GREY, linewidth=0.8)
        ax.set_yticks(places, [shorten(name, LETTERS) for name in self.names])
        ax.set_ylim(len(places) - 0.5, -0.5)
        ax.tick_params(axis="y", length=0)
        ax.set_xlabel(f"rise of the {self.metric} when the column is permuted")
        hide_frame(ax)
        add_note(ax, self.note)
        return self


def _choose_score(
    owner: str, metric: str, classes: np.ndarray | None, kind: str
) -> tuple[str, Callable[[np.ndarray, np.ndarray], float]]:
    """Return the name of a metric and the function of targets, or codes of classes, and answers."""
    scores: dict[str, Callable[[np.ndarray, np.ndarray], float]]
    if classes is None:
        scores = {
            "RMSE": lambda y, made: float(np.sqrt(np.mean((y - made) ** 2))),
            "mean absolute error": lambda y, made: float(np.mean(np.abs(y - made))),
        }
    else:
        scores = {"share of errors": lambda y, made: float(np.mean(made.argmax(axis=1) != y))}
        if kind == "probability" or metric != "log-loss":
            scores["log-loss"] = lambda y, made: float(-np.log(made[np.arange(len(y)), y].clip(TINY)).mean())
    name = next(iter(scores)) if metric == "auto" else metric
    if name not in scores:
        listed = ", ".join(map(repr, ("auto", *scores)))
        raise ValueError(f"{owner}: for this model metric must be one of {listed}; got {metric!r}")
    return name, scores[name]
