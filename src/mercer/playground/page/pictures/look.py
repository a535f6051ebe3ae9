"""How all pictures look: light or dark is the page's own choice, so they bring neither paper nor ink of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
from bokeh.plotting import figure

from mercer.palette import PALETTE

CLASSES = PALETTE[:6]
MARKERS = ("circle", "triangle", "square", "diamond", "inverted_triangle", "plus")
CURVE = CLASSES[0]
DATA = CLASSES[1]
MARK = CLASSES[5]
GREY = "#808080"
INK = "ink"  # the name of glyphs whose colour is that of the page's letters


def make_figure(name: str, x: str = "", y: str = "", **options: Any) -> Any:
    """Return an empty figure without tools, as large as the box it is put into."""
    plot = figure(
        name=name, x_axis_label=x or None, y_axis_label=y or None, toolbar_location=None, tools="",
        sizing_mode="stretch_both", min_width=120, min_height=120, **options,
    )  # fmt: skip
    plot.background_fill_alpha = plot.border_fill_alpha = 0.0
    plot.outline_line_alpha = 0.25
    plot.min_border_left = plot.min_border_bottom = 5
    for axis in plot.axis:
        axis.axis_label_text_font_style = "normal"
        axis.axis_label_text_font_size = axis.major_label_text_font_size = "12px"
        axis.minor_tick_line_color = None
    plot.grid.grid_line_alpha = 0.15
    plot.toolbar.active_drag = plot.toolbar.active_scroll = plot.toolbar.active_tap = None
    return plot


def frame(axis: Any, values: np.ndarray) -> None:
    """Set a range so that all values are inside it, with some room."""
    seen = np.asarray(values, dtype=np.float64)
    seen = seen[np.isfinite(seen)]
    low, high = (float(seen.min()), float(seen.max())) if len(seen) else (0.0, 1.0)
    room = 0.06 * (high - low) or 0.5
    axis.update(start=low - room, end=high + room)


def paint_regions(codes: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return an image of regions: the colour of each class, fainter where it leads by less.

    The colour fades to nothing at the boundary, so that squares of the image make no stairs there.
    """
    lead = np.abs(scores)
    scale = float(np.quantile(lead, 0.8)) or 1.0
    strength = np.clip(lead / scale, 0.0, 1.0) ** 0.6
    image = np.empty((*codes.shape, 4), dtype=np.uint8)
    image[..., :3] = _read_colours(CLASSES)[codes]
    image[..., 3] = (20 + 95 * strength).astype(np.uint8)
    return np.ascontiguousarray(image).view(np.uint32)[..., 0]


def paint_field(values: np.ndarray) -> np.ndarray:
    """Return an image of a function: one colour above 0, another below, fainter near 0."""
    scale = float(np.abs(values).max()) or 1.0
    image = np.empty((*values.shape, 4), dtype=np.uint8)
    image[..., :3] = _read_colours(CLASSES)[(values > 0).astype(int)]
    image[..., 3] = (180 * np.abs(values) / scale).astype(np.uint8)
    return np.ascontiguousarray(image).view(np.uint32)[..., 0]


def colour_points(y: np.ndarray, classes: bool) -> list[str]:
    """Return the colour of each point."""
    return [CLASSES[int(code) % len(CLASSES)] for code in y] if classes else [DATA] * len(y)


def mark_points(y: np.ndarray, classes: bool) -> list[str]:
    """Return the marker of each point, so that classes differ without colour too."""
    return [MARKERS[int(code) % len(MARKERS)] for code in y] if classes else [MARKERS[0]] * len(y)


def _read_colours(names: tuple[str, ...]) -> np.ndarray:
    return np.array([[int(name[i : i + 2], 16) for i in (1, 3, 5)] for name in names], dtype=np.uint8)
