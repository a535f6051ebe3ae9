"""Nyström features: any kernel approximated from its values at a few centres."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from sklearn.utils import check_random_state

from mercer.arrays.shapes import Axes
from mercer.formula.data import Rows, length, pick
from mercer.formula.evaluation import Evaluation
from mercer.kernels import Kernel
from mercer.linalg.cholesky import pick_independent
from mercer.linalg.pivoting import PivotedCholesky
from mercer.messages import warn_caller

from .base import KernelMap, Seed, check_count
from .params import SOMETIMES


class Nystroem(KernelMap):
    """Features from the kernel's values at centres c₁, …, c_m: φ(x) = L⁻¹ (k(c₁, x), …, k(c_m, x)) with K_cc = LLᵀ.

    Then φ(x)ᵀφ(z) = k_c(x)ᵀ K_cc⁻¹ k_c(z), the best approximation of the kernel by functions k(c_j, ·): exact when x or
    z is a centre, and never above k(x, x) on the diagonal.  Centres that others already explain to rounding, such as
    repeated points, are dropped, so there may be fewer features than ``n_components``.

    Parameters
    ----------
    kernel : Kernel, optional
        Any kernel, on any objects; ``Gaussian()`` if not given.
    n_components : int, default=100
        How many centres.  With more than there are points a warning is given and all are used, which is exact on them.
    selection : {"rpcholesky", "uniform"}, default="rpcholesky"
        How centres are chosen: by randomly pivoted Cholesky, which looks for what is not explained yet and needs
        ``n_components`` columns of the Gram matrix, or uniformly at random.
    random_state : int, RandomState or None, default=None
        The seed.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel used.
    centers_ : collection of m objects
        The centres.
    component_indices_ : array of shape (m,)
        Which of the training points they are.
    cholesky_ : array of shape (m, m)
        L.
    residual_trace_ : float
        trace(K − ΦΦᵀ) on the training data, with ``selection="rpcholesky"``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.features import Nystroem
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0.0, 5.0, 200).reshape(-1, 1)
    >>> phi = Nystroem(Gaussian(), n_components=12, random_state=0).fit(X)
    >>> features = phi.transform(X)
    >>> features.shape
    (200, 12)
    >>> bool(np.abs(features @ features.T - Gaussian()(X)).max() < 1e-4)
    True
    """

    centers_: Annotated[Rows, Axes("m+ …")]
    component_indices_: Annotated[np.ndarray, Axes("m", of="iu")]
    cholesky_: Annotated[np.ndarray, Axes("m m")]
    residual_trace_: Annotated[float, SOMETIMES]

    def __init__(
        self,
        kernel: Kernel | None = None,
        n_components: int = 100,
        selection: Literal["rpcholesky", "uniform"] = "rpcholesky",
        random_state: Seed = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.selection = selection
        self.random_state = random_state

    def _check_fitted(self) -> None:
        """Raise if L cannot be divided by; files call this."""
        if not (np.isfinite(self.cholesky_).all() and self.cholesky_.diagonal().all()):
            raise ValueError("Nystroem: cholesky_ must be finite, without zeros on its diagonal")

    def _learn(self, X: Rows) -> None:
        self.kernel_ = self._choose_kernel()
        wanted = check_count(self, "n_components")
        if self.selection not in ("rpcholesky", "uniform"):
            raise ValueError(f"Nystroem: selection must be 'rpcholesky' or 'uniform', got {self.selection!r}")
        n = length(X)
        if wanted > n:
            warn_caller(
                f"Nystroem: n_components={wanted}, but there are only {n} points; all of them become centres, which is "
                f"exact on this data. Pass n_components={n} or less to avoid this warning."
            )
        rng = check_random_state(self.random_state)
        if self.selection == "uniform":
            indices = rng.permutation(n)[: min(wanted, n)]
            self.__dict__.pop("residual_trace_", None)
        else:
            indices, self.residual_trace_ = self._choose_pivots(X, min(wanted, n), rng)
        kept, self.cholesky_ = pick_independent(self.kernel_(pick(X, indices)))
        self.component_indices_ = indices[kept]
        self.centers_ = pick(X, self.component_indices_)

    def _choose_pivots(self, X: Rows, rank: int, rng: np.random.RandomState) -> tuple[np.ndarray, float]:
        gram = Evaluation(self.kernel_.traced(), X, None, repr(self.kernel_))  # prepares the data once for all columns
        everything = slice(0, gram.shape[1])
        found = PivotedCholesky(
            gram.diag(),
            lambda indices: gram.tile(indices, everything),
            lambda indices: self.kernel_(pick(X, indices)),
            rng,
        )
        found.grow(rank)
        if len(found.pivots) == 0:
            raise ValueError(f"Nystroem: {self.kernel_!r} is 0 on all of the data, so it has no features to learn")
        return found.pivots, found.residual_trace

    def _map(self, X: Rows) -> np.ndarray:
        from scipy.linalg import solve_triangular

        values = self.kernel_(X, self.centers_)
        features = solve_triangular(self.cholesky_, values.T, lower=True, check_finite=False).T
        return features.astype(values.dtype, copy=False)

    def _count_features(self) -> int:
        return len(self.cholesky_)
