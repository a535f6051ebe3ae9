"""Density estimation with Parzen windows."""

from __future__ import annotations

from typing import Annotated, Any, Self

import numpy as np
from sklearn.base import DensityMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer.arrays.shapes import Axes, Inside
from mercer.estimators.engine import in_the_kind_given, where_the_data_lives
from mercer.estimators.primal import PrimalForm
from mercer.estimators.targets import check_whole
from mercer.estimators.transaction import all_or_nothing
from mercer.expansion import Expansion
from mercer.features.validate import takes_vectors
from mercer.formula.data import Rows
from mercer.solvers.windows.fits import DensityWindows

from .parzen import ParzenEstimator


class ParzenDensity(PrimalForm, DensityMixin, ParzenEstimator):  # type: ignore[misc]
    """Density estimation with a window on every point: p(x) = Σᵢ wᵢ k(xᵢ, x) / (Σᵢ wᵢ · ∫ k).

    There is no training beyond the width of the window, which by default is the one that gives every point the largest
    likelihood under the density of all others.

    Parameters
    ----------
    kernel : str or Kernel, default="gaussian"
        The window.  With r = ‖x − z‖/σ: "gaussian" is exp(−r²/2), "exponential" exp(−r), and inside the ball r < 1
        "uniform" (or "tophat") is 1, "epanechnikov" 1 − r², "triangular" (or "linear") 1 − r and "cosine" cos(πr/2).
        Or a mercer kernel that is nowhere negative, on any objects.  Densities integrate to 1 for all names and for
        ``Gaussian``, ``Laplacian``, ``Matern``, ``PowerExponential`` and ``RationalQuadratic`` (if α > d/2); other
        kernels give the plain mean Σᵢ wᵢ k(xᵢ, x) / Σᵢ wᵢ.
    length_scale : float, sequence of floats, "loo" or None, default=None
        σ, or one for each feature.  "loo" finds one σ by leave-one-out likelihood; None does so for a name, and leaves
        a mercer kernel as it is.
    memory : int or str, optional
        Budget in bytes, or a text such as "2GB"; 60 % of what is free if not given.
    random_state : int, RandomState or None, default=None
        The seed of the choice of points to leave out, where there are more than 2,048: then a part of them is left out
        in turn, against all others.
    device : str or torch.device, optional
        Where to sum up windows, such as "cuda"; tensors are summed up where they are, and everything else on the host,
        where the length scale is searched for in any case.

    Attributes
    ----------
    kernel_ : Kernel
        The window used.
    length_scale_ : float or tuple
        Its σ, None if it has none.
    normalized_ : bool
        Whether densities integrate to 1.
    log_integral_ : float
        log ∫ k, or 0 if that is not known.
    X_fit_, weights_ : data, array of shape (n,)
        The points and their weights, which add up to 1; points without weight are left out.
    expansion_ : Expansion
        The density as a function, Σᵢ cᵢ k(xᵢ, ·).
    loo_length_scales_, loo_losses_, n_loo_points_ : array, array, int
        If σ was searched for: what was tried, minus the mean log-likelihood of points left out, and how many of those
        there were.

    Notes
    -----
    The leave-one-out likelihood of a compact window is 0 as soon as one point has no other inside its window, so that
    an outlier makes the window wide; use one without an end there.  Points at the same place are left out together, so
    that repeating a point is the same as giving it a weight.  If all points are at one place, σ is 1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.models.parzen_density import ParzenDensity
    >>> X = np.random.default_rng(0).normal(size=(500, 1))
    >>> density = ParzenDensity().fit(X)
    >>> np.exp(density.score_samples([[0.0], [1.0]])).round(1)
    array([0.4, 0.2])
    """

    normalized_: bool
    log_integral_: float
    weights_: Annotated[np.ndarray, Axes("n")]
    _windows: Annotated[DensityWindows, Inside(n="n", d="d")]

    @where_the_data_lives
    def fit(self, X: Rows, y: object = None, sample_weight: Any = None) -> Self:
        """Keep the points, and find the length scale; a fit that fails or is interrupted changes nothing.

        Parameters
        ----------
        X : collection of n objects
            The points.
        y : ignored
            Here because pipelines pass it.
        sample_weight : float or array of shape (n,), optional
            Weights that are not negative; a weight of 0 is as good as leaving the point out.
        """
        with all_or_nothing(self):
            self._fit(X, y, sample_weight)
        return self

    def _fit(self, X: Rows, y: object, sample_weight: Any) -> None:
        data = self._check_points(X, sample_weight)
        d = int(data.points.shape[1]) if takes_vectors(data.kernel) else None
        windows = DensityWindows(data.kernel, data.points, data.weights / data.weights.sum(), d)
        if data.search and windows.log_integral is None:
            raise ValueError(
                f"{type(self).__name__}: likelihoods of different length scales need the integral of the window, "
                f"which is not known for {data.kernel!r}; give length_scale a number"
            )
        self._keep(windows, data.search)
        known, self.weights_ = self._windows.log_integral, windows.weights
        self.normalized_, self.log_integral_ = known is not None, 0.0 if known is None else known

    @property
    def expansion_(self) -> Expansion:
        """The density as a function of the kernel's space."""
        check_is_fitted(self)
        return self._windows.expansion

    @where_the_data_lives
    def score_samples(self, X: Rows) -> np.ndarray:
        """Return the logarithm of the density at each point, −inf outside of all windows.

        Parameters
        ----------
        X : collection of m objects
            The points.

        Returns
        -------
        array of shape (m,)
        """
        return self._evaluate(X)

    @in_the_kind_given
    def score(self, X: Rows, y: object = None) -> float:
        """Return the sum of the log-densities of all points, as scikit-learn's ``KernelDensity`` does.

        Parameters
        ----------
        X : collection of m objects
            The points.
        y : ignored
            Here because pipelines pass it.
        """
        return float(self.score_samples(X).sum())

    @in_the_kind_given
    def sample(self, n_samples: Any = 1, random_state: Any = None) -> np.ndarray:
        """Return points drawn from the density.

        Parameters
        ----------
        n_samples : int, default=1
            How many.
        random_state : int, RandomState or None, default=None
            The seed.

        Returns
        -------
        array of shape (n_samples, d)
        """
        check_is_fitted(self)
        if not self.normalized_:
            raise ValueError(
                f"{type(self).__name__}: cannot draw from {self.kernel_!r}, whose integral is not known; use one of "
                "the names, or Gaussian, Laplacian, Matern, PowerExponential or RationalQuadratic"
            )
        return self._windows.sample(check_whole(self, "n_samples", n_samples), check_random_state(random_state))
