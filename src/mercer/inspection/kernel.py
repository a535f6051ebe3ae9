"""A kernel on the line: its profile, and functions drawn from the Gaussian process it is the covariance of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from sklearn.base import BaseEstimator

from mercer.kernels import Kernel
from mercer.words import shorten

from .drawing.display import PairDisplay
from .drawing.estimator import find_model, get_kernel
from .drawing.style import GREY, add_legend, add_note, hide_frame, pick_colour, pick_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROUNDING = 1e-9  # an eigenvalue further below 0, relative to the largest, is more than rounding


@dataclass(kw_only=True, eq=False, repr=False)
class KernelDisplay(PairDisplay):
    """The profile k(x, z) of a kernel for one or more z, beside random functions with covariance k.

    Use :meth:`from_kernel` or :meth:`from_estimator`; the parameters are what they compute.

    Parameters
    ----------
    x : array of shape (r,)
        Places on the line.
    at : sequence of float
        The points z.
    profiles : array of shape (points z, r)
        k(x, z).
    samples : array of shape (functions, r)
        Values of the random functions.
    title : str
        The kernel.
    name : str
        The name of x.
    note : str
        Where the other features stay.

    Attributes
    ----------
    ax_, figure_
        What was drawn on, after :meth:`plot`; ``ax_`` is a pair.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from mercer.inspection import KernelDisplay
    >>> from mercer.kernels import Matern
    >>> display = KernelDisplay.from_kernel(Matern(nu=1.5), random_state=0)
    >>> display.profiles.shape, display.samples.shape
    ((1, 400), (3, 400))
    >>> plt.close(display.figure_)
    """

    x: np.ndarray
    at: Sequence[float]
    profiles: np.ndarray
    samples: np.ndarray
    title: str = ""
    name: str = "x"
    note: str = ""

    @classmethod
    def from_kernel(
        cls,
        kernel: Kernel,
        *,
        at: float | Sequence[float] = 0.0,
        limits: tuple[float, float] = (-5.0, 5.0),
        n_features: int = 1,
        feature: int = 0,
        n_samples: int = 3,
        resolution: int = 400,
        random_state: int | None = 0,
        ax: Sequence[Axes] | None = None,
    ) -> Self:
        """Compute a kernel on a line, draw functions, and plot both.

        Parameters
        ----------
        kernel : Kernel
            A kernel on vectors.
        at : float or sequence of floats, default=0.0
            The points z of the profiles; kernels that are not functions of x − z are better seen with several.
        limits : pair of float, default=(-5, 5)
            The ends of the line.
        n_features, feature : int, default=1 and 0
            How many features points have, and along which the line runs; the others are 0.
        n_samples : int, default=3
            How many functions to draw.
        resolution : int, default=400
            Points on the line.
        random_state : int, optional
            The seed of the functions.
        ax : pair of Axes, optional
            What to draw on; a new figure if not given.

        Returns
        -------
        KernelDisplay
        """
        if not 0 <= feature < n_features:
            raise ValueError(f"{cls.__name__}: points have {n_features} features, so there is no feature {feature}")
        places = [float(z) for z in np.ravel(at)]
        x = np.linspace(*limits, resolution)
        points, centres = _place_on_line(x, n_features, feature), _place_on_line(np.array(places), n_features, feature)
        profiles = np.asarray(kernel(points, centres), dtype=np.float64).T
        samples = np.empty((0, resolution))
        if n_samples > 0:
            samples = _draw_functions(cls.__name__, kernel, points, n_samples, random_state)
        name = "x" if n_features == 1 else f"x{feature}"
        others = n_features - 1
        note = f"slice: {others} others at 0" if others > 1 else f"slice: x{1 - feature} = 0" if others else ""
        return cls(
            x=x, at=places, profiles=profiles, samples=samples, title=repr(kernel), name=name, note=note
        ).plot(ax)  # fmt: skip

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        *,
        at: float | Sequence[float] = 0.0,
        limits: tuple[float, float] = (-5.0, 5.0),
        feature: int = 0,
        n_samples: int = 3,
        resolution: int = 400,
        random_state: int | None = 0,
        ax: Sequence[Axes] | None = None,
    ) -> Self:
        """Draw the kernel of a fitted estimator along one of its features.

        Parameters
        ----------
        estimator : fitted estimator
            Any with a kernel on vectors, or a pipeline that ends in one.
        at, limits, feature, n_samples, resolution, random_state, ax
            As for :meth:`from_kernel`.

        Returns
        -------
        KernelDisplay
        """
        count = int(getattr(find_model(estimator), "n_features_in_", 1))
        return cls.from_kernel(
            get_kernel(cls.__name__, estimator), at=at, limits=limits, n_features=count, feature=feature,
            n_samples=n_samples, resolution=resolution, random_state=random_state, ax=ax,
        )  # fmt: skip

    def plot(self, ax: Sequence[Axes] | None = None) -> Self:
        """Draw the profiles on the left and the functions on the right.

        Parameters
        ----------
        ax : pair of Axes, optional
            What to draw on; a new figure if not given.

        Returns
        -------
        self
        """
        left, right = self._start(ax, (8.0, 3.6))
        for i, (z, profile) in enumerate(zip(self.at, self.profiles, strict=True)):
            label = f"k({self.name}, {z:g})"
            left.plot(self.x, profile, color=pick_colour(i), linestyle=pick_line(i), linewidth=2.0, label=label)
        for i, values in enumerate(self.samples):
            right.plot(self.x, values, color=pick_colour(i), linestyle=pick_line(i), linewidth=1.5)
        left.set(xlabel=self.name, ylabel=f"k({self.name}, z)")
        right.set(xlabel=self.name, ylabel=f"random f({self.name}) with covariance k")
        for panel in (left, right):
            panel.axhline(0.0, color=GREY, linewidth=0.6, zorder=0)
            hide_frame(panel)
        add_legend(left, room=48)
        add_note(right, self.note)
        if self.title and ax is None:
            self.figure_.suptitle(shorten(self.title, 90), fontsize=11)
        return self


def _place_on_line(x: np.ndarray, n_features: int, feature: int) -> np.ndarray:
    points = np.zeros((len(x), n_features))
    points[:, feature] = x
    return points


def _draw_functions(owner: str, kernel: Kernel, points: np.ndarray, count: int, random_state: int | None) -> np.ndarray:
    """Return values of random functions: K^½ times independent normal numbers has covariance K."""
    values, vectors = np.linalg.eigh(np.asarray(kernel(points), dtype=np.float64))
    if values[0] < -ROUNDING * max(values[-1], 0.0) - np.finfo(np.float64).tiny:
        raise ValueError(
            f"{owner}: no random function has the covariance {kernel!r}, because it has a negative eigenvalue "
            f"({values[0]:.3g}) at these points; pass n_samples=0 to draw the profile alone"
        )
    normal = np.random.default_rng(random_state).normal(size=(len(points), count))
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ (vectors.T @ normal)).T
