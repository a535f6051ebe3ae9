"""The look of all pictures: colours that everybody can tell apart, with markers and line styles for grey print."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The palette of Okabe and Ito, which the common kinds of colour blindness leave distinct; yellow, too pale for lines
# on white, comes last.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#5C5C5C", "#F0E442")
MARKERS = ("o", "^", "s", "D", "v", "P", "X")  # one fewer than colours, so that 56 classes have distinct pairs
LINES = ("-", "--", "-.", ":")
LEVELS = "cividis"  # from little to much, evenly to the eye, also without colour
SIGNED = "PuOr_r"  # from below to above zero
INK = "#222222"
GREY = "#6E6E6E"


def colour_of(i: int) -> str:
    """Return the colour of the i-th class or line.

    Examples
    --------
    >>> colour_of(0), colour_of(8) == colour_of(0)
    ('#0072B2', True)
    """
    return PALETTE[i % len(PALETTE)]


def marker_of(i: int) -> str:
    """Return the marker of the i-th class."""
    return MARKERS[i % len(MARKERS)]


def line_of(i: int) -> str:
    """Return the line style of the i-th line."""
    return LINES[i % len(LINES)]


def pyplot(owner: object) -> Any:
    """Return matplotlib.pyplot, or say how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f'{type(owner).__name__} draws with matplotlib, which is not installed: pip install "mercer[plot]"'
        ) from error
    return plt


def one_panel(
    owner: object, ax: Axes | None, size: tuple[float, float] = (8.0, 5.0), layout: str = "constrained"
) -> Axes:
    """Return the axes given, or those of a new figure, 800 pixels wide at 100 to the inch."""
    plt = pyplot(owner)
    return ax if ax is not None else plt.subplots(figsize=size, layout=layout)[1]


def two_panels(
    owner: object, ax: Sequence[Axes] | None, size: tuple[float, float] = (8.0, 4.0), second: str | None = None
) -> tuple[Axes, Axes]:
    """Return the pair of axes given, or that of a new figure; ``second`` is the projection of the second."""
    plt = pyplot(owner)
    if ax is not None:
        try:
            left, right = ax
        except (TypeError, ValueError):
            raise ValueError(
                f"{type(owner).__name__} has two panels, so ax must be a pair of axes such as the second value of "
                f"plt.subplots(1, 2); got {ax!r}"
            ) from None
        return left, right
    figure = plt.figure(figsize=size, layout="constrained")
    grid = figure.add_gridspec(1, 2, width_ratios=(1.0, 1.0 if second is None else 1.25))
    return figure.add_subplot(grid[0]), figure.add_subplot(grid[1], projection=second)


def legend_above(ax: Axes, handles: Sequence[Any] | None = None, room: int = 100) -> None:
    """Put the legend above the axes, where it hides no data; ``room`` is for how many letters there is."""
    handles = ax.get_legend_handles_labels()[0] if handles is None else handles
    if handles:
        ax.legend(
            handles=handles, loc="lower left", bbox_to_anchor=(0.0, 1.0), frameon=False, borderaxespad=0.3,
            ncols=columns_for([len(str(handle.get_label())) for handle in handles], room), columnspacing=1.2,
            handletextpad=0.5, fontsize=9,
        )  # fmt: skip


def columns_for(lengths: Sequence[int], room: int) -> int:
    """Return in how many columns entries fit, filled from the top, each with a handle as long as six letters.

    Examples
    --------
    >>> columns_for([5, 5, 5, 20], 60), columns_for([5, 5, 5, 20], 40)
    (4, 2)
    """
    n = len(lengths)
    for count in range(n, 1, -1):
        rows = np.array_split(np.asarray(lengths), count)  # the first columns get what is left over
        if sum(int(column.max()) + 6 for column in rows) <= room:
            return count
    return 1


def quiet_frame(ax: Axes) -> None:
    """Leave out the two sides of the frame that carry no scale."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def short(text: str, width: int = 44) -> str:
    """Return a text cut where it gets too long for a label.

    Examples
    --------
    >>> short("Gaussian(length_scale=1.0)", 12)
    'Gaussian(le…'
    """
    return text if len(text) <= width else text[: width - 1] + "…"
