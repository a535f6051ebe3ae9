"""The points in the space of features: in the features themselves where there are few, else where they vary most."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..composing import read_kernel
from ..fitting import Fit, guard
from ..limits import pick_some
from ..state import State
from .gram import evaluate, get_state
from .spectrum import fix_signs

AXES = 3
MOST = 600  # points that principal components are found from
FEWEST = 2
ROUNDING = 1e-12  # of an eigenvalue, relative to the trace


@dataclass(frozen=True, eq=False)
class FeaturePicture:
    """Points in up to three dimensions of the space of features.

    Parameters
    ----------
    coordinates : array of shape (n, c)
        c ≤ 3 coordinates of each point.
    names : tuple of str
        What the axes are.
    shares : array of shape (c,), optional
        The share of the variance along each axis; None for features themselves.
    explicit : bool
        Whether the axes are all the features that the kernel has.
    """

    coordinates: np.ndarray
    names: tuple[str, ...]
    shares: np.ndarray | None
    explicit: bool


def draw_features(given: Fit | State) -> FeaturePicture:
    """Return the points in the space of features.

    Examples
    --------
    >>> from mercer.playground.presets import PRESETS
    >>> from mercer.playground.views.features import draw_features
    >>> state = PRESETS["corners"].make()
    >>> found = draw_features(state.with_kernel("Polynomial(2, 0)"))
    >>> found.explicit, found.coordinates.shape
    (True, (4, 3))
    >>> draw_features(state.with_kernel("Gaussian(1.0)")).shares.round(2).tolist()
    [0.36, 0.36, 0.28]
    """
    state = get_state(given)
    kernel = read_kernel(state.kernel, state.dim)
    with guard():
        if kernel.feature_dim(state.dim) <= AXES and state.n > 0:
            phi = kernel.feature_map(state.dim).fit(state.x)
            names = tuple(str(name) for name in phi.get_feature_names_out())
            return FeaturePicture(np.asarray(phi.transform(state.x), dtype=np.float64), names, None, True)
    if state.n < FEWEST:
        return FeaturePicture(np.zeros((state.n, 1)), ("component 1",), np.ones(1), False)
    coordinates, shares = _find_components(state)
    return FeaturePicture(coordinates, tuple(f"component {j + 1}" for j in range(len(shares))), shares, False)


def _find_components(state: State) -> tuple[np.ndarray, np.ndarray]:
    """Return Σᵢ vⱼᵢ k̃(xᵢ, x)/√λⱼ of HKH = Σⱼ λⱼ vⱼvⱼᵀ at all points, and the shares λⱼ/tr HKH.

    KernelPCA refuses what is no kernel, which is to be looked at here as well.
    """
    some = state.x[pick_some(state.n, MOST)]
    K = evaluate(state, some)
    rows = K if len(some) == state.n else evaluate(state, state.x, some)
    means = K.mean(axis=0)
    centred = rows - rows.mean(axis=1, keepdims=True) - means + means.mean()
    own = K - means[:, None] - means + means.mean()
    values, vectors = np.linalg.eigh((own + own.T) / 2)
    values, vectors = values[::-1][:AXES], vectors[:, ::-1][:, :AXES]
    kept = values > ROUNDING * np.abs(np.diag(K)).sum()
    if not kept.any():
        return np.zeros((state.n, 1)), np.zeros(1)
    values, vectors = values[kept], fix_signs(vectors[:, kept])
    return centred @ vectors / np.sqrt(values), np.minimum(values / max(float(np.trace(own)), float(values[0])), 1.0)
