"""The eigenvalues of K, and one of its eigenfunctions."""

from __future__ import annotations

import numpy as np
from bokeh.models import ColumnDataSource, Range1d

from ...state import State
from ...views.spectrum import SpectrumPicture
from .look import CURVE, GREY, MARK, colour_points, frame, make_figure, mark_points, paint_field
from .plane import EMPTY, locate, place_image

FAINTEST = 1e-12  # of the largest eigenvalue; what is below is rounding


class Eigenvalues:
    """Eigenvalues from the largest on, on a logarithmic scale, with the penalty they are compared with."""

    def __init__(self) -> None:
        self.figure = make_figure(
            "eigenvalues", "j", "λⱼ", y_axis_type="log", x_range=Range1d(0, 1), y_range=Range1d(1e-3, 1)
        )
        self._values = ColumnDataSource(EMPTY)
        self._chosen = ColumnDataSource(EMPTY)
        self._penalty = ColumnDataSource(EMPTY)
        self.figure.line("x", "y", source=self._penalty, line_color=GREY, line_dash="dashed", line_width=1.5)
        self.figure.line("x", "y", source=self._values, line_color=CURVE, line_alpha=0.5)
        self.figure.scatter("x", "y", source=self._values, size=5, color=CURVE)
        self.figure.scatter("x", "y", source=self._chosen, size=12, fill_alpha=0.0, line_color=MARK, line_width=2)

    def show(self, spectrum: SpectrumPicture, chosen: int) -> None:
        """Show a spectrum, with the eigenvalue marked whose function is drawn."""
        values = np.asarray(spectrum.eigenvalues)
        largest = float(values.max(initial=0.0)) or 1.0
        seen = np.flatnonzero(values > FAINTEST * largest)
        self._values.data = {"x": seen + 1, "y": values[seen]}
        self._chosen.data = {"x": [chosen + 1], "y": [values[chosen]]} if chosen in seen else EMPTY
        least = float(values[seen].min(initial=largest))
        if spectrum.alpha is not None and spectrum.alpha > 0:
            self._penalty.data = {"x": [0.5, len(values) + 0.5], "y": [spectrum.alpha] * 2}
        else:
            self._penalty.data = EMPTY
        self.figure.y_range.update(start=least / 3, end=largest * 3)
        frame(self.figure.x_range, seen + 1)


class Eigenfunction:
    """One eigenfunction, over the same points as the main picture."""

    def __init__(self) -> None:
        self.figure = make_figure("eigenfunction", "x", "ψⱼ(x)", x_range=Range1d(0, 1), y_range=Range1d(-1, 1))
        self._curve = ColumnDataSource(EMPTY)
        self._image = ColumnDataSource({"image": [], "x": [], "y": [], "dw": [], "dh": []})
        self._points = ColumnDataSource({**EMPTY, "colour": [], "marker": []})
        self.figure.image_rgba("image", "x", "y", "dw", "dh", source=self._image)
        self.figure.line("x", "y", source=self._curve, line_color=CURVE, line_width=2)
        look = {"fill_color": "colour", "line_color": None, "marker": "marker"}
        self.figure.scatter("x", "y", source=self._points, size=4, fill_alpha=0.7, **look)

    def show(self, state: State, values: np.ndarray) -> None:
        """Show the values of an eigenfunction on the grid of the main picture."""
        left, right, bottom, top = state.view
        self.figure.x_range.update(start=left, end=right)
        if state.task == "classification":
            x, y = locate(state)
            marks = {"colour": colour_points(state.y, True), "marker": mark_points(state.y, True)}
            self._points.data = {"x": x, "y": y, **marks}
            self._curve.data = EMPTY
            side = np.linspace(left, right, values.shape[1]), np.linspace(bottom, top, values.shape[0])
            self._image.data = place_image(paint_field(values), *side)
            self.figure.y_range.update(start=bottom, end=top)
            self.figure.xaxis.axis_label, self.figure.yaxis.axis_label = state.names
            return
        self._points.data = {**EMPTY, "colour": [], "marker": []}
        self._image.data = {"image": [], "x": [], "y": [], "dw": [], "dh": []}
        self._curve.data = {"x": np.linspace(left, right, len(values)), "y": values}
        most = 1.1 * float(np.abs(values).max(initial=0.0)) or 1.0
        self.figure.y_range.update(start=-most, end=most)
        self.figure.xaxis.axis_label, self.figure.yaxis.axis_label = state.names[0], "ψⱼ(x)"
