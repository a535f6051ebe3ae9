"""Classification and regression with Parzen windows."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from mercer.estimators.engine import where_the_data_lives
from mercer.estimators.kernels import all_or_nothing
from mercer.estimators.targets import check_labels, check_targets
from mercer.estimators.windows import ParzenEstimator
from mercer.expansion import Expansion
from mercer.formula.data import Rows, pick
from mercer.solvers.windows.scale import LeaveOneOut
from mercer.solvers.windows.sums import log_sum_exp, softmax


class ParzenClassifier(ClassifierMixin, ParzenEstimator):  # type: ignore[misc]
    """Bayes' rule on densities from Parzen windows: p(c | x) ∝ π_c · Σ wᵢ k(xᵢ, x) / Σ wᵢ over the points of class c.

    Parameters
    ----------
    kernel : str or Kernel, default="gaussian"
        The window, as for :class:`ParzenDensity`, the same for all classes; it needs no integral.
    length_scale : float, sequence of floats, "loo" or None, default=None
        σ.  "loo" finds the one with the least squared error Σ_c (p(c | x) − [x is of class c])² at points left out;
        None does so for a name, and leaves a mercer kernel as it is.
    priors : sequence of floats, optional
        The probabilities π_c of the classes in sorted order; their shares of the weights if not given.
    memory : int or str, optional
        Budget in bytes, or a text such as "2GB"; 60 % of what is free if not given.
    random_state : int, RandomState or None, default=None
        The seed of the choice of points to leave out, where there are more than 2,048.
    device : str or torch.device, optional
        Where to sum up windows, such as "cuda"; tensors are summed up where they are, and everything else on the host,
        where the length scale is searched for in any case.

    Attributes
    ----------
    classes_ : array
        The labels.
    class_prior_ : array of shape (classes,)
        π_c.
    kernel_, length_scale_ : Kernel, float
        The window used and its σ.
    X_fit_ : data
        The points with a positive weight.
    expansions_ : list of Expansion
        The density of each class as a function, up to the integral of the window; None for a class without weight.
    loo_length_scales_, loo_losses_, n_loo_points_ : array, array, int
        If σ was searched for: what was tried, the squared error, and how many points were left out in turn.

    Notes
    -----
    Far from all points the answer is that of the logarithms of the windows: with a Gaussian the posterior tends to the
    class of the nearest point.  Where compact windows leave a point outside of all of them, it gets the class of the
    nearest training point, with a warning; kernels that are 0 there without depending on a distance, the priors.
    In the search for σ points at the same place are left out together, so that repeating a point is the same as giving
    it a weight.  If all points are at one place, σ is 1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer.models.parzen import ParzenClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ParzenClassifier().fit(X, y)
    >>> model.predict(X[:2]), model.predict_proba(X[:1]).round(2)
    (array([0, 0]), array([[1., 0., 0.]]))
    """

    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        length_scale: Any = None,
        priors: Any = None,
        memory: float | str | None = None,
        random_state: Any = None,
        device: Any = None,
    ) -> None:
        self.kernel = kernel
        self.length_scale = length_scale
        self.priors = priors
        self.memory = memory
        self.random_state = random_state
        self.device = device

    @where_the_data_lives
    def fit(self, X: Rows, y: Any, sample_weight: Any = None) -> Self:
        """Keep the points, and find the length scale; a fit that fails or is interrupted changes nothing.

        Parameters
        ----------
        X : collection of n objects
            The points.
        y : array of shape (n,)
            Their labels, numbers or texts.
        sample_weight : float or array of shape (n,), optional
            Weights that are not negative; a weight of 0 is as good as leaving the point out.
        """
        with all_or_nothing(self):
            kernel, search, X, weights, kept, total = self._points(X, sample_weight)
            labels = check_labels(self, y, total)
            self.classes_, self._codes = np.unique(labels[kept], return_inverse=True)
            self._members = weights[:, None] * (self._codes[:, None] == np.arange(len(self.classes_)))
            self.class_prior_ = self._priors(self._members.sum(axis=0))
            self._settle(kernel, search, X, self._loss)
        return self

    @where_the_data_lives
    def predict_log_proba(self, X: Rows) -> np.ndarray:
        """Return the logarithms of the posterior probabilities.

        Parameters
        ----------
        X : collection of m objects
            The points.

        Returns
        -------
        array of shape (m, classes)
        """
        return self._log_posterior(X)

    def _log_posterior(self, X: Rows) -> np.ndarray:
        """Return the logarithms as an array, wherever the points are."""
        check_is_fitted(self)
        X = self._checked(X)
        windows = self._windows(X)
        joint = windows.log_sums(X, self._members) + self._log_shares()
        total = log_sum_exp(joint)
        empty = ~np.isfinite(total)
        if empty.any():
            of_points = np.eye(len(self.classes_))[self._codes]
            with np.errstate(divide="ignore"):
                joint[empty] = np.log(self._fill(windows, X, empty, of_points, self.class_prior_, "class"))
            total[empty] = 0.0
        return joint - total[:, None]

    @where_the_data_lives
    def predict_proba(self, X: Rows) -> np.ndarray:
        """Return the posterior probabilities of the classes; one too small to be a number is the smallest there is.

        Parameters
        ----------
        X : collection of m objects
            The points.

        Returns
        -------
        array of shape (m, classes)
        """
        logs = self._log_posterior(X)
        return np.where(np.isneginf(logs), 0.0, np.maximum(np.exp(logs), np.finfo(np.float64).tiny))

    @where_the_data_lives
    def predict(self, X: Rows) -> np.ndarray:
        """Return the class of largest posterior probability, the first of them at a tie.

        Parameters
        ----------
        X : collection of m objects
            The points.

        Returns
        -------
        array of shape (m,)
        """
        chosen = self._log_posterior(X).argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    @property
    def expansions_(self) -> list[Expansion | None]:
        """The density of each class as a function, up to the integral of the window."""
        check_is_fitted(self)
        found: list[Expansion | None] = []
        for column in self._members.T:
            places = np.flatnonzero(column)
            coef = column[places] / column.sum() if len(places) else column[places]
            found.append(Expansion(self.kernel_, pick(self.X_fit_, places), coef) if len(places) else None)
        return found

    def _priors(self, mass: np.ndarray) -> np.ndarray:
        if self.priors is None:
            return np.asarray(mass / mass.sum())
        name, count = type(self).__name__, len(self.classes_)
        priors = np.asarray(self.priors, dtype=np.float64)
        valid = priors.shape == (count,) and np.isfinite(priors).all() and (priors >= 0).all()
        if not valid or not np.isclose(priors.sum(), 1.0):
            raise ValueError(
                f"{name}: priors must be {count} probabilities that add up to 1, one for each class of "
                f"{self.classes_.tolist()}; got {self.priors!r}"
            )
        return priors

    def _log_shares(self) -> np.ndarray:
        """Return log(π_c / Σ wᵢ), −inf for classes without a prior."""
        mass = self._members.sum(axis=0)
        with np.errstate(divide="ignore"):
            return np.log(np.divide(self.class_prior_, mass, out=np.zeros_like(mass), where=mass > 0))

    def _loss(self, left_out: LeaveOneOut, scale: float) -> float:
        """Return the mean squared error of the posterior at the points left out; empty windows give the priors."""
        logs, rows = left_out.log_window(scale), left_out.queries
        own = self._members[rows]
        with np.errstate(divide="ignore", invalid="ignore"):
            joint = np.stack([log_sum_exp(logs + np.log(column)) for column in self._members.T], axis=1)
            joint -= np.log(np.maximum(left_out.remaining(self._members), 0.0))
            joint = np.where(np.isnan(joint), -np.inf, joint) + np.log(self.class_prior_)
        posterior = softmax(joint)
        posterior = np.where(np.isnan(posterior), self.class_prior_, posterior)
        errors = ((posterior - (own > 0)) ** 2).sum(axis=1)
        return float(np.average(errors, weights=own.sum(axis=1)))


class ParzenRegressor(MultiOutputMixin, RegressorMixin, ParzenEstimator):  # type: ignore[misc]
    """Nadaraya–Watson regression: f(x) = Σᵢ wᵢ k(xᵢ, x) yᵢ / Σᵢ wᵢ k(xᵢ, x), the mean of the targets in a window.

    Parameters
    ----------
    kernel : str or Kernel, default="gaussian"
        The window, as for :class:`ParzenDensity`; it needs no integral.
    length_scale : float, sequence of floats, "loo" or None, default=None
        σ.  "loo" finds the one with the least squared error at points left out; None does so for a name, and leaves a
        mercer kernel as it is.
    memory : int or str, optional
        Budget in bytes, or a text such as "2GB"; 60 % of what is free if not given.
    random_state : int, RandomState or None, default=None
        The seed of the choice of points to leave out, where there are more than 2,048.
    device : str or torch.device, optional
        Where to sum up windows, such as "cuda"; tensors are summed up where they are, and everything else on the host,
        where the length scale is searched for in any case.

    Attributes
    ----------
    kernel_, length_scale_ : Kernel, float
        The window used and its σ.
    X_fit_ : data
        The points with a positive weight.
    loo_length_scales_, loo_losses_, n_loo_points_ : array, array, int
        If σ was searched for: what was tried, the squared error, and how many points were left out in turn.

    Notes
    -----
    Far from all points f is the limit of the formula, computed from the logarithms of the windows: with a Gaussian it
    tends to the target of the nearest point.  Points outside of all compact windows get the target of the nearest
    training point, with a warning; where a kernel is 0 without depending on a distance, the mean of all targets.
    In the search for σ points at the same place are left out together, as for :class:`ParzenClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.models.parzen import ParzenRegressor
    >>> X = np.linspace(0.0, 6.0, 60).reshape(-1, 1)
    >>> model = ParzenRegressor().fit(X, np.sin(X[:, 0]))
    >>> model.predict([[1.5], [1e9]]).round(2)
    array([ 1.  , -0.28])
    """

    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        length_scale: Any = None,
        memory: float | str | None = None,
        random_state: Any = None,
        device: Any = None,
    ) -> None:
        self.kernel = kernel
        self.length_scale = length_scale
        self.memory = memory
        self.random_state = random_state
        self.device = device

    @where_the_data_lives
    def fit(self, X: Rows, y: Any, sample_weight: Any = None) -> Self:
        """Keep the points, and find the length scale; a fit that fails or is interrupted changes nothing.

        Parameters
        ----------
        X : collection of n objects
            The points.
        y : array of shape (n,) or (n, targets)
            The targets.
        sample_weight : float or array of shape (n,), optional
            Weights that are not negative; a weight of 0 is as good as leaving the point out.
        """
        with all_or_nothing(self):
            kernel, search, X, weights, kept, total = self._points(X, sample_weight)
            targets = check_targets(self, y, total)
            self._single = targets.ndim == 1
            self._targets, self._weights = targets.reshape(total, -1)[kept], weights
            self._settle(kernel, search, X, self._loss)
        return self

    @where_the_data_lives
    def predict(self, X: Rows) -> np.ndarray:
        """Return the mean of the targets in the window around each point.

        Parameters
        ----------
        X : collection of m objects
            The points.

        Returns
        -------
        array of shape (m,) or (m, targets)
        """
        check_is_fitted(self)
        X = self._checked(X)
        windows = self._windows(X)
        values, empty = windows.averages(X, self._weights, self._targets)
        if empty.any():
            mean = np.average(self._targets, axis=0, weights=self._weights)
            values[empty] = self._fill(windows, X, empty, self._targets, mean, "target")
        return values[:, 0] if self._single else values

    def _loss(self, left_out: LeaveOneOut, scale: float) -> float:
        """Return the mean squared error at the points left out; empty windows give the mean of all targets."""
        shares = softmax(left_out.log_window(scale) + np.log(self._weights))
        reached = ~np.isnan(shares[:, :1])
        mean = np.average(self._targets, axis=0, weights=self._weights)
        predicted = np.where(reached, np.where(reached, shares, 0.0) @ self._targets, mean)
        errors = ((predicted - self._targets[left_out.queries]) ** 2).sum(axis=1)
        return float(np.average(errors, weights=self._weights[left_out.queries]))
