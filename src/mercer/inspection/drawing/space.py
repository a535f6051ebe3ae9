"""Points of a line or of the plane, their images in the space of a kernel, and a classifier's boundary in both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from mercer.formula.data import Rows
from mercer.kernels import Kernel

from .axes import choose_axes
from .estimator import check_labels, encode_rows
from .outlines import find_changes, trace_outlines
from .regions import make_question, name_classes
from .slice import Slice

RESOLUTION = 200  # of the grid on which a boundary is found
MARGIN = 0.05  # how far that goes beyond the data, as a share of its range
MOST_CLASSES = 12


class FeatureSpace:
    """The data as points of a line or of the plane, and the map from there to the features that are drawn."""

    def __init__(
        self, owner: str, kernel: Kernel, X: Rows, axes: Sequence[int | str] | None, estimator: BaseEstimator | None
    ) -> None:
        shape = tuple(getattr(X, "shape", np.shape(X)))
        if len(shape) != 2 or shape[1] not in (1, 2):
            raise ValueError(
                f"{owner} draws points of a line or of the plane: X must have 1 or 2 features, got shape {shape}"
            )
        self.view = Slice(owner, X, shape[1], None, None)
        self._estimator = estimator
        seen = self.encode(self.view.values)
        names = self.view.names if seen.shape[1] == shape[1] else [f"z{i}" for i in range(seen.shape[1])]
        self.axes = choose_axes(owner, kernel, seen, names, axes)

    def encode(self, places: np.ndarray) -> np.ndarray:
        """Return points as the kernel sees them."""
        rows: Any = self.view.points(places)
        if self._estimator is not None:
            rows = encode_rows(self._estimator, rows)
        return np.asarray(rows, dtype=np.float64)

    def describe(self, y: ArrayLike | None) -> dict[str, Any]:
        """Return the points, their images and labels, as parameters of the display."""
        ticks = self.view.ticks(RESOLUTION, MARGIN)
        curve = self.transform(ticks[0][:, None]) if len(ticks) == 1 else None
        return {
            "points": self.view.values, "features": self.transform(self.view.values), "curve": curve,
            "names": tuple(self.view.names), "feature_names": self.axes.names,
            **_read_labels(self.view.owner, y, len(self.view.values)),
        }  # fmt: skip

    def transform(self, places: np.ndarray) -> np.ndarray:
        """Return the images of points."""
        return self.axes.transform(self.encode(places))

    def find_boundary(self, estimator: BaseEstimator) -> dict[str, Any]:
        """Return where the predicted class changes, its image, and the plane of both if there is one."""
        classes, _ = name_classes(self.view.owner, estimator)
        ticks = self.view.ticks(RESOLUTION, MARGIN)
        ask = make_question(estimator, self.view, classes)
        if len(ticks) == 1:
            curves = [place[None, :] for place in find_changes(ask, ticks[0])]
        else:
            curves = trace_outlines(ask, ticks[0], ticks[1], len(classes)).boundary
        grid = np.stack(np.meshgrid(*ticks), axis=-1).reshape(-1, len(ticks))
        images = [self.transform(curve) for curve in curves]
        return {"boundary": curves, "boundary_features": images, "plane": self._find_plane(estimator, grid)}

    def _find_plane(self, estimator: BaseEstimator, grid: np.ndarray) -> np.ndarray | None:
        """Return w and b of wᵀφ + b = 0, if all features are there and the values are linear in them."""
        if not self.axes.whole or len(getattr(estimator, "classes_", ())) != 2:
            return None
        if not hasattr(estimator, "decision_function"):
            return None
        values = np.asarray(estimator.decision_function(self.view.points(grid)))
        images = np.column_stack([self.transform(grid), np.ones(len(grid))])
        # f is linear in the features, so that least squares gives its weights exactly.
        plane = np.linalg.lstsq(images, values, rcond=None)[0]
        return plane if np.allclose(images @ plane, values, atol=1e-6 * np.abs(values).max()) else None


def _read_labels(owner: str, y: ArrayLike | None, n: int) -> dict[str, Any]:
    if y is None:
        return {}
    classes, codes = np.unique(check_labels(owner, y, n), return_inverse=True)
    if len(classes) > MOST_CLASSES:
        raise ValueError(f"{owner} draws up to {MOST_CLASSES} classes, and y has {len(classes)} values; leave it out")
    return {"codes": codes, "classes": [str(label) for label in classes.tolist()]}
