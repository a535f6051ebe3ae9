"""The eigenvalues of the Gram matrix against the penalty, and its eigenfunctions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..fitting import Fit
from ..limits import PlayError, pick_some
from ..state import State
from .gram import evaluate, get_state, sort_points
from .surface import make_grid

MOST = 600  # points whose matrix is decomposed while someone waits
COUNT = 6  # eigenfunctions
ROUNDING = 1e-10  # of an eigenvalue, relative to the largest


@dataclass(frozen=True, eq=False)
class SpectrumPicture:
    """K = Σⱼ λⱼ uⱼuⱼᵀ.

    Parameters
    ----------
    eigenvalues : array of shape (m,)
        λⱼ, in decreasing order.
    eigenvectors : array of shape (m, c)
        The first uⱼ, in columns.
    order : int array of shape (m,)
        Which points the rows are.
    total : int
        How many points there are; more than m if only some were taken.
    alpha : float, optional
        The penalty, where it is one that eigenvalues are compared with.
    degrees_of_freedom : float, optional
        The trace of the map from targets to fitted values: about Σⱼ λⱼ/(λⱼ + α), and one for the constant.
    state : State
        What was looked at.
    resolution : int
        Points of the grid of eigenfunctions, along each input.
    """

    eigenvalues: np.ndarray
    eigenvectors: np.ndarray
    order: np.ndarray
    total: int
    alpha: float | None
    degrees_of_freedom: float | None
    state: State
    resolution: int

    @property
    def count(self) -> int:
        """How many eigenfunctions there are to draw."""
        return self.eigenvectors.shape[1]

    def eigenfunctions(self, j: int) -> np.ndarray:
        """Return the j-th eigenfunction on the grid of the surface, shape (r,) or (r, r), counted from 0.

        By the formula of Nyström φⱼ(x) = √m/λⱼ Σᵢ uⱼᵢ k(xᵢ, x): at the points it is √m uⱼ, of mean square 1.
        """
        grid = make_grid(self.state, self.resolution)
        values = self.evaluate(j, grid)
        return values if self.state.dim == 1 else values.reshape(self.resolution, self.resolution)

    def evaluate(self, j: int, X: np.ndarray) -> np.ndarray:
        """Return the j-th eigenfunction at points."""
        if not 0 <= j < self.count:
            raise PlayError(f"there is no eigenfunction {j}; there are {self.count}, counted from 0")
        K = evaluate(self.state, X, self.state.x[self.order])
        return np.asarray(np.sqrt(len(self.order)) / self.eigenvalues[j] * (K @ self.eigenvectors[:, j]))


def draw_spectrum(given: Fit | State, count: int = COUNT, resolution: int = 60, most: int = MOST) -> SpectrumPicture:
    """Return the spectrum of the Gram matrix.

    Parameters
    ----------
    given : Fit or State
        What is looked at.
    count : int, default=6
        How many eigenfunctions at most; those of eigenvalue 0 are none.
    resolution : int, default=60
        Points of their grid, along each input.
    most : int, default=600
        Points that are looked at; of more, some.

    Examples
    --------
    >>> from mercer.playground.presets import PRESETS
    >>> from mercer.playground.views.spectrum import draw_spectrum
    >>> found = draw_spectrum(PRESETS["three"].make())
    >>> found.eigenvalues.round(2).tolist(), found.alpha
    ([1.62, 1.0, 0.38], 0.5)
    """
    state = get_state(given)
    order = sort_points(state)[pick_some(state.n, most)]
    K = evaluate(state, state.x[order])
    values, vectors = np.linalg.eigh((K + K.T) / 2)
    values, vectors = values[::-1], vectors[:, ::-1]
    alpha = float(state.values["alpha"]) if state.learner == "ridge" else None
    whole = (
        alpha is not None and len(order) == state.n and state.n > 0 and values.min(initial=0.0) > -ROUNDING * state.n
    )
    kept = min(count, int((values > ROUNDING * values.max(initial=0.0)).sum()))
    shown = fix_signs(vectors[:, :kept])
    return SpectrumPicture(
        values, shown, order, state.n, alpha, _count_freedom(values, vectors, alpha) if whole else None,
        state, resolution,
    )  # fmt: skip


def fix_signs(vectors: np.ndarray) -> np.ndarray:
    """Return columns whose largest entry is positive: signs are free, and a picture that is dragged must not flicker.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.playground.views.spectrum import fix_signs
    >>> fix_signs(np.array([[0.6, 0.8], [-0.8, 0.6]])).tolist()
    [[-0.6, 0.8], [0.8, 0.6]]
    """
    if vectors.size == 0:
        return vectors
    largest = vectors[np.argmax(np.abs(vectors), axis=0), np.arange(vectors.shape[1])]
    return np.asarray(vectors * np.where(largest < 0, -1.0, 1.0))


def _count_freedom(values: np.ndarray, vectors: np.ndarray, alpha: float | None) -> float:
    """Return n − α tr G of ridge with a constant, whose residuals are αGy with G = A⁻¹ − ηηᵀ/1ᵀη and η = A⁻¹1."""
    assert alpha is not None
    shifted = np.maximum(values, 0.0) + alpha
    parts = vectors.sum(axis=0)
    constant = float(((parts / shifted) ** 2).sum() / (parts**2 / shifted).sum())
    return float(len(values) - alpha * (float((1.0 / shifted).sum()) - constant))
