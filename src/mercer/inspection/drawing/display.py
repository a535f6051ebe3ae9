"""What all pictures share: a figure to draw on, kept as ``ax_`` and ``figure_``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mercer.needs import load_package

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Display:
    """A picture of one panel."""

    ax_: Axes
    figure_: Figure

    def _start(self, ax: Axes | None, size: tuple[float, float] = (8.0, 5.0), layout: str = "constrained") -> Axes:
        """Return the axes given, or those of a new figure, 800 pixels wide at 100 to the inch, and keep them."""
        plt = self._import_pyplot()
        self.ax_ = ax if ax is not None else plt.subplots(figsize=size, layout=layout)[1]
        self.figure_ = self.ax_.figure
        return self.ax_

    def _import_pyplot(self) -> Any:
        """Return matplotlib.pyplot, or say how to install it."""
        return load_package("matplotlib.pyplot", type(self).__name__)


class PairDisplay(Display):
    """A picture of two panels."""

    ax_: tuple[Axes, Axes]

    def _start(
        self, ax: Sequence[Axes] | None, size: tuple[float, float] = (8.0, 4.0), second: str | None = None
    ) -> tuple[Axes, Axes]:
        """Return the pair of axes given, or that of a new figure, and keep it; ``second`` is a projection."""
        plt = self._import_pyplot()
        if ax is None:
            figure = plt.figure(figsize=size, layout="constrained")
            grid = figure.add_gridspec(1, 2, width_ratios=(1.0, 1.0 if second is None else 1.25))
            ax = figure.add_subplot(grid[0]), figure.add_subplot(grid[1], projection=second)
        try:
            left, right = ax
        except (TypeError, ValueError):
            raise ValueError(
                f"{type(self).__name__} has two panels, so ax must be a pair of axes such as the second value of "
                f"plt.subplots(1, 2); got {ax!r}"
            ) from None
        self.ax_, self.figure_ = (left, right), left.figure
        return left, right


class PanelsDisplay(Display):
    """A picture of one panel, or of several side by side; ``ax_`` is then a tuple."""

    ax_: Axes | tuple[Axes, ...]

    def _start_panels(self, ax: Any, count: int, size: tuple[float, float], *, shared: bool = False) -> list[Axes]:
        """Return the axes given, or those of a new figure, and keep them; ``shared`` panels have the same scales."""
        if count == 1:
            return [self._start(ax, size)]
        plt = self._import_pyplot()
        if ax is None:
            ax = plt.subplots(1, count, figsize=size, layout="constrained", sharex=shared, sharey=shared)[1]
        panels = list(ax) if hasattr(ax, "__len__") else [ax]
        if len(panels) != count or not all(hasattr(panel, "plot") for panel in panels):
            raise ValueError(
                f"{type(self).__name__} has {count} panels here, so ax must be as many axes, such as the second value "
                f"of plt.subplots(1, {count}); got {ax!r}"
            )
        self.ax_, self.figure_ = tuple(panels), panels[0].figure
        return panels
