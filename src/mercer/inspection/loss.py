"""Losses against the margin or the residual, as every lecture draws them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self

import numpy as np

from mercer.losses import CustomLoss, Loss, as_loss
from mercer.palette import PALETTE
from mercer.words import shorten

from .drawing.display import Display
from .drawing.style import GREY, add_legend, hide_frame, pick_colour, pick_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HIGHEST = 1.4  # times what a quarter of the losses reach at most: the steepest leave the picture, where others are flat
LETTERS = 16  # of a legend to an inch


@dataclass(kw_only=True, eq=False, repr=False)
class LossDisplay(Display):
    """Losses in one picture: of classes against the margin m = yf, of numbers against the residual r = y − f.

    Among losses of classes, one of numbers is that of a regression of y = ±1, such as (1 − m)² of squares.  Use
    :meth:`from_losses`; the parameters are what it computes.

    Parameters
    ----------
    x : array of shape (r,)
        Margins or residuals.
    values : array of shape (losses, r)
        The losses there.
    slopes : array of shape (losses, r)
        Their derivatives by the margin or the residual.
    names : list of str
        What the losses are called.
    task : {"regression", "classification"}
        What the losses are of.
    target : float, optional
        The y at which they are drawn, if they are not the same at others.

    Attributes
    ----------
    ax_, figure_
        What was drawn on, after :meth:`plot`.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from mercer.inspection import LossDisplay
    >>> display = LossDisplay.from_losses(["hinge", "logistic", "squared_hinge"])
    >>> display.values.shape, display.names
    ((3, 601), ['Hinge()', 'Logistic()', 'SquaredHinge()'])
    >>> plt.close(display.figure_)
    """

    x: np.ndarray
    values: np.ndarray
    slopes: np.ndarray
    names: Sequence[str]
    task: Literal["regression", "classification"] = "regression"
    target: float | None = None

    @classmethod
    def from_losses(
        cls,
        losses: Loss | str | Iterable[Loss | str],
        *,
        limits: tuple[float, float] = (-3.0, 3.0),
        target: float = 1.0,
        kind: Literal["value", "slope"] = "value",
        resolution: int = 601,
        ax: Axes | None = None,
    ) -> Self:
        """Compute losses and draw them.

        Parameters
        ----------
        losses : Loss, text, or several of them
            Of classes or of numbers; texts are what :func:`~mercer.losses.parse_loss` reads.  Where both occur, those
            of numbers must be the same at y − f and f − y, so that they are functions of the margin for y = ±1.
        limits : pair of float, default=(-3, 3)
            The ends of margins or residuals.
        target : float, default=1.0
            The y of losses of numbers.  It matters only for those that are not functions of the residual.
        kind : {"value", "slope"}, default="value"
            What is drawn: losses, or their derivatives by the margin or the residual, which say how hard a point pulls.
        resolution : int, default=601
            Points on each curve.
        ax : Axes, optional
            What to draw on; a new figure if not given.

        Returns
        -------
        LossDisplay
        """
        found = [as_loss(each) for each in ([losses] if isinstance(losses, Loss | str) else losses)]
        if not found:
            raise ValueError(f"{cls.__name__} draws one loss or more, and there is none")
        for loss in found:
            if loss.joint:
                raise ValueError(
                    f"{cls.__name__}: {loss!r} has an output for each class, and is no function of one margin; with "
                    "two classes it is Logistic()"
                )
        classes = any(loss.task == "classification" for loss in found)
        task: Literal["regression", "classification"] = "classification" if classes else "regression"
        x = np.linspace(*limits, resolution)
        y = np.full(resolution, 1.0 if task == "classification" else float(target))
        for loss in found:
            if loss.task == task:
                loss.check_targets(y, cls.__name__)
            elif not np.allclose(loss.value(y, x), loss.value(-y, -x)):
                raise ValueError(
                    f"{cls.__name__}: {loss!r} is not the same at y − f and f − y, so it is no function of the margin, "
                    "against which losses of classes are drawn; draw it on axes of its own, with ax="
                )
        f, turn = (x, 1.0) if task == "classification" else (y - x, -1.0)
        values = np.array([loss.value(y, f) for loss in found])
        slopes = np.array([turn * loss.slope(y, f) for loss in found])
        same = task == "classification" or np.allclose([loss.value(y + 1.0, f + 1.0) for loss in found], values)
        return cls(
            x=x, values=values, slopes=slopes, names=[_name(loss, task) for loss in found], task=task,
            target=None if same else float(target),
        ).plot(ax, kind=kind)  # fmt: skip

    def plot(self, ax: Axes | None = None, *, kind: Literal["value", "slope"] = "value") -> Self:
        """Draw the losses, or their slopes; those of classes with the share of errors, 1 for m < 0, in grey.

        Parameters
        ----------
        ax : Axes, optional
            What to draw on; a new figure if not given.
        kind : {"value", "slope"}, default="value"
            What to draw.

        Returns
        -------
        self
        """
        if kind not in ("value", "slope"):
            raise ValueError(f"{type(self).__name__}: kind is 'value' or 'slope', got {kind!r}")
        ax, margins = self._start(ax), self.task == "classification"
        curves = self.values if kind == "value" else self.slopes
        ax.axhline(0.0, color=GREY, linewidth=0.6, zorder=0)
        ax.axvline(0.0, color=GREY, linewidth=0.6, zorder=0)
        for i, (name, curve) in enumerate(zip(self.names, curves, strict=True)):
            line = pick_line(i + i // len(PALETTE))  # or the ninth would look like the first
            ax.plot(self.x, curve, color=pick_colour(i), linestyle=line, linewidth=2.0, label=name)
        if margins and kind == "value":
            ax.step([self.x[0], 0.0, self.x[-1]], [1.0, 1.0, 0.0], color=GREY, linewidth=1.2, label="0–1 (errors)")
        ends = np.abs(curves[:, [0, -1]]).max(axis=1)
        top = min(float(ends.max()), HIGHEST * float(np.quantile(ends, 0.25))) or 1.0
        low = float(curves.min())
        ax.set(
            xlim=(self.x[0], self.x[-1]), ylim=(max(low, -top) - 0.04 * top, min(float(curves.max()), top) + 0.06 * top)
        )
        of, letter = ("margin m = yf", "m") if margins else ("residual r = y − f", "r")
        if self.target is not None:
            of += f", at y = {self.target:g}"
        ax.set(xlabel=of, ylabel="loss" if kind == "value" else f"derivative of the loss by {letter}")
        hide_frame(ax)
        add_legend(ax, room=int(LETTERS * ax.bbox.width / self.figure_.dpi))
        return self


def _name(loss: Loss, task: str) -> str:
    name = loss.name if isinstance(loss, CustomLoss) and loss.name else shorten(repr(loss), 60)
    return name if loss.task == task else f"{name} of y = ±1"
