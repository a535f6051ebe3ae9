"""What estimators of ridge say as Gaussian processes: standard deviations, draws and the marginal likelihood."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, TypeVar, overload

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer.checks import check_count
from mercer.formula.data import Rows
from mercer.solvers.ridge.fit import RidgeFit
from mercer.solvers.ridge.posterior.likelihood import find_likelihood
from mercer.solvers.ridge.posterior.posterior import Posterior

from .engine import in_the_kind_given, lives_elsewhere, where_the_data_lives
from .ridge import RidgeEstimator

Method = TypeVar("Method", bound=Callable[..., Any])


def _pairs_are_here(method: Method) -> Method:
    """Refuse covariances between the rows of a Dask collection, whose partitions do not see each other."""

    @functools.wraps(method)
    def checked(self: Any, X: Any, return_std: Any = False, return_cov: Any = False) -> Any:
        if return_cov and lives_elsewhere(X):
            raise ValueError(
                f"{type(self).__name__}.predict: return_cov=True needs all points in one place, but X is a Dask "
                "collection; give X.compute(), or ask for return_std=True"
            )
        given = {"return_std": return_std} if return_std or return_cov else {}
        return method(self, X, **given, **({"return_cov": True} if return_cov else {}))

    return checked  # type: ignore[return-value]


class PosteriorMethods(RidgeEstimator):
    """A mixin of estimators whose function is the mean of a Gaussian process."""

    @overload
    def predict(
        self, X: Rows, return_std: Literal[False] = False, return_cov: Literal[False] = False
    ) -> np.ndarray: ...
    @overload
    def predict(
        self, X: Rows, return_std: Literal[True], return_cov: Literal[False] = False
    ) -> tuple[np.ndarray, np.ndarray]: ...
    @overload
    def predict(
        self, X: Rows, return_std: Literal[False] = False, *, return_cov: Literal[True]
    ) -> tuple[np.ndarray, np.ndarray]: ...
    @_pairs_are_here
    @where_the_data_lives
    def predict(
        self, X: Rows, return_std: bool = False, return_cov: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Return f(x) + b for all points, and how far from it the function may be.

        Ridge is the mean of a Gaussian process with the kernel as prior covariance and noise of variance α, or α/wᵢ
        with weights.  Its variance is k(x, x) − k_xᵀA⁻¹k_x with A = K + αW⁻¹, and (1 − 1ᵀA⁻¹k_x)²/1ᵀA⁻¹1 more for an
        intercept under a flat prior.  That is of f(x) + b; a new observation has α more.  It is as good as α and the
        size of the kernel are, which the targets do not change: learn them with
        ``KernelRidgeCV(criterion="marginal")``.

        Parameters
        ----------
        X : collection of m objects
            The points; with a precomputed kernel its values between them and all training points, shape (m, n).
        return_std : bool, default=False
            Whether to return the standard deviation too.
        return_cov : bool, default=False
            Whether to return the covariances between all points too.

        Returns
        -------
        array of shape (m,) or (m, targets)
            The mean.
        array of shape (m,) or (m, targets), with ``return_std``
            The standard deviation; targets of the same α have the same.
        array of shape (m, m) or (m, m, targets), with ``return_cov``
            The covariances.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer.kernels import Gaussian
        >>> from mercer.models.ridge import KernelRidge
        >>> X = np.linspace(0.0, 6.0, 20).reshape(-1, 1)
        >>> model = KernelRidge(alpha=0.01, kernel=Gaussian()).fit(X, np.sin(X[:, 0]))
        >>> mean, std = model.predict([[3.0], [9.0]], return_std=True)
        >>> std.round(2)  # among the points, and far from all of them
        array([0.06, 1.  ])
        """
        if return_std and return_cov:
            raise RuntimeError(
                f"{type(self).__name__}.predict: return_std and return_cov cannot both be True; the standard deviation "
                "is the root of the diagonal of the covariances"
            )
        if not (return_std or return_cov):
            return self._evaluate(X)
        posterior = Posterior.of(self._whole_record("predict"))
        points = self._kernel_argument().new_points(X)
        spread = np.sqrt(posterior.variance(points)) if return_std else posterior.covariance(points)
        return self._evaluate(X), spread

    @in_the_kind_given
    def sample(self, X: Rows, size: int = 1, random_state: Any = None) -> np.ndarray:
        """Return functions that the data allows for: draws from the posterior of f + b.

        Up to 2,000 points are drawn from their covariances, exactly.  More are drawn by Matheron's rule: a draw of the
        prior, the mean, and less the fit to that draw at the training points with noise, at a cost that grows as the
        number of points does.  The prior is drawn there from 4,096 random waves for ``Gaussian``, ``Matern``,
        ``RationalQuadratic``, ``Laplacian`` and ``PowerExponential``, their sums, products and multiples, and exactly
        for kernels with as few features.  For other kernels it is drawn from a factor of their matrix up to 10,000 old
        and new points that fit into memory, and from one of rank 2,000 beyond.

        Parameters
        ----------
        X : collection of m objects
            The points, as in :meth:`predict`.
        size : int, default=1
            How many draws.
        random_state : int, RandomState or None, default=None
            The seed.

        Returns
        -------
        array of shape (m, size) or (m, targets, size)

        Examples
        --------
        >>> import numpy as np
        >>> from mercer.kernels import Gaussian
        >>> from mercer.models.ridge import KernelRidge
        >>> X = np.linspace(0.0, 6.0, 20).reshape(-1, 1)
        >>> model = KernelRidge(alpha=0.01, kernel=Gaussian()).fit(X, np.sin(X[:, 0]))
        >>> model.sample([[3.0], [9.0]], size=1000, random_state=0).std(axis=1).round(1)
        array([0.1, 1. ])
        """
        record = self._whole_record("sample")
        count = check_count(f"{type(self).__name__}.sample", "size", size)
        points = self._kernel_argument().new_points(X)
        return Posterior.of(record).sample(points, count, check_random_state(random_state))

    @property
    def noise_variance_(self) -> Any:
        """The variance of an observation of weight 1 about f + b: α of the sum form, one for each target."""
        penalty = self._whole_record("noise_variance_").penalty
        return float(penalty[0]) if np.ndim(self.dual_coef_) == 1 else penalty.copy()

    @property
    def log_marginal_likelihood_(self) -> float:
        """Log p(y) of the targets under the Gaussian process: −½ yᵀA⁻¹y − ½ log|A| − ½ n log 2π, summed over targets.

        With an intercept it is the restricted likelihood, with b integrated out: yᵀA⁻¹y loses the part of b,
        ½ log 1ᵀA⁻¹1 is subtracted, and n − 1 takes the place of n.  Nyström models have that of the features of their
        centres.  Computed when first asked for.
        """
        check_is_fitted(self)
        return Posterior.of(self._whole_record("log_marginal_likelihood_")).log_likelihood()

    def log_marginal_likelihood(self, theta: Any = None, eval_gradient: bool = False) -> Any:
        """Return the log marginal likelihood for other hyperparameters, and its gradient if asked.

        Parameters
        ----------
        theta : array, optional
            Natural logarithms of the kernel's hyperparameters, in the order of ``kernel_.hyperparameters()``, and of
            alpha after them, or of one alpha for each target if the model has as many.  Those of the fit if not given.
        eval_gradient : bool, default=False
            Whether to return the gradient by theta too.

        Returns
        -------
        float
            As ``log_marginal_likelihood_`` has it.
        array of the size of theta, with ``eval_gradient``
            The gradient.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer.kernels import Gaussian
        >>> from mercer.models.ridge import KernelRidge
        >>> X = np.linspace(0.0, 6.0, 20).reshape(-1, 1)
        >>> model = KernelRidge(alpha=0.01, kernel=2.0 * Gaussian()).fit(X, np.sin(X[:, 0]))
        >>> list(model.kernel_.hyperparameters())
        ['weight', 'kernel__length_scale']
        >>> value, gradient = model.log_marginal_likelihood(np.log([2.0, 1.0, 0.01]), eval_gradient=True)
        >>> bool(np.isclose(value, model.log_marginal_likelihood_)), gradient.shape
        (True, (3,))
        """
        record = self._whole_record("log_marginal_likelihood")
        posterior = Posterior.of(record)
        if theta is None and not eval_gradient:
            return posterior.log_likelihood()
        posterior.check_noise()
        if record.plan.solver == "nystroem":
            raise ValueError(
                f"{type(self).__name__}: a Nyström model has log_marginal_likelihood_, of the features of its centres, "
                "but none for other hyperparameters and no gradient; use solver='cholesky' on fewer points"
            )
        problem, penalty = posterior.problem, record.penalty
        names, several = list(problem.kernel.hyperparameters()), np.size(self._given_alpha()) > 1
        if theta is not None:
            logs = self._read_theta(theta, names, len(penalty) if several else 1)
            values = dict(zip(names, np.exp(logs[: len(names)]).tolist(), strict=True))
            problem = replace(problem, kernel=problem.kernel.with_hyperparameters(values))
            penalty = np.broadcast_to(np.exp(logs[len(names) :]) * self._alpha_unit(record), penalty.shape)
        found = find_likelihood(problem, penalty, gradient=eval_gradient)
        if not eval_gradient:
            return found.value
        by_alpha = found.by_log_alpha if several else [found.by_log_alpha.sum()]
        return found.value, np.array([*(found.by_log_hyperparameter[name] for name in names), *by_alpha])

    def _read_theta(self, theta: Any, names: list[str], alphas: int) -> np.ndarray:
        logs = np.asarray(theta, dtype=np.float64)
        if logs.shape != (len(names) + alphas,) or np.isnan(logs).any():
            what = "alpha" if alphas == 1 else f"the {alphas} alphas"
            raise ValueError(
                f"{type(self).__name__}.log_marginal_likelihood: theta has the logarithms of {names} and of {what}, "
                f"shape ({len(names) + alphas},); got {theta!r}"
            )
        return logs

    # -- of each estimator ---------------------------------------------------------------------------------------------

    def _whole_record(self, method: str) -> RidgeFit:
        """Return the record of a fit whose rows are here, or raise."""
        raise NotImplementedError

    def _given_alpha(self) -> Any:
        """Return the penalty or the penalties of the fit, as the user has them."""
        raise NotImplementedError

    def _alpha_unit(self, record: RidgeFit) -> float:
        """Return what the penalties were multiplied by for the sum form."""
        return 1.0
