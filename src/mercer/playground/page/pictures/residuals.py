"""What the model gets wrong: residuals, or margins."""

from __future__ import annotations

import numpy as np
from bokeh.models import ColumnDataSource, Range1d

from ...state import State
from ...views.residuals import Residuals
from .look import GREY, MARK, colour_points, frame, make_figure
from .plane import EMPTY


class Errors:
    """Residuals over fitted values with those of points left out, or sorted margins of a classifier."""

    def __init__(self) -> None:
        self.figure = make_figure("errors", "f(x)", "residual", x_range=Range1d(0, 1), y_range=Range1d(-1, 1))
        self._zero = ColumnDataSource(EMPTY)
        self._moves = ColumnDataSource({"x": [], "y0": [], "y1": []})
        self._left_out = ColumnDataSource(EMPTY)
        self._points = ColumnDataSource({**EMPTY, "colour": []})
        self.figure.line("x", "y", source=self._zero, line_color=GREY, line_dash="dashed")
        self.figure.segment("x", "y0", "x", "y1", source=self._moves, line_color=MARK, line_alpha=0.5)
        self.figure.scatter("x", "y", source=self._left_out, size=5, fill_alpha=0.0, line_color=MARK)
        self.figure.scatter("x", "y", source=self._points, size=5, color="colour")

    def show(self, state: State, found: Residuals) -> None:
        """Show residuals or margins."""
        left_out, colours = found.left_out, colour_points(state.y[found.order], state.task == "classification")
        if found.margins is not None:
            x, y, names = np.arange(1, len(found.margins) + 1), found.margins, ("points in order", "margin y·f(x)")
        else:
            assert found.fitted is not None
            assert found.residuals is not None
            x, y, names = found.fitted, found.residuals, ("f(x)", "residual y − f(x)")
        self._points.data = {"x": x, "y": y, "colour": colours}
        self._left_out.data = EMPTY if left_out is None else {"x": x, "y": left_out}
        self._moves.data = {"x": [], "y0": [], "y1": []} if left_out is None else {"x": x, "y0": y, "y1": left_out}
        self._zero.data = {"x": [x.min(), x.max()], "y": [0.0, 0.0]} if len(x) else EMPTY
        frame(self.figure.x_range, x)
        frame(self.figure.y_range, np.concatenate([y, [0.0], [] if left_out is None else left_out]))
        self.figure.xaxis.axis_label, self.figure.yaxis.axis_label = names
