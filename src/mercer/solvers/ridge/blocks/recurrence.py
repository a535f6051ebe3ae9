"""The recurrence of accelerated block descent: three sequences, of which two are kept."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Array
from mercer.arrays.columns import like
from mercer.arrays.namespace import namespace


class Momentum:
    """Nesterov's acceleration of random block steps, each column with the strength that its penalty allows.

    From z a step d on a block leads to w, and v remembers where steps have been going:

        w ← z − d,   v ← τv + (1 − τ)z − γd,   z ← a v + (1 − a)w,

    with τ = 1 − √(μ/ν), γ = 1/√(μν), a = 1/(1 + γν), ν = n/b, and μ the share of the error that one step takes away at
    least, for which the penalty over the mean of the diagonal stands in, at most 1/ν.

    Parameters
    ----------
    start : array of shape (n, q)
        Zeros, where the numbers are to be; it is taken over.
    share : float
        b/n, of the rows that are in a block.
    ease : array of shape (q,)
        α over the mean of the diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> state = Momentum(np.zeros((4, 1)), 0.5, np.array([10.0]))
    >>> state.step(np.array([0, 1]), np.ones((2, 1)))
    >>> state.z[:, 0].tolist()
    [-1.0, -1.0, 0.0, 0.0]
    """

    def __init__(self, start: Array, share: float, ease: np.ndarray) -> None:
        self.z, self.v = start, start + 0.0
        self._share = share
        self.soften(ease)

    def soften(self, ease: np.ndarray) -> None:
        """Take another stand-in for μ; one of at least b/n means that there is no momentum."""
        nu = 1.0 / self._share
        mu = np.minimum(ease, self._share)
        self._keep = 1.0 - np.sqrt(mu / nu)
        self._gamma = 1.0 / np.sqrt(mu * nu)
        self._mix = 1.0 / (1.0 + self._gamma * nu)

    def step(self, block: np.ndarray, d: Array) -> None:
        """Go the step −d on the rows of a block."""
        keep, mix, gamma = (like(self.z, values) for values in (self._keep, self._mix, self._gamma))
        where = namespace(self.z).asarray(block, device=self.z.device)
        self.v *= keep
        self.v += (1.0 - keep) * self.z
        self.v[where] -= gamma * d
        self.z *= 1.0 - mix
        self.z += mix * self.v
        self.z[where] -= (1.0 - mix) * d
