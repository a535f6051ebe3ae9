"""A learned metric: what it says of pairs of features, and the directions along which the function changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from mercer.arrays.tensors import host_array
from mercer.words import shorten

from .drawing.display import PairDisplay
from .drawing.style import SIGNED, add_legend, hide_frame, pick_colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_FEATURES = 25  # that are drawn, those that matter most
LETTERS = 18  # of a name


@dataclass(kw_only=True, eq=False, repr=False)
class MetricDisplay(PairDisplay):
    """The metric M of a model that learned one, as a matrix, and the first directions of its function.

    Features are divided by their deviation, so that entries can be compared, and the matrix by its largest entry.
    Use :meth:`from_estimator`; the parameters are what it computes.

    Parameters
    ----------
    matrix : array of shape (d, d)
        The metric of the features drawn.
    directions : array of shape (r, d)
        Directions along which the function changes most, each with a largest entry that is positive.
    shares : array of shape (r,)
        Their shares in the mean squared slope.
    names : list of str
        What the features are called.

    Attributes
    ----------
    ax_, figure_
        What was drawn on, after :meth:`plot`; the axes are a pair.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_diabetes
    >>> from mercer.inspection import MetricDisplay
    >>> from mercer.models import RecursiveFeatureRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = RecursiveFeatureRegressor(random_state=0).fit(X, y)
    >>> display = MetricDisplay.from_estimator(model)
    >>> display.matrix.shape, len(display.names)
    ((10, 10), 10)
    >>> plt.close(display.figure_)
    """

    matrix: np.ndarray
    directions: np.ndarray
    shares: np.ndarray
    names: list[str]

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        *,
        directions: int = 2,
        names: Sequence[str] | None = None,
        ax: Sequence[Axes] | None = None,
    ) -> Self:
        """Read the metric of a fitted model, and draw.

        Parameters
        ----------
        estimator : estimator
            A fitted ``RecursiveFeatureRegressor`` or ``RecursiveFeatureClassifier``.
        directions : int, default=2
            How many directions to draw.
        names : sequence of str, optional
            What the features are called; as in the data that the model was fitted to if not given.
        ax : pair of Axes, optional
            What to draw on; a new figure if not given.

        Returns
        -------
        MetricDisplay
        """
        check_is_fitted(estimator)
        model: Any = estimator
        if not hasattr(model, "metric_") or not hasattr(model, "components_"):
            raise TypeError(
                f"{cls.__name__} draws a learned metric, which {type(model).__name__} does not have; fit "
                "RecursiveFeatureRegressor or RecursiveFeatureClassifier"
            )
        d = len(model.metric_)
        given = names if names is not None else getattr(model, "feature_names_in_", [f"x{i}" for i in range(d)])
        if len(given) != d:
            raise ValueError(f"{cls.__name__}: the model has {d} features, so names must be as many; got {len(given)}")
        few = np.sort(np.argsort(-model.feature_importances_, kind="stable")[:MOST_FEATURES])
        spread = np.std(host_array(model.expansion_.centers), axis=0, dtype=np.float64)
        matrix = (spread[:, None] * model.metric_ * spread)[np.ix_(few, few)]
        return cls(
            matrix=matrix / (np.abs(matrix).max() or 1.0),
            directions=model.components_[:directions, few],
            shares=model.component_shares_[:directions],
            names=[shorten(str(given[i]), LETTERS) for i in few],
        ).plot(ax)

    def plot(self, ax: Sequence[Axes] | None = None) -> Self:
        """Draw the matrix to the left, and the directions as bars to the right.

        Parameters
        ----------
        ax : pair of Axes, optional
            What to draw on; a new figure if not given.

        Returns
        -------
        MetricDisplay
        """
        d = len(self.names)
        left, right = self._start(ax, size=(10.0, max(3.6, 1.6 + 0.22 * d)))
        image = left.imshow(self.matrix, cmap=SIGNED, vmin=-1.0, vmax=1.0, interpolation="nearest")
        left.figure.colorbar(image, ax=left, label="M over its largest entry")
        left.set_xticks(range(d), self.names, rotation=90)
        left.set_yticks(range(d), self.names)
        left.tick_params(length=0, labelsize=8)
        height = 0.8 / max(1, len(self.directions))
        for i, (direction, share) in enumerate(zip(self.directions, self.shares, strict=True)):
            right.barh(
                np.arange(d) + (i - (len(self.directions) - 1) / 2) * height, direction, height,
                color=pick_colour(i), label=f"direction {i + 1}, {share:.0%} of the slope",
            )  # fmt: skip
        right.axvline(0.0, color="black", linewidth=0.8)
        right.set_yticks(range(d), self.names, fontsize=8)
        right.set_ylim(d - 0.5, -0.5)
        right.set_xlabel("weight of the feature, divided by its deviation")
        add_legend(right, room=60)
        hide_frame(right)
        return self
