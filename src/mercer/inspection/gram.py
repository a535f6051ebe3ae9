"""The kernel matrix as a heat map, its rows ordered so that blocks show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import type_of_target

from mercer.formula.data import Rows, length, pick
from mercer.gram import Gram
from mercer.kernels import Kernel
from mercer.words import shorten

from .drawing.display import Display
from .drawing.estimator import check_labels, encode_rows, get_kernel, is_precomputed, sample, sample_gram
from .drawing.style import INK, LEVELS, SIGNED

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Order = Literal["target", "clusters", "given"]
MOST_GROUPS = 20  # more labels than that are not to be read at the side of a picture


@dataclass(kw_only=True, eq=False, repr=False)
class GramDisplay(Display):
    """A kernel matrix as a heat map.

    Use :meth:`from_kernel`, :meth:`from_gram` or :meth:`from_estimator`; the parameters are what they compute.

    Parameters
    ----------
    matrix : array of shape (n, n)
        The values, rows and columns in the order drawn.
    order : int array of shape (n,)
        Which point each row is.
    groups : sequence of (str, int), optional
        Names and sizes of the blocks, from the first row on.
    ordered_by : str
        What the order is, for the axes.

    Attributes
    ----------
    ax_, figure_
        What was drawn on, after :meth:`plot`.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_iris
    >>> from mercer.inspection import GramDisplay
    >>> from mercer.kernels import Gaussian
    >>> X, y = load_iris(return_X_y=True)
    >>> display = GramDisplay.from_kernel(Gaussian(), X, y)
    >>> display.groups
    [('0', 50), ('1', 50), ('2', 50)]
    >>> plt.close(display.figure_)
    """

    matrix: np.ndarray
    order: np.ndarray
    groups: Sequence[tuple[str, int]] = ()
    ordered_by: str = "as given"

    @classmethod
    def from_gram(
        cls,
        K: ArrayLike | Gram,
        y: ArrayLike | None = None,
        *,
        order: Order | None = None,
        max_points: int = 500,
        random_state: int | None = 0,
        ax: Axes | None = None,
    ) -> Self:
        """Order a kernel matrix, and draw.

        Parameters
        ----------
        K : array of shape (n, n) or Gram
            The matrix.
        y : array of shape (n,), optional
            Labels or targets of the points.
        order : {"target", "clusters", "given"}, optional
            Rows by y, and by similarity within a class; by similarity alone, neighbours in a hierarchy of clusters next
            to each other; or as they are.  By y if there is one, else by similarity.
        max_points : int, default=500
            If there are more points, that many at random are drawn.
        random_state : int, optional
            The seed of those.
        ax : Axes, optional
            What to draw on; a new figure if not given.

        Returns
        -------
        GramDisplay
        """
        chosen, matrix, n = sample_gram(cls.__name__, K, max_points, random_state)
        targets = None if y is None else check_labels(cls.__name__, y, n)[chosen]
        places, groups, words = _order_points(cls.__name__, matrix, targets, order)
        ordered = matrix[np.ix_(places, places)]
        return cls(matrix=ordered, order=chosen[places], groups=groups, ordered_by=words).plot(ax)

    @classmethod
    def from_kernel(
        cls,
        kernel: Kernel,
        X: Rows,
        y: ArrayLike | None = None,
        *,
        order: Order | None = None,
        max_points: int = 500,
        random_state: int | None = 0,
        ax: Axes | None = None,
    ) -> Self:
        """Compute a kernel between all pairs of points, and draw.

        Parameters
        ----------
        kernel : Kernel
            The kernel.
        X : collection of n objects
            The points, of whatever kind the kernel takes.
        y, order, max_points, random_state, ax
            As for :meth:`from_gram`.

        Returns
        -------
        GramDisplay
        """
        chosen = sample(X, max_points, random_state)
        targets = None if y is None else check_labels(cls.__name__, y, length(X))[chosen]
        matrix = np.asarray(kernel(pick(X, chosen)))
        display = cls.from_gram(matrix, targets, order=order, max_points=len(chosen), ax=ax)
        display.order = chosen[display.order]
        return display

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Rows,
        y: ArrayLike | None = None,
        *,
        order: Order | None = None,
        max_points: int = 500,
        random_state: int | None = 0,
        ax: Axes | None = None,
    ) -> Self:
        """Compute the kernel of a fitted estimator between all pairs of points, and draw.

        Parameters
        ----------
        estimator : fitted estimator
            Any with a kernel, or a pipeline that ends in one.
        X : collection of n objects
            The points; the matrix itself if the kernel is precomputed.
        y, order, max_points, random_state, ax
            As for :meth:`from_gram`.

        Returns
        -------
        GramDisplay
        """
        rows = encode_rows(estimator, X)
        options: dict[str, Any] = {"order": order, "max_points": max_points, "random_state": random_state, "ax": ax}
        if is_precomputed(estimator):
            return cls.from_gram(rows, y, **options)
        return cls.from_kernel(get_kernel(cls.__name__, estimator), rows, y, **options)

    def plot(self, ax: Axes | None = None, *, colorbar: bool = True) -> Self:
        """Draw the matrix, lines between its blocks, and a scale.

        Parameters
        ----------
        ax : Axes, optional
            What to draw on; a new figure if not given.
        colorbar : bool, default=True
            Whether to draw the scale of values.

        Returns
        -------
        self
        """
        ax = self._start(ax, (8.0, 6.4), "compressed")
        low, high = float(self.matrix.min()), float(self.matrix.max())
        signed = low < -1e-9 * max(high, -low)
        size = max(high, -low)
        limits: dict[str, Any] = {"vmin": -size, "vmax": size} if signed else {"vmin": min(low, 0.0), "vmax": high}
        image = ax.imshow(self.matrix, cmap=SIGNED if signed else LEVELS, interpolation="nearest", **limits)
        ends = np.cumsum([count for _, count in self.groups])
        for end in ends[:-1]:
            for line in (ax.axhline, ax.axvline):
                line(end - 0.5, color="white" if not signed else INK, linewidth=1.2)
        if self.groups:
            centres = ends - np.array([count for _, count in self.groups]) / 2 - 0.5
            names = [shorten(name, 16) for name, _ in self.groups]
            crowded = sum(map(len, names)) > 48
            ax.set_xticks(centres, names, rotation=45 if crowded else 0, ha="right" if crowded else "center")
            ax.set_yticks(centres, names)
            ax.tick_params(length=0)
        ax.set(xlabel=f"points, {self.ordered_by}", ylabel=f"points, {self.ordered_by}")
        if colorbar:
            bar = ax.figure.colorbar(image, ax=ax)
            bar.set_label("k(x, z)")
        return self


def _order_points(
    owner: str, K: np.ndarray, y: np.ndarray | None, order: str | None
) -> tuple[np.ndarray, list[tuple[str, int]], str]:
    """Return the order of rows, the blocks in it, and its name."""
    if order not in (None, "target", "clusters", "given"):
        raise ValueError(f"{owner}: order must be 'target', 'clusters' or 'given'; got {order!r}")
    if order == "target" and y is None:
        raise ValueError(f"{owner}: order='target' sorts rows by y, which was not given; use order='clusters'")
    if order == "given":
        return np.arange(len(K)), [], "as given"
    if order == "clusters" or y is None:
        return order_by_similarity(K), [], "ordered by similarity"
    values, codes = np.unique(y, return_inverse=True)
    if len(values) > MOST_GROUPS or type_of_target(y) not in ("binary", "multiclass"):
        return np.argsort(codes, kind="stable"), [], "ordered by target"
    parts = [np.flatnonzero(codes == code) for code in range(len(values))]
    places = np.concatenate([part[order_by_similarity(K[np.ix_(part, part)])] for part in parts])
    return places, [(str(value), len(part)) for value, part in zip(values, parts, strict=True)], "ordered by class"


def order_by_similarity(K: np.ndarray) -> np.ndarray:
    """Return an order of points in which similar ones are neighbours: the leaves of a hierarchy of clusters.

    Similarity is the cosine of the angle between features; clusters join by the mean distance of their points, and
    branches are turned so that neighbouring leaves are as close as can be.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([0.0, 5.0, 0.1, 5.2])
    >>> order = order_by_similarity(np.exp(-((x[:, None] - x) ** 2))).tolist()
    >>> sorted([sorted(order[:2]), sorted(order[2:])])
    [[0, 2], [1, 3]]
    """
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    if len(K) < 3:
        return np.arange(len(K))
    size = np.sqrt(np.abs(np.diagonal(K)))
    size = np.where(size > 0, size, 1.0)
    cosine = np.clip(K / size / size[:, None], -1.0, 1.0)
    distances = np.sqrt(1.0 - (cosine + cosine.T) / 2)
    return np.asarray(leaves_list(linkage(squareform(distances, checks=False), "average", optimal_ordering=True)))
