"""The band-limited kernel by quadrature: ∫₀^{2π} cos t(x − z) dt at Gauss–Legendre nodes, exact to rounding.

With n nodes the quadrature is exact for polynomials of degree 2n − 1, and cos t(x − z) is one, to rounding, as long as
|x − z| stays below a bound that grows with n.  Beyond that bound digits vanish quickly, so the maps here know it.
"""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np

from mercer.arrays.shapes import Inside, Number
from mercer.kernels.trigonometric import SINC_NODES

from .base import FeatureMap, check_count
from .trigonometric import Waves

ROOM = 1.5  # nodes are chosen for a range this much wider than the training data's, because new data is wider
MOST_NODES = 10_000


def count_nodes(spread: float) -> int:
    """Return how many nodes integrate cos tΔ over [0, 2π] to rounding for every |Δ| up to ``spread``.

    The coefficients of cos(ωs), ω = πΔ, in Legendre polynomials fall to rounding a few ω^(1/3) beyond degree ω, and
    n nodes reach degree 2n.  The factor and the constant were measured for 4 to 10,000 nodes; with them the error
    stays below 1e-13, growing to 2e-13 at Δ = 6000 by the rounding of the angles alone.
    """
    return math.ceil(_estimate_nodes(spread))


def find_reach(n_nodes: int) -> float:
    """Return the largest |x − z| for which ``n_nodes`` nodes suffice."""
    low, high = 0.0, float(n_nodes)
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _estimate_nodes(middle) <= n_nodes else (low, middle)
    return low


def _estimate_nodes(spread: float) -> float:
    angle = math.pi * spread
    return 0.5 * angle + 6.0 * angle ** (1.0 / 3.0) + 2.0


def build_quadrature(n_inputs: int, n_nodes: int, centre: np.ndarray | None = None) -> Waves:
    """Return the features √w_j (cos t_j(x − m), sin t_j(x − m)) for the nodes t_j and weights w_j on [0, 2π]."""
    points, weights = find_gauss_legendre(n_nodes)
    nodes = math.pi * (1.0 + points)
    return Waves(n_inputs, nodes, [f"{node:.6g}" for node in nodes], math.pi * weights, centre)


def find_gauss_legendre(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the n nodes and weights of Gauss–Legendre quadrature on [−1, 1].

    Newton's method on the three-term recurrence of P_n from Tricomi's asymptotic nodes.  For many nodes it keeps
    two digits that eigenvalue methods lose: at n = 1000 the integral of a cosine is off by 5e-14, against 1e-12 with
    ``scipy.special.roots_legendre``.
    """
    angles = math.pi * (4.0 * np.arange(n, 0, -1) - 1.0) / (4.0 * n + 2.0)
    nodes = (1.0 - (n - 1) / (8.0 * n**3) - (39.0 - 28.0 / np.sin(angles) ** 2) / (384.0 * n**4)) * np.cos(angles)
    for _ in range(5):
        below, value = np.ones(n), nodes.copy()
        for k in range(2, n + 1):
            below, value = value, ((2 * k - 1) * nodes * value - (k - 1) * below) / k
        slope = n * (below - nodes * value) / (1.0 - nodes**2)
        step = value / slope
        nodes = nodes - step
        if np.abs(step).max() < 1e-15:
            break
    weights = 2.0 / ((1.0 - nodes**2) * slope**2)
    return nodes, weights * (2.0 / weights.sum())


def check_reach(X: np.ndarray, waves: Waves, remedy: str) -> None:
    """Raise if two points as far from the centre as these could be too far apart for the nodes."""
    n_nodes = len(waves.frequencies)
    within = 0.5 * find_reach(n_nodes)
    distances = np.abs(X if waves.centre is None else X - waves.centre)
    row, column = np.unravel_index(np.argmax(distances), distances.shape)
    furthest = float(distances[row, column])
    if furthest > within * (1 + 1e-12):
        middle = 0.0 if waves.centre is None else waves.centre[column]
        raise ValueError(
            f"Sinc: {n_nodes} nodes are exact within {within:.4g} of the centre, but row {row}, "
            f"column {column} is {X[row, column]:.6g}, {furthest:.4g} from the centre {middle:.6g}; {remedy}"
        )


class Sinc(FeatureMap):
    """The features of the kernel Σ_d sin(2π(x_d − z_d))/(x_d − z_d) = Σ_d ∫₀^{2π} cos t(x_d − z_d) dt, by quadrature.

    φ(x) = √w_j (cos t_j(x_d − m_d), sin t_j(x_d − m_d)) at the Gauss–Legendre nodes t_j of [0, 2π], with m the middle
    of the training data.  Exact to rounding (1e-13) for points within reach of the nodes; others are refused.

    Parameters
    ----------
    n_nodes : int, optional
        The number of nodes.  By default as many as data half as wide again as the training data needs, and at least 32.

    Attributes
    ----------
    n_nodes_ : int
        The number of nodes used; there are twice as many features for each input.
    reach_ : float
        The largest difference of two coordinates for which the map is exact to rounding.
    waves_ : Waves
        The nodes, weights, centre and the map itself.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.features import Sinc
    >>> X = np.array([[100.0], [100.25], [100.5]])
    >>> features = Sinc().fit_transform(X)
    >>> features.shape
    (3, 64)
    >>> (features @ features.T)[0].round(4) + 0.0
    array([6.2832, 4.    , 0.    ])
    """

    n_nodes_: Annotated[int, Number("m")]
    reach_: float
    waves_: Annotated[Waves, Inside(d="d", m="m")]

    _node = "waves_"

    def __init__(self, n_nodes: int | None = None) -> None:
        self.n_nodes = n_nodes

    def _learn(self, X: np.ndarray) -> None:
        low, high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
        spread = float((high - low).max())
        needed = max(SINC_NODES, count_nodes(ROOM * spread))
        self.n_nodes_ = needed if self.n_nodes is None else check_count(self, "n_nodes")
        if self.n_nodes_ > MOST_NODES:
            raise ValueError(
                f"Sinc: data with a range of {spread:.4g} needs {self.n_nodes_} nodes, more than {MOST_NODES}; "
                "divide the data by a length, or use the kernel mercer.kernels.Sinc, which takes any range"
            )
        self.reach_ = find_reach(self.n_nodes_)
        self.waves_ = build_quadrature(X.shape[1], self.n_nodes_, low + 0.5 * (high - low))
        self._check_reach(X)

    def _map(self, X: np.ndarray) -> np.ndarray:
        self._check_reach(X)
        return self.waves_(X)

    def _check_reach(self, X: np.ndarray) -> None:
        check_reach(X, self.waves_, "fit on data that covers this range, or raise n_nodes")
