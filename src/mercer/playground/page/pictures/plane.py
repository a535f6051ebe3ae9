"""The main picture: the points, and what was learned from them."""

from __future__ import annotations

from typing import Any

import numpy as np
from bokeh.models import ColumnDataSource, Range1d

from ...state import State
from ...views.surface import Curve, Regions
from .look import CURVE, GREY, INK, MARK, colour_points, make_figure, mark_points, paint_field, paint_regions

EMPTY: dict[str, list[Any]] = {"x": [], "y": []}


class Plane:
    """Points that can be drawn and dragged, f or the regions of classes, and the points that carry them."""

    def __init__(self) -> None:
        plot = make_figure("plane", "x", "y", x_range=Range1d(0, 1), y_range=Range1d(0, 1))
        self.figure = plot
        self._image = ColumnDataSource({"image": [], "x": [], "y": [], "dw": [], "dh": []}, name="regions")
        self._band = ColumnDataSource({"x": [], "lower": [], "upper": []})
        self._tube = ColumnDataSource({"xs": [], "ys": []})
        self._curve = ColumnDataSource(EMPTY)
        self._samples = ColumnDataSource({"xs": [], "ys": []}, name="samples")
        self._boundary = ColumnDataSource({"xs": [], "ys": []}, name="boundary")
        self._margins = ColumnDataSource({"xs": [], "ys": []})
        self._points = ColumnDataSource({**EMPTY, "colour": [], "marker": []}, name="points")
        self._vectors = ColumnDataSource(EMPTY)
        self._refuting = ColumnDataSource({**EMPTY, "text": []}, name="refuting")
        self._lit = ColumnDataSource(EMPTY, name="lit")
        plot.image_rgba("image", "x", "y", "dw", "dh", source=self._image)
        plot.varea("x", "lower", "upper", source=self._band, fill_color=CURVE, fill_alpha=0.18)
        plot.multi_line("xs", "ys", source=self._tube, line_color=CURVE, line_dash="dashed", line_width=1)
        plot.multi_line("xs", "ys", source=self._samples, line_color=CURVE, line_alpha=0.45, line_width=1)
        plot.line("x", "y", source=self._curve, line_color=CURVE, line_width=2.5)
        plot.multi_line("xs", "ys", source=self._boundary, line_width=2, name=INK)
        plot.multi_line("xs", "ys", source=self._margins, line_width=1.2, line_dash="dashed", name=INK)
        plot.scatter("x", "y", source=self._vectors, size=17, fill_alpha=0.0, line_width=1.4, marker="circle", name=INK)
        look = {"fill_color": "colour", "line_color": "white", "marker": "marker"}
        plot.scatter("x", "y", source=self._points, size=9, line_width=0.8, name="data", **look)
        cross = {"marker": "x", "size": 13, "line_width": 3, "line_color": MARK}
        plot.scatter("x", "y", source=self._refuting, **cross)
        label = {"x_offset": 9, "y_offset": 9, "text_color": MARK, "text_font_size": "13px"}
        plot.text("x", "y", "text", source=self._refuting, **label)
        plot.scatter(
            "x", "y", source=self._lit, size=22, fill_alpha=0.0, line_width=3, line_color=GREY, marker="circle"
        )

    def place(self, state: State) -> None:
        """Show the points of a state in its view."""
        plane = state.task == "classification"
        left, right, bottom, top = state.view
        self.figure.x_range.update(start=left, end=right)
        self.figure.y_range.update(start=bottom, end=top)
        self.figure.xaxis.axis_label, self.figure.yaxis.axis_label = state.names
        x, y = locate(state)
        self._points.data = {
            "x": x,
            "y": y,
            "colour": colour_points(state.y, plane),
            "marker": mark_points(state.y, plane),
        }
        self._lit.data = EMPTY

    def show(self, state: State, surface: Curve | Regions) -> None:
        """Show what was learned from the points of a state."""
        x, y = locate(state)
        vectors = surface.vectors if surface.vectors_label else slice(0)  # all points carry what has no name
        self._vectors.data = {"x": x[vectors], "y": y[vectors]}
        if isinstance(surface, Curve):
            self._show_curve(surface)
        else:
            self._show_regions(surface)

    def refute(self, points: np.ndarray | None, coefficients: np.ndarray | None) -> None:
        """Draw the points that refute the kernel with their coefficients, or none."""
        if points is None or coefficients is None:
            self._refuting.data = {**EMPTY, "text": []}
            return
        text = [f"{value:+.3g}" for value in coefficients]
        self._refuting.data = {"x": points[:, 0], "y": points[:, 1], "text": text}

    def _show_curve(self, curve: Curve) -> None:
        self._image.data = {"image": [], "x": [], "y": [], "dw": [], "dh": []}
        self._boundary.data = self._margins.data = {"xs": [], "ys": []}
        self._curve.data = {"x": curve.grid, "y": curve.values}
        band = curve.lower is not None and curve.upper is not None
        parts: tuple[Any, ...] = (curve.grid, curve.lower, curve.upper) if band else ([], [], [])
        self._band.data = dict(zip(("x", "lower", "upper"), parts, strict=True))
        drawn = [] if curve.samples is None else list(curve.samples.T)
        self._samples.data = {"xs": [curve.grid] * len(drawn), "ys": drawn}
        ends = [] if curve.tube is None else [curve.values - curve.tube, curve.values + curve.tube]
        self._tube.data = {"xs": [curve.grid] * len(ends), "ys": ends}

    def _show_regions(self, regions: Regions) -> None:
        self._curve.data, self._band.data = EMPTY, {"x": [], "lower": [], "upper": []}
        self._tube.data = self._samples.data = {"xs": [], "ys": []}
        image = paint_field(regions.scores) if regions.codes is None else paint_regions(regions.codes, regions.scores)
        self._image.data = place_image(image, regions.xs, regions.ys)
        for source, lines in ((self._boundary, regions.boundary), (self._margins, regions.margins)):
            source.data = {"xs": [line[:, 0] for line in lines], "ys": [line[:, 1] for line in lines]}


def locate(state: State) -> tuple[np.ndarray, np.ndarray]:
    """Return where points are in the picture."""
    return (state.x[:, 0], state.x[:, 1]) if state.task == "classification" else (state.x[:, 0], state.y)


def place_image(image: np.ndarray, xs: np.ndarray, ys: np.ndarray) -> dict[str, list[Any]]:
    """Return the columns of an image whose pixels have their centres at the points of a grid."""
    dx, dy = float(xs[1] - xs[0]), float(ys[1] - ys[0])
    wide, high = dx * len(xs), dy * len(ys)
    return {"image": [image], "x": [xs[0] - dx / 2], "y": [ys[0] - dy / 2], "dw": [wide], "dh": [high]}
