"""The leave-one-out error over the penalty, whose current value can be dragged."""

from __future__ import annotations

import numpy as np
from bokeh.models import ColumnDataSource, Range1d

from ...views.leave_one_out import PenaltyCurve
from .look import CURVE, GREY, MARK, frame, make_figure
from .plane import EMPTY


class Penalties:
    """Errors over a logarithmic scale of penalties, with the current one and the best marked."""

    def __init__(self) -> None:
        ranges = {"x_range": Range1d(1e-3, 1e3), "y_range": Range1d(0, 1)}
        self.figure = make_figure("penalties", "α", "error", x_axis_type="log", **ranges)
        self._errors = ColumnDataSource(EMPTY)
        self._best = ColumnDataSource(EMPTY)
        self._current = ColumnDataSource(EMPTY)
        self._line = ColumnDataSource(EMPTY)
        self.figure.line("x", "y", source=self._line, line_color=MARK, line_width=2)
        self.figure.line("x", "y", source=self._errors, line_color=CURVE, line_width=2)
        self.figure.scatter("x", "y", source=self._errors, size=4, color=CURVE)
        star = {"marker": "star", "size": 14, "fill_color": GREY, "line_color": None}
        self.figure.scatter("x", "y", source=self._best, **star)
        self.figure.scatter("x", "y", source=self._current, size=12, color=MARK)

    def show(self, curve: PenaltyCurve | None) -> None:
        """Show a curve, or nothing where a learner has no penalty."""
        if curve is None:
            for source in (self._errors, self._best, self._current, self._line):
                source.data = EMPTY
            return
        values, errors = np.asarray(curve.values, dtype=float), np.asarray(curve.errors, dtype=float)
        there = np.isfinite(errors)
        self._errors.data = {"x": values[there], "y": errors[there]}
        self._best.data = {"x": [curve.best[0]], "y": [curve.best[1]]}
        self._current.data = {"x": [curve.current[0]], "y": [curve.current[1]]}
        self.figure.x_range.update(start=values.min() / 1.3, end=values.max() * 1.3)
        frame(self.figure.y_range, np.append(errors[there], [curve.current[1], curve.best[1]]))
        ends = [self.figure.y_range.start, self.figure.y_range.end]
        self._line.data = {"x": [curve.current[0]] * 2, "y": ends}
        self.figure.xaxis.axis_label, self.figure.yaxis.axis_label = curve.name, curve.error_name
