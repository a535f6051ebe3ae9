"""What a test says in one picture: the statistic beside those of the hypothesis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from mercer.embeddings import Outcome
from mercer.words import show_number

from ..drawing.display import Display
from ..drawing.style import GREY, add_legend, hide_frame, pick_colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BINS = 40
LETTERS = 16  # of a legend to an inch


@dataclass(kw_only=True, eq=False, repr=False)
class OutcomeDisplay(Display):
    """The histogram of a statistic under the hypothesis of a test, and the one that was observed.

    Use :meth:`from_outcome`; the parameter is what it is given.

    Parameters
    ----------
    outcome : Outcome
        The result of a test.

    Attributes
    ----------
    ax_, figure_
        What was drawn on, after :meth:`plot`.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from mercer import MMDTest
    >>> from mercer.inspection import OutcomeDisplay
    >>> rng = np.random.default_rng(0)
    >>> outcome = MMDTest(random_state=0).test(rng.normal(size=(50, 1)), rng.normal(size=(50, 1)) + 1.0)
    >>> display = OutcomeDisplay.from_outcome(outcome)
    >>> display.ax_.get_xlabel()
    'soft maximum of MMD² of 5 kernels, in deviations'
    >>> plt.close(display.figure_)
    """

    outcome: Outcome

    @classmethod
    def from_outcome(cls, outcome: Outcome, *, ax: Axes | None = None) -> Self:
        """Draw the result of a test.

        Parameters
        ----------
        outcome : Outcome
            What ``test`` of ``MMDTest`` and its like returns.
        ax : Axes, optional
            What to draw on; a new figure if not given.

        Returns
        -------
        OutcomeDisplay
        """
        if not isinstance(outcome, Outcome):
            raise TypeError(f"{cls.__name__} draws what the test method of a test returns, got {outcome!r}")
        return cls(outcome=outcome).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the histogram, and a line where the observed statistic is.

        Parameters
        ----------
        ax : Axes, optional
            What to draw on; a new figure if not given.

        Returns
        -------
        self
        """
        ax, found = self._start(ax), self.outcome
        low, high = min(found.null.min(), found.observed), max(found.null.max(), found.observed)
        pad = 0.04 * (high - low) or 0.5
        edges = np.linspace(low - pad, high + pad, BINS + 1)
        reaching = found.null >= found.observed
        counts = ax.hist(
            [found.null[~reaching], found.null[reaching]], bins=edges.tolist(), stacked=True,
            color=["#BBBBBB", pick_colour(5)],
            label=[f"{len(found.null):,} {found.method}", "those that reach the observed"], linewidth=0,
        )[0]  # fmt: skip
        ax.axvline(
            found.observed, color=pick_colour(0), linewidth=2.2,
            label=f"observed, p = {show_number(found.p_value)}",
        )  # fmt: skip
        count = len(found.kernels)
        label = f"soft maximum of {found.name} of {count} kernels, in deviations" if count > 1 else found.name
        ax.axhline(0.0, color=GREY, linewidth=0.8)
        ax.set(xlim=(edges[0], edges[-1]), ylim=(0.0, 1.08 * float(np.max(counts))), xlabel=label, ylabel="how many")
        hide_frame(ax)
        add_legend(ax, room=int(LETTERS * ax.bbox.width / self.figure_.dpi))
        return self
