"""K as a picture; the page lights the two points of the entry under the pointer."""

from __future__ import annotations

import numpy as np
from bokeh.models import ColumnDataSource, LinearColorMapper, Range1d
from bokeh.palettes import Cividis256

from ...views.gram import GramPicture
from .look import make_figure


class Matrix:
    """The kernel matrix, its first row on top."""

    def __init__(self) -> None:
        self.figure = make_figure("matrix", "j", "i", x_range=Range1d(0, 1), y_range=Range1d(0, 1), match_aspect=True)
        self.figure.axis.visible = False
        self.figure.grid.visible = False
        self._colours = LinearColorMapper(palette=Cividis256, low=0.0, high=1.0)
        self._image = ColumnDataSource({"image": [], "size": []})
        # The page reads which points the rows are, and puts a frame around an entry.
        self._order = ColumnDataSource({"point": []}, name="order")
        self._entry = ColumnDataSource({"x": [], "y": []}, name="entry")
        self.figure.tags = [self._order]  # so that the document has it
        place = {"x": 0, "y": 0, "dw": "size", "dh": "size"}
        self.figure.image("image", source=self._image, color_mapper=self._colours, **place)
        self.figure.rect("x", "y", 1, 1, source=self._entry, fill_alpha=0.0, line_color="#D55E00", line_width=2)

    def show(self, picture: GramPicture) -> None:
        """Show a matrix."""
        size = len(picture.matrix)
        self._colours.update(low=picture.low, high=picture.high if picture.high > picture.low else picture.low + 1.0)
        self.figure.x_range.update(start=0, end=size)
        self.figure.y_range.update(start=0, end=size)
        self._image.data = {"image": [np.ascontiguousarray(picture.matrix[::-1])], "size": [size]}  # drawn from below
        self._order.data = {"point": picture.order}
