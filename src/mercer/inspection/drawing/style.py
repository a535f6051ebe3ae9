"""The look of all pictures: colours that everybody can tell apart, with markers and line styles for grey print."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.palette import PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKERS = ("o", "^", "s", "D", "v", "P", "X")  # one fewer than colours, so that 56 classes have distinct pairs
LINES = ("-", "--", "-.", ":")
LEVELS = "cividis"  # from little to much, evenly to the eye, also without colour
SIGNED = "PuOr_r"  # from below to above zero
INK = "#222222"
GREY = "#6E6E6E"
LETTERS = 15  # of a small line to an inch
BELOW = -36.0  # points under the axes, where the label of the axis ends


def pick_colour(i: int) -> str:
    """Return the colour of the i-th class or line."""
    return PALETTE[i % len(PALETTE)]


def pick_marker(i: int) -> str:
    """Return the marker of the i-th class."""
    return MARKERS[i % len(MARKERS)]


def pick_line(i: int) -> str:
    """Return the line style of the i-th line."""
    return LINES[i % len(LINES)]


def fill_outlines(ax: Axes, outlines: Sequence[np.ndarray], colour: str) -> None:
    """Fill a region that is given by closed curves, in one piece, so that no seams show."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    if outlines:
        shape = Path.make_compound_path(*(Path(outline, closed=True) for outline in outlines))
        ax.add_patch(PathPatch(shape, facecolor=colour, alpha=0.2, linewidth=0, zorder=1))


def add_legend(ax: Axes, handles: Sequence[Any] | None = None, room: int = 100, title: str | None = None) -> None:
    """Put the legend above the axes, where it hides no data; ``room`` is for how many letters there is."""
    handles = ax.get_legend_handles_labels()[0] if handles is None else handles
    if handles:
        ax.legend(
            handles=handles, loc="lower left", bbox_to_anchor=(0.0, 1.0), frameon=False, borderaxespad=0.3,
            ncols=count_columns([len(str(handle.get_label())) for handle in handles], room), columnspacing=1.2,
            handletextpad=0.5, fontsize=9, title=title, title_fontsize=10, alignment="left",
        )  # fmt: skip


def measure_room(ax: Axes) -> int:
    """Return how many letters of a legend are as wide as the axes."""
    return int(LETTERS * ax.bbox.width / ax.figure.dpi)


def add_note(ax: Axes, text: str) -> None:
    """Put a line below the label of the axis, as wide as the axes: what the picture leaves out."""
    if text:
        room = max(24, measure_room(ax))
        look: dict[str, Any] = {"ha": "right", "va": "top", "fontsize": 8, "color": GREY, "annotation_clip": False}
        ax.annotate(
            "\n".join(textwrap.wrap(text, room)), (1.0, 0.0), (0.0, BELOW), xycoords="axes fraction",
            textcoords="offset points", **look,
        )  # fmt: skip


def count_columns(lengths: Sequence[int], room: int) -> int:
    """Return in how many columns entries fit, filled from the top, each with a handle as long as six letters."""
    n = len(lengths)
    for count in range(n, 1, -1):
        rows = np.array_split(np.asarray(lengths), count)  # the first columns get what is left over
        if sum(int(column.max()) + 6 for column in rows) <= room:
            return count
    return 1


def show_plain_numbers(axis: Any) -> None:
    """Write 0.2, 0.5 and 1 rather than powers on a logarithmic axis of a decade or so."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def show_percent(share: float, _: Any = None) -> str:
    """Return a share as a text.

    Examples
    --------
    >>> show_percent(0.9), show_percent(0.925)
    ('90 %', '92.5 %')
    """
    return f"{100 * share:.3g} %"


def hide_frame(ax: Axes) -> None:
    """Leave out the two sides of the frame that carry no scale."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
