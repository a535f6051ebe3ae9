"""Input space beside feature space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, is_classifier, is_outlier_detector
from sklearn.utils.validation import check_is_fitted

from mercer.formula.data import Rows
from mercer.kernels import Kernel

from .drawing.display import PairDisplay
from .drawing.estimator import get_kernel
from .drawing.space import FeatureSpace
from .drawing.style import GREY, INK, pick_colour, pick_marker

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(kw_only=True, eq=False, repr=False)
class FeatureMapDisplay(PairDisplay):
    r"""Points of a line or of the plane, and the same points in the space of a kernel: the circle becomes a plane.

    A kernel with at most three explicit features that are not constant is drawn in them.  Of a larger space the three
    directions of most variance are drawn, by kernel principal component analysis; ``axes`` chooses others.  The line is
    drawn as the curve φ(x).  A classifier's boundary is drawn in both spaces; where the features are all there it lies
    in the plane wᵀφ + b = 0.  Use :meth:`from_kernel` or :meth:`from_estimator`; the parameters are what they compute.

    Parameters
    ----------
    points : array of shape (n, 1) or (n, 2)
        The data.
    features : array of shape (n, 1), (n, 2) or (n, 3)
        Its images.
    curve : array of shape (r, 1), (r, 2) or (r, 3), optional
        The image of the line.
    codes : int array of shape (n,), optional
        The class of each point, a position in ``classes``.
    classes : sequence of str
        The names of the classes.
    boundary : sequence of arrays of shape (m, 1) or (m, 2)
        The points or curves at which the predicted class changes.
    boundary_features : sequence of arrays of shape (m, 1), (m, 2) or (m, 3)
        Their images.
    plane : array of shape (features + 1,), optional
        w and b of the plane wᵀφ + b = 0, a line among two features.
    names : sequence of str
        The names of the inputs.
    feature_names : sequence of str
        The names of the features.

    Attributes
    ----------
    ax_, figure_
        What was drawn on, after :meth:`plot`; ``ax_`` is a pair.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from mercer.inspection import FeatureMapDisplay
    >>> from mercer.kernels import Polynomial
    >>> X = np.random.default_rng(0).uniform(-1.5, 1.5, size=(100, 2))
    >>> inside = (X**2).sum(axis=1) < 1
    >>> display = FeatureMapDisplay.from_kernel(Polynomial(degree=2, offset=0.0), X, inside)
    >>> display.feature_names
    ['$x_{0}^{2}$', '$\\sqrt{2}\\,x_{0} x_{1}$', '$x_{1}^{2}$']
    >>> plt.close(display.figure_)

    One input becomes a curve, here the parabola of x and x²:

    >>> line = FeatureMapDisplay.from_kernel(Polynomial(degree=2, offset=1.0), X[:, :1], X[:, 0] ** 2 < 1)
    >>> line.curve.shape, line.feature_names
    ((200, 2), ['$\\sqrt{2}\\,x_{0}$', '$x_{0}^{2}$'])
    >>> plt.close(line.figure_)
    """

    points: np.ndarray
    features: np.ndarray
    codes: np.ndarray | None = None
    classes: Sequence[str] = ()
    boundary: Sequence[np.ndarray] = ()
    boundary_features: Sequence[np.ndarray] = ()
    plane: np.ndarray | None = None
    curve: np.ndarray | None = None
    names: tuple[str, ...] = ("x0", "x1")
    feature_names: Sequence[str] = ()

    @classmethod
    def from_kernel(
        cls,
        kernel: Kernel,
        X: Rows,
        y: ArrayLike | None = None,
        *,
        axes: Sequence[int | str] | None = None,
        ax: Sequence[Axes] | None = None,
    ) -> Self:
        """Map points by a kernel, and draw.

        Parameters
        ----------
        kernel : Kernel
            A kernel on vectors.
        X : array or frame of shape (n, 1) or (n, 2)
            The points.
        y : array of shape (n,), optional
            Their labels.
        axes : one, two or three of int or str, optional
            The features to draw, by position or by a name such as ``"x0^2"``, of the explicit map of the kernel; of a
            kernel that has no finite one, the principal directions by number, from 0 on.
        ax : pair of Axes, optional
            What to draw on, the second with a projection of "3d"; a new figure if not given.

        Returns
        -------
        FeatureMapDisplay
        """
        return cls(**FeatureSpace(cls.__name__, kernel, X, axes, None).describe(y)).plot(ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Rows,
        y: ArrayLike | None = None,
        *,
        axes: Sequence[int | str] | None = None,
        ax: Sequence[Axes] | None = None,
    ) -> Self:
        """Map points by the kernel of a fitted estimator, and draw with its boundary.

        Parameters
        ----------
        estimator : fitted estimator
            Any with a kernel, or a pipeline that ends in one; the boundary of a classifier is drawn.
        X : array or frame of shape (n, 1) or (n, 2)
            The points.
        y : array of shape (n,), optional
            Their labels.
        axes, ax
            As for :meth:`from_kernel`.

        Returns
        -------
        FeatureMapDisplay
        """
        check_is_fitted(estimator)
        space = FeatureSpace(cls.__name__, get_kernel(cls.__name__, estimator), X, axes, estimator)
        found = space.find_boundary(estimator) if is_classifier(estimator) or is_outlier_detector(estimator) else {}
        return cls(**space.describe(y), **found).plot(ax)

    def plot(self, ax: Sequence[Axes] | None = None) -> Self:
        """Draw the inputs on the left and their images on the right.

        Parameters
        ----------
        ax : pair of Axes, optional
            As for :meth:`from_kernel`.

        Returns
        -------
        self
        """
        deep = self.features.shape[1] == 3
        left, right = self._start(ax, (8.0, 4.2), "3d" if deep else None)
        if deep and not hasattr(right, "get_zlim"):
            raise ValueError(
                f"{type(self).__name__}: the second of the axes shows three features; make it with "
                "figure.add_subplot(projection='3d')"
            )
        if self.curve is not None:
            right.plot(*_raise_line(self.curve).T, color=GREY, linewidth=1.0, zorder=1)
        self._scatter(left, self.points)
        self._scatter(right, self.features)
        for i, (curve, image) in enumerate(zip(self.boundary, self.boundary_features, strict=True)):
            self._draw_boundary(left, curve, "boundary" if i == 0 else None)
            self._draw_boundary(right, image, None)
        self._finish_flat(left, self.names, "input space")
        if deep:
            self._finish_space(right)
        else:
            self._finish_flat(right, self.feature_names, "feature space")
        if self.points.shape[1] == 2:
            left.set_aspect("equal")
        if self.plane is not None and self.features.shape[1] == 2:
            self._draw_line(right)
        if left.get_legend_handles_labels()[0]:
            below = {"loc": "upper left", "bbox_to_anchor": (0.0, -0.16)}
            owner: Any = left if ax is not None else left.figure
            place: dict[str, Any] = below if ax is not None else {"loc": "outside lower left"}
            owner.legend(handles=left.get_legend_handles_labels()[0], ncols=4, frameon=False, fontsize=9, **place)
        return self

    def _draw_boundary(self, ax: Any, curve: np.ndarray, label: str | None) -> None:
        if len(curve) > 1:
            ax.plot(*curve.T, color=INK, linewidth=1.6, label=label)
            return
        if curve.shape[1] == 1:
            ax.axvline(float(curve[0, 0]), 0.35, 0.65, color=INK, linewidth=1.4, zorder=2)
        look: dict[str, Any] = {"marker": "D", "s": 42, "color": INK, "edgecolors": "white", "zorder": 5}
        ax.scatter(*_raise_line(curve).T, label=label, **look, **({"depthshade": False} if curve.shape[1] == 3 else {}))

    def _finish_flat(self, ax: Any, names: Sequence[str], title: str) -> None:
        ax.set(xlabel=names[0], title=title)
        if len(names) > 1:
            ax.set_ylabel(names[1])
            return
        ax.axhline(0.0, color=GREY, linewidth=0.8, zorder=0)
        ax.set(ylim=(-1.0, 1.0), yticks=[])
        for side in ("left", "top", "right"):
            ax.spines[side].set_visible(False)

    def _scatter(self, ax: Any, points: np.ndarray) -> None:
        points = _raise_line(points)
        if self.codes is None:
            ax.scatter(*points.T, s=16, color=pick_colour(0))
            return
        for code, name in enumerate(self.classes):
            own = points[self.codes == code]
            look: dict[str, Any] = {"color": pick_colour(code), "marker": pick_marker(code), "s": 18, "label": name}
            if points.shape[1] == 3:
                look["depthshade"] = False  # fading with distance would change the colours of the classes
            ax.scatter(*own.T, edgecolors="white", linewidths=0.3, **look)

    def _finish_space(self, ax: Any) -> None:
        ax.set(title="feature space", **dict(zip(("xlabel", "ylabel", "zlabel"), self.feature_names, strict=True)))
        ax.view_init(elev=20, azim=-62)
        ax.set_box_aspect((1.0, 1.0, 0.9), zoom=0.86)  # room for the labels
        ax.tick_params(labelsize=8, pad=0)
        for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
            axis.set_pane_color((1.0, 1.0, 1.0, 0.0))
            axis.set_major_locator(self._import_pyplot().MaxNLocator(3))
        if self.plane is not None:
            self._draw_plane(ax)

    def _draw_plane(self, ax: Any) -> None:
        """Draw the part of the plane above the box of the first two features, along the axis it crosses best."""
        assert self.plane is not None
        w, b = self.plane[:3], self.plane[3]
        up = int(np.argmax(np.abs(w) * np.ptp(self.features, axis=0)))
        across = [i for i in range(3) if i != up]
        limits = [(self.features[:, i].min(), self.features[:, i].max()) for i in range(3)]
        first, second = np.meshgrid(*(np.linspace(*limits[i], 30) for i in across))
        height = -(b + w[across[0]] * first + w[across[1]] * second) / w[up]
        height[(height < limits[up][0]) | (height > limits[up][1])] = np.nan
        sheet: list[Any] = [None, None, None]
        sheet[across[0]], sheet[across[1]], sheet[up] = first, second, height
        ax.plot_surface(*sheet, color=GREY, alpha=0.25, linewidth=0, shade=False)

    def _draw_line(self, ax: Any) -> None:
        """Draw the line wᵀφ + b = 0 across the picture."""
        assert self.plane is not None
        (w0, w1), b = self.plane[:2], self.plane[2]
        (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
        ends = [(x, -(b + w0 * x) / w1) for x in (left, right)] if w1 else []
        ends += [(-(b + w1 * y) / w0, y) for y in (low, high)] if w0 else []
        slack = 1e-9 * (right - left), 1e-9 * (high - low)
        inside = [
            (x, y)
            for x, y in ends
            if left - slack[0] <= x <= right + slack[0] and low - slack[1] <= y <= high + slack[1]
        ]
        if len(inside) >= 2:
            ax.plot(*np.array([min(inside), max(inside)]).T, color=INK, linewidth=1.6, zorder=2)
            ax.set(xlim=(left, right), ylim=(low, high))


def _raise_line(points: np.ndarray) -> np.ndarray:
    """Return points of a line as points of the plane."""
    return np.column_stack([points, np.zeros(len(points))]) if points.shape[1] == 1 else points
