"""The eigenvalues of a kernel matrix, and the effective degrees of freedom that a penalty leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from mercer.formula.data import Rows
from mercer.gram import Gram
from mercer.kernels import Kernel

from .drawing.display import PairDisplay
from .drawing.style import GREY, INK, add_legend, hide_frame, pick_colour
from .eigen import count_degrees, decompose_estimator, decompose_gram, decompose_kernel

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(kw_only=True, eq=False, repr=False)
class SpectrumDisplay(PairDisplay):
    """Eigenvalues λ₁ ≥ λ₂ ≥ … of a kernel matrix, and the effective degrees of freedom Σ λⱼ/(λⱼ + α) against α.

    Directions with λⱼ well above α are fitted, those well below are left out; the degrees of freedom count them.  They
    are those of ridge regression, Σ(y − f)² + α‖f‖².  A support vector machine, ½‖f‖² + C Σξ, has the same minimiser as
    Σξ + α‖f‖² with α = 1/(2C), which is what is marked: a large C lets weak directions in.  Use :meth:`from_kernel`,
    :meth:`from_gram` or :meth:`from_estimator`; the parameters are what they compute.

    Parameters
    ----------
    eigenvalues : array of shape (n,)
        Largest first.
    alphas : array of shape (p,)
        Penalties.
    effective_dof : array of shape (p,)
        The degrees of freedom of each, of f without an intercept.
    alpha : float, optional
        The penalty of the model.
    weight : float, optional
        C of a support vector machine, whose penalty is α = 1/(2C).
    mean : bool, default=False
        Whether C weighs the mean of m errors, so that it is α = m/(2C).
    total : int, optional
        The number of points, if the eigenvalues are of a sample (they are scaled to all points then).

    Attributes
    ----------
    ax_, figure_
        What was drawn on, after :meth:`plot`; ``ax_`` is a pair.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from mercer.inspection import SpectrumDisplay
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(-3.0, 3.0, 50)[:, None]
    >>> display = SpectrumDisplay.from_kernel(Gaussian(), X, alpha=0.1)
    >>> round(display.dof_at(0.1), 1)
    7.3
    >>> plt.close(display.figure_)
    """

    eigenvalues: np.ndarray
    alphas: np.ndarray
    effective_dof: np.ndarray
    alpha: float | None = None
    weight: float | None = None
    mean: bool = False
    total: int | None = None

    @classmethod
    def from_gram(
        cls,
        K: ArrayLike | Gram,
        *,
        alpha: float | None = None,
        max_points: int = 2000,
        random_state: int | None = 0,
        ax: Sequence[Axes] | None = None,
    ) -> Self:
        """Compute the eigenvalues of a kernel matrix, and draw.

        Parameters
        ----------
        K : array of shape (n, n) or Gram
            The matrix.
        alpha : float, optional
            A penalty to mark.
        max_points : int, default=2000
            If there are more points, the spectrum is that of so many at random, scaled to all.
        random_state : int, optional
            The seed of those.
        ax : pair of Axes, optional
            What to draw on; a new figure if not given.

        Returns
        -------
        SpectrumDisplay
        """
        return cls(**decompose_gram(K, alpha, max_points, random_state)).plot(ax)

    @classmethod
    def from_kernel(
        cls,
        kernel: Kernel,
        X: Rows,
        *,
        alpha: float | None = None,
        max_points: int = 2000,
        random_state: int | None = 0,
        ax: Sequence[Axes] | None = None,
    ) -> Self:
        """Compute the eigenvalues of a kernel at some points, and draw.

        Parameters
        ----------
        kernel : Kernel
            The kernel.
        X : collection of n objects
            The points, of whatever kind the kernel takes.
        alpha, max_points, random_state, ax
            As for :meth:`from_gram`.

        Returns
        -------
        SpectrumDisplay
        """
        return cls(**decompose_kernel(kernel, X, alpha, max_points, random_state)).plot(ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Rows | None = None,
        *,
        alpha: float | None = None,
        max_points: int = 2000,
        random_state: int | None = 0,
        ax: Sequence[Axes] | None = None,
    ) -> Self:
        """Compute the eigenvalues of the kernel of a fitted estimator, and draw with its penalty marked.

        Parameters
        ----------
        estimator : fitted estimator
            Any with a kernel, or a pipeline that ends in one.
        X : collection of n objects, optional
            The points; those the estimator was fitted to, if it keeps them.  A support vector machine keeps only its
            vectors, and needs them.
        alpha : float, optional
            The penalty to mark; that of the estimator if not given, 1/(2C) of a support vector machine.
        max_points, random_state, ax
            As for :meth:`from_gram`.

        Returns
        -------
        SpectrumDisplay
        """
        return cls(**decompose_estimator(estimator, X, alpha, max_points, random_state)).plot(ax)

    def dof_at(self, alpha: float) -> float:
        """Return the effective degrees of freedom Σ λⱼ/(λⱼ + α)."""
        return float(count_degrees(self.eigenvalues, np.array([alpha]))[0])

    def plot(self, ax: Sequence[Axes] | None = None) -> Self:
        """Draw the eigenvalues, and the degrees of freedom against the penalty.

        Parameters
        ----------
        ax : pair of Axes, optional
            What to draw on; a new figure if not given.

        Returns
        -------
        self
        """
        left, right = self._start(ax)
        self._draw_eigenvalues(left)
        right.semilogx(self.alphas, self.effective_dof, color=pick_colour(0), linewidth=2.0)
        if self.alpha is not None:
            dof = self.dof_at(self.alpha)
            words = f"α = {self.alpha:.3g}: {dof:.3g} degrees of freedom" + " of ridge" * (self.weight is not None)
            right.plot([self.alpha, self.alpha], [0.0, dof], color=GREY, linestyle="--", linewidth=1.2)
            marker: dict[str, Any] = {"marker": "o", "markersize": 8, "linestyle": "none", "markeredgecolor": "white"}
            right.plot([self.alpha], [dof], color=pick_colour(5), label=words, **marker)
        right.set(xlabel="penalty α", ylabel="effective degrees of freedom")
        right.set_ylim(bottom=0.0)
        for panel in (left, right):
            hide_frame(panel)
            add_legend(panel, room=1)
        return self

    def _draw_eigenvalues(self, ax: Axes) -> None:
        n = len(self.eigenvalues)
        rounding = n * np.finfo(np.float64).eps * max(float(np.abs(self.eigenvalues).max()), 1e-300)
        above = self.eigenvalues > rounding
        places = np.arange(1, n + 1)
        label = "eigenvalues" if above.all() else f"{above.sum()} of {n} eigenvalues (others: rounding)"
        if (self.eigenvalues < -rounding).any():
            label = f"eigenvalues ({(self.eigenvalues < -rounding).sum()} negative ones left out)"
        if self.total is not None:
            label += f"\nfrom {n:,} of {self.total:,} points"
        look: dict[str, Any] = {"marker": "o", "markersize": 4, "linewidth": 1.0, "color": pick_colour(0)}
        ax.loglog(places[above], self.eigenvalues[above], label=label, **look)
        if self.alpha is not None:
            words = f"penalty α = {self.alpha:.3g}"
            if self.weight is not None:
                words = f"C = {self.weight:.3g}, penalty α = {'m' if self.mean else '1'}/(2C) = {self.alpha:.3g}"
            ax.axhline(self.alpha, color=INK, linestyle="--", linewidth=1.2, label=words)
        ax.set(xlabel="j", ylabel="eigenvalue λⱼ of K")
