"""Are pairs independent once something else is known?  What a third sample does not explain of both, compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.arrays.budget import require
from mercer.arrays.namespace import namespace
from mercer.arrays.place import Place
from mercer.arrays.tensors import host_array
from mercer.checks import check_count
from mercer.formula.data import Rows
from mercer.gram import Gram
from mercer.kernels import Kernel

from .dependence import LEAST
from .outcome import Outcome, compare, settle_ties
from .resampling import make_generator
from .samples import check_level, check_paired, check_sample, default_kernel, read_kernels

PENALTIES = np.geomspace(1e-6, 1.0, 13)  # of the regressions on Z, in units of the number of points
LEAST_LEFT = 1e-12  # of a point that is explained whole: what is divided by is more than rounding
KEPT = 1e-10  # of the largest eigenvalue: smaller ones add nothing to the null


@dataclass(frozen=True)
class ConditionalTest:
    """The kernel test of conditional independence (KCI): whether x tells anything about y beyond what z tells.

    Features of x, together with z, and of y are regressed on z by kernel ridge regression, with the penalty of the
    least leave-one-out error, and the criterion is that of what is left of both.  Under the hypothesis it is a sum of
    squares of normal numbers, weighted by eigenvalues, from which the null is drawn: the level holds for many points,
    and for as long as the regressions find what z tells.

    Parameters
    ----------
    kernel_x : Kernel, optional
        Of X, on any objects; for vectors a Gaussian of the median distance if not given.
    kernel_y : Kernel, optional
        Of Y.
    kernel_z : Kernel, optional
        Of Z.
    n_draws : int, default=999
        How many draws of the null.
    level : float, default=0.05
        The p-value up to which the hypothesis is rejected.
    random_state : int, Generator, RandomState or None, default=None
        The seed.
    memory : int or str, optional
        Budget in bytes, or a text such as "2GB"; 60 % of what is free if not given.
    device : str or torch.device, optional
        Where to compute, such as "cuda"; tensors are computed with where they are.

    References
    ----------
    Zhang, Peters, Janzing and Schölkopf, "Kernel-based conditional independence test and application in causal
    discovery", 2011.

    Examples
    --------
    x and y both follow z, and nothing else connects them:

    >>> import numpy as np
    >>> from mercer import HSICTest
    >>> from mercer.embeddings import ConditionalTest
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(150, 1))
    >>> x, y = np.sin(2 * z) + 0.3 * rng.normal(size=z.shape), z + 0.3 * rng.normal(size=z.shape)
    >>> HSICTest(random_state=0).test(x, y).rejected
    True
    >>> ConditionalTest(random_state=0).test(x, y, z).rejected
    False
    >>> ConditionalTest(random_state=0).test(x, y + 0.3 * x, z).rejected
    True
    """

    kernel_x: Kernel | None = None
    kernel_y: Kernel | None = None
    kernel_z: Kernel | None = None
    n_draws: int = 999
    level: float = 0.05
    random_state: Any = None
    memory: float | str | None = None
    device: Any = None

    def test(self, X: Rows, Y: Rows, Z: Rows) -> Outcome:
        """Ask whether the i-th of X tells anything about the i-th of Y beyond what the i-th of Z tells.

        Parameters
        ----------
        X : collection of n objects
            The first of each triple.
        Y : collection of n objects
            The second.
        Z : collection of n objects
            What is known; all three may be of different kinds.

        Returns
        -------
        Outcome
            With one kernel for X, one for Y and one for Z.
        """
        level, count = (
            check_level("ConditionalTest", self.level),
            check_count("ConditionalTest", "n_draws", self.n_draws),
        )
        sides, kernels = {}, []
        for name, data, given in (("X", X, self.kernel_x), ("Y", Y, self.kernel_y), ("Z", Z, self.kernel_z)):
            found = read_kernels("ConditionalTest", given, several=False)
            sides[name] = check_sample("ConditionalTest", name, data, given, LEAST)
            kernels.append(default_kernel(sides[name]) if found is None else found[0])
        n, place = check_paired("ConditionalTest", **sides), Place.find(self.device, self.memory, *sides.values())
        require(10 * 8.0 * n * n, place.memory, f"the kernels between {n} points", "give more memory or fewer points")
        K, L, M = (_center(kernel, points, place) for kernel, points in zip(kernels, sides.values(), strict=True))
        both = K * (M + abs(float(M.min())))  # of pairs (x, z), so that what x tells at some z only is seen, too
        A, B = explain_away(_center_matrix(both), M), explain_away(L, M)
        statistic = float((A * B).sum()) / n
        weights = np.maximum(host_array(namespace(A).linalg.eigvalsh(A * B)), 0.0)
        weights = weights[weights > KEPT * weights.max(initial=0.0)]
        rng = make_generator(self.random_state)
        null = rng.chisquare(1.0, size=(count, len(weights))) @ weights / n
        size, epsilon = float(abs(A).max() * abs(B).max()), float(np.finfo(np.float64).eps)
        table = settle_ties(np.concatenate([[statistic], null])[None], size * n, epsilon)
        _, observed, null, p = compare(table)
        return Outcome(
            statistic, p, observed, null, tuple(kernels), (tuple(kernels),), "X and Y are independent given Z", "KCI",
            "draws of the null", level,
        )  # fmt: skip


def _center(kernel: Kernel, X: Rows, place: Place) -> Array:
    gram = Gram(kernel, X, memory=place.memory, dtype=np.float64, device=place.device)
    return _center_matrix(place.put(gram.dense()))


def _center_matrix(K: Array) -> Array:
    means = K.mean(0)
    return K - means - means[:, None] + means.mean()


def explain_away(K: Array, M: Array) -> Array:
    """Return RKR with R = αn(M + αnI)⁻¹, the kernel of what ridge regression on another one leaves of features.

    α has the least leave-one-out error, Σᵢ (RKR)ᵢᵢ/Rᵢᵢ².

    Examples
    --------
    >>> M = np.outer([1.0, -1.0, 0.0], [1.0, -1.0, 0.0])
    >>> bool(np.abs(explain_away(M, M)).max() < 1e-6)  # everything is explained
    True
    """
    xp, n = namespace(K), len(K)
    values, Q = xp.linalg.eigh(M)
    rotated, values = Q.T @ K @ Q, xp.where(values > 0.0, values, 0.0 * values)
    best, left = np.inf, K
    for alpha in (PENALTIES * n).tolist():
        shrink = alpha / (values + alpha)
        residual = Q * shrink @ rotated * shrink @ Q.T
        leverage = (Q**2) @ shrink
        error = float((xp.linalg.diagonal(residual) / xp.where(leverage > LEAST_LEFT, leverage, LEAST_LEFT) ** 2).sum())
        if error < best:
            best, left = error, residual
    return left
