"""Input space beside feature space."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from mercer.features.polynomial import Monomials
from mercer.formula.data import Rows, is_frame
from mercer.kernels import Kernel, Polynomial

from .drawing.display import PairDisplay
from .drawing.estimator import check_labels, get_kernel
from .drawing.slice import Slice
from .drawing.style import GREY, INK, pick_colour, pick_marker

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RESOLUTION = 120  # of the grid on which a boundary is found
MOST_CLASSES = 12


@dataclass(kw_only=True, eq=False, repr=False)
class FeatureMapDisplay(PairDisplay):
    r"""Points in the plane, and the same points in the space of a kernel: the circle that becomes a plane.

    A kernel with at most three explicit features is drawn in them.  Of a larger space the three directions of most
    variance are drawn, by kernel principal component analysis.  A classifier's boundary is drawn in both spaces; where
    the features are all there it lies in the plane wᵀφ + b = 0.  Use :meth:`from_kernel` or :meth:`from_estimator`; the
    parameters are what they compute.

    Parameters
    ----------
    points : array of shape (n, 2)
        The data.
    features : array of shape (n, 2) or (n, 3)
        Its images.
    codes : int array of shape (n,), optional
        The class of each point, a position in ``classes``.
    classes : sequence of str
        The names of the classes.
    boundary : sequence of arrays of shape (m, 2)
        The curves on which a classifier is undecided.
    boundary_features : sequence of arrays of shape (m, 2) or (m, 3)
        Their images.
    plane : array of shape (4,), optional
        w and b of the plane wᵀφ + b = 0.
    names : pair of str
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
    """

    points: np.ndarray
    features: np.ndarray
    codes: np.ndarray | None = None
    classes: Sequence[str] = ()
    boundary: Sequence[np.ndarray] = ()
    boundary_features: Sequence[np.ndarray] = ()
    plane: np.ndarray | None = None
    names: tuple[str, str] = ("x0", "x1")
    feature_names: Sequence[str] = ()

    @classmethod
    def from_kernel(
        cls, kernel: Kernel, X: Rows, y: ArrayLike | None = None, *, ax: Sequence[Axes] | None = None
    ) -> Self:
        """Map points by a kernel, and draw.

        Parameters
        ----------
        kernel : Kernel
            A kernel on vectors.
        X : array or frame of shape (n, 2)
            The points.
        y : array of shape (n,), optional
            Their labels.
        ax : pair of Axes, optional
            What to draw on, the second with a projection of "3d"; a new figure if not given.

        Returns
        -------
        FeatureMapDisplay
        """
        points, names = _read_plane(cls.__name__, X)
        return cls(**_map_points(kernel, points, names), **_read_labels(cls.__name__, y, len(points))).plot(ax)

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, X: Rows, y: ArrayLike | None = None, *, ax: Sequence[Axes] | None = None
    ) -> Self:
        """Map points by the kernel of a fitted estimator, and draw with its boundary.

        Parameters
        ----------
        estimator : fitted estimator
            Any with a kernel; the boundary of a classifier for two classes is drawn.
        X : array or frame of shape (n, 2)
            The points.
        y : array of shape (n,), optional
            Their labels.
        ax : pair of Axes, optional
            As for :meth:`from_kernel`.

        Returns
        -------
        FeatureMapDisplay
        """
        check_is_fitted(estimator)
        kernel = get_kernel(cls.__name__, estimator)
        points, names = _read_plane(cls.__name__, X)
        found = _map_points(kernel, points, names)
        display = cls(**found, **_read_labels(cls.__name__, y, len(points)))
        if len(getattr(estimator, "classes_", ())) == 2 and hasattr(estimator, "decision_function"):
            display._add_boundary(estimator, kernel, X)
        return display.plot(ax)

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
        self._scatter(left, self.points)
        self._scatter(right, self.features)
        for i, (curve, image) in enumerate(zip(self.boundary, self.boundary_features, strict=True)):
            look: dict[str, Any] = {"color": INK, "linewidth": 1.6, "label": "boundary" if i == 0 else None}
            left.plot(*curve.T, **look)
            right.plot(*image.T, **look)
        left.set(xlabel=self.names[0], ylabel=self.names[1], title="input space", aspect="equal")
        right.set(xlabel=self.feature_names[0], ylabel=self.feature_names[1], title="feature space")
        if deep:
            self._finish_space(right)
        if left.get_legend_handles_labels()[0]:
            below = {"loc": "upper left", "bbox_to_anchor": (0.0, -0.16)}
            owner: Any = left if ax is not None else left.figure
            place: dict[str, Any] = below if ax is not None else {"loc": "outside lower left"}
            owner.legend(handles=left.get_legend_handles_labels()[0], ncols=4, frameon=False, fontsize=9, **place)
        return self

    def _scatter(self, ax: Any, points: np.ndarray) -> None:
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
        ax.set_zlabel(self.feature_names[2])
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

    def _add_boundary(self, estimator: BaseEstimator, kernel: Kernel, X: Rows) -> None:
        """Find where the classifier is undecided, and the plane of those points among the features."""
        self._import_pyplot()
        from contourpy import contour_generator  # comes with matplotlib

        view = Slice(type(self).__name__, X, 2, None, None)
        xx0, xx1 = view.ticks(RESOLUTION, 0.05)
        grid = np.stack(np.meshgrid(xx0, xx1), axis=-1).reshape(-1, 2)
        values = np.asarray(estimator.decision_function(view.points(grid)))
        lines: Any = contour_generator(xx0, xx1, values.reshape(RESOLUTION, RESOLUTION)).lines(0.0)
        self.boundary = [np.asarray(line) for line in lines]
        transform = _find_transform(kernel, self.points)[0]
        self.boundary_features = [transform(line) for line in self.boundary]
        images = transform(grid)
        if kernel.feature_dim(2) == images.shape[1] == 3:
            # f is linear in the features, so that least squares gives its weights exactly.
            self.plane = np.linalg.lstsq(np.column_stack([images, np.ones(len(images))]), values, rcond=None)[0]


def _read_plane(owner: str, X: Rows) -> tuple[np.ndarray, tuple[str, str]]:
    points = np.asarray(X, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(f"{owner} draws points of the plane: X must have 2 features, got shape {points.shape}")
    names = [str(name) for name in X.columns] if is_frame(X) else ["x0", "x1"]
    return points, (names[0], names[1])


def _read_labels(owner: str, y: ArrayLike | None, n: int) -> dict[str, Any]:
    if y is None:
        return {}
    classes, codes = np.unique(check_labels(owner, y, n), return_inverse=True)
    if len(classes) > MOST_CLASSES:
        raise ValueError(f"{owner} draws up to {MOST_CLASSES} classes, and y has {len(classes)} values; leave it out")
    return {"codes": codes, "classes": [str(label) for label in classes.tolist()]}


def _map_points(kernel: Kernel, points: np.ndarray, names: tuple[str, str]) -> dict[str, Any]:
    transform, labels = _find_transform(kernel, points, names)
    return {"points": points, "features": transform(points), "names": names, "feature_names": labels}


def _find_transform(kernel: Kernel, points: np.ndarray, names: tuple[str, str] = ("x0", "x1")) -> tuple[Any, list[str]]:
    """Return the map to at most three features, and their names."""
    if kernel.feature_dim(2) in (2, 3):
        explicit = kernel.feature_map(2)
        return lambda x: np.asarray(explicit.transform(x), dtype=np.float64), _name_features(kernel, explicit, names)
    from mercer.models import KernelPCA

    pca = KernelPCA(n_components=3, kernel=kernel, eigen_solver="dense").fit(points)
    K = np.asarray(kernel(points))
    total = float(np.trace(K) - len(K) * K.mean())  # of the centred matrix
    shares = [100 * value / total for value in pca.eigenvalues_]
    words = ("1st", "2nd", "3rd")
    return pca.transform, [f"{word} direction ({share:.0f} %)" for word, share in zip(words, shares, strict=False)]


def _name_features(kernel: Kernel, explicit: Any, names: tuple[str, str]) -> list[str]:
    """Return the names of features as formulas; monomials of a polynomial kernel with their weights."""
    found = [write_formula(str(name)) for name in explicit.get_feature_names_out(list(names))]
    if not isinstance(kernel, Polynomial):
        return found
    weights = Monomials(2, int(kernel.degree), float(kernel.offset)).weights()
    return [f"${_write_weight(w)}{text[1:]}" for w, text in zip(weights, found, strict=True)]


def _write_weight(weight: float) -> str:
    square = weight**2
    if math.isclose(square, 1.0):
        return ""
    return rf"\sqrt{{{round(square)}}}\," if math.isclose(square, round(square)) else rf"{weight:.3g}\,"


def write_formula(name: str) -> str:
    r"""Return a name such as ``x0^2`` as mathematics, if it is made of inputs without names of their own.

    Examples
    --------
    >>> write_formula("x0 x1"), write_formula("age^2")
    ('$x_{0} x_{1}$', '$\\mathrm{age}^{2}$')
    """
    text = re.sub(r"\bx(\d+)\b", r"x_{\1}", name)
    text = re.sub(r"\b([A-Za-z]{2,}\w*)", lambda m: rf"\mathrm{{{m[1]}}}".replace("_", r"\_"), text)
    return "$" + re.sub(r"\^(\d+)", r"^{\1}", text) + "$"
