"""Feature space: the points among three features, which the page turns."""

from __future__ import annotations

import numpy as np
from bokeh.models import ColumnDataSource, Range1d

from ...state import State
from ...views.features import FeaturePicture
from .look import GREY, colour_points, make_figure, mark_points

HALF = 1.9  # of the width of the picture, in which points have length at most √3


class Space:
    """Images of the points; the page projects them, so that turning asks nobody."""

    def __init__(self) -> None:
        ranges = {"x_range": Range1d(-HALF, HALF), "y_range": Range1d(-HALF, HALF)}
        self.figure = make_figure("space", match_aspect=True, **ranges)
        self.figure.axis.visible = False
        self.figure.grid.visible = False
        columns: dict[str, list[float]] = {name: [] for name in ("x", "y", "f0", "f1", "f2")}
        self._points = ColumnDataSource({**columns, "colour": [], "marker": []}, name="images")
        self._axes = ColumnDataSource({"x": [], "y": [], "x0": [], "y0": [], "text": []}, name="axes")
        self.figure.segment("x0", "y0", "x", "y", source=self._axes, line_color=GREY, line_alpha=0.6)
        label = {"text_color": GREY, "text_font_size": "12px", "text_align": "center", "text_baseline": "middle"}
        self.figure.text("x", "y", "text", source=self._axes, **label)
        look = {"fill_color": "colour", "line_color": "white", "line_width": 0.5, "marker": "marker"}
        self.figure.scatter("x", "y", source=self._points, size=7, **look)

    def show(self, state: State, picture: FeaturePicture) -> None:
        """Show images, each feature scaled to [-1, 1]; with fewer than three features the others are 0."""
        plane = state.task == "classification"
        features = np.zeros((len(state.y), 3))
        found = np.asarray(picture.coordinates, dtype=np.float64)
        middle = (found.max(axis=0, initial=-np.inf) + found.min(axis=0, initial=np.inf)) / 2 if len(found) else 0.0
        spread = np.ptp(found, axis=0) / 2 if len(found) else np.ones(found.shape[1])
        features[:, : found.shape[1]] = (found - middle) / np.where(spread > 0, spread, 1.0)
        names = [*picture.names, "", "", ""][:3]
        self._axes.data = {**{name: [0.0] * 3 for name in ("x", "y", "x0", "y0")}, "text": names}
        self._points.data = {
            "x": features[:, 0], "y": features[:, 1], "f0": features[:, 0], "f1": features[:, 1], "f2": features[:, 2],
            "colour": colour_points(state.y, plane), "marker": mark_points(state.y, plane),
        }  # fmt: skip
