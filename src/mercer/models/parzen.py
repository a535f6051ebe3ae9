"""Classification and regression with Parzen windows."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MultiOutputMixin, RegressorMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from mercer.arrays.budget import parse_memory
from mercer.arrays.shapes import Axes, Inside
from mercer.arrays.tensors import host_array
from mercer.estimators.classifier import Classes
from mercer.estimators.engine import where_the_data_lives
from mercer.estimators.gathered import fit_gathered
from mercer.estimators.intervals.regressor import IntervalRegressor
from mercer.estimators.intervals.rows import TrainingRows
from mercer.estimators.kernel_argument import kernel_argument
from mercer.estimators.kernels import KernelLike
from mercer.estimators.sets.classifier import SetClassifier
from mercer.estimators.targets import check_labels, check_targets, check_weights
from mercer.estimators.transaction import all_or_nothing, check_kept
from mercer.expansion import Expansion
from mercer.features.params import SOMETIMES, KernelParams
from mercer.formula.data import Rows, length, pick
from mercer.kernels import Kernel
from mercer.messages import warn_caller
from mercer.solvers.plan import Plan
from mercer.solvers.windows.fits import ClassWindows, MeanWindows, Windows
from mercer.solvers.windows.shapes import resolve_window

LARGEST = 1e300  # of minus a logarithm that is compared with others: that of 0 cannot be


class WeightedPoints(NamedTuple):
    """Points with a positive weight, their weights, which of how many points they are, and the window for them."""

    kernel: Kernel
    search: bool  # whether its length scale is to be found
    points: Rows
    weights: np.ndarray
    kept: np.ndarray
    total: int


class ParzenEstimator(KernelParams, BaseEstimator):  # type: ignore[misc]
    """What the estimators with windows on weighted points share."""

    kernel_: Kernel
    length_scale_: Any
    X_fit_: Annotated[Rows, Axes("n …")]
    loo_length_scales_: Annotated[np.ndarray, SOMETIMES]
    loo_losses_: Annotated[np.ndarray, SOMETIMES]
    n_loo_points_: Annotated[int, SOMETIMES]
    plan_: Annotated[Plan, SOMETIMES]
    _windows: Annotated[Windows, Inside(n="n")]

    def __init__(
        self,
        kernel: KernelLike = "gaussian",
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

    def _check_points(self, X: Rows, sample_weight: Any) -> WeightedPoints:
        kernel, search = resolve_window(self, self.kernel, self.length_scale)
        X = kernel_argument(self, kernel).check(X, reset=True)
        n = length(X)
        weights = check_weights(self, sample_weight, n)
        weights = np.ones(n) if weights is None else weights
        kept = np.flatnonzero(weights)
        check_kept(kernel, X, int(kept[0]))
        return WeightedPoints(kernel, search, X if len(kept) == n else pick(X, kept), weights[kept], kept, n)

    def _fit_cluster(self, cluster: Any, X: Any, y: Any = None, sample_weight: Any = None) -> None:
        """Fit to rows in partitions, all of which come here."""
        from mercer.distributed.gathered import gather_rows

        window, _ = resolve_window(self, self.kernel, self.length_scale)
        fit_gathered(self, gather_rows(cluster, kernel_argument(self, window), X, y, sample_weight))

    def _keep(self, windows: Windows, search: bool) -> None:
        """Find the length scale if that is wanted, and keep the windows."""
        for name in ("loo_length_scales_", "loo_losses_", "n_loo_points_", "plan_"):
            self.__dict__.pop(name, None)
        if search:
            windows, found = windows.choose_scale(type(self).__name__, parse_memory(self.memory), self.random_state)
            self.loo_length_scales_, self.loo_losses_, self.n_loo_points_ = found.tried, found.losses, found.points
        self._windows, self.kernel_, self.X_fit_ = windows, windows.kernel, windows.points
        self.length_scale_ = windows.kernel.get_params(deep=False).get("length_scale")

    def _evaluate(self, X: Rows) -> np.ndarray:
        """Return what the windows say at points, as an array, wherever the points are."""
        check_is_fitted(self)
        argument = kernel_argument(self, self.kernel_)
        X = argument.new_points(X)
        values, message = self._windows.evaluate(X, argument.place(X, self.X_fit_))
        if message is not None:
            warn_caller(f"{type(self).__name__}: {message}")
        return values

    def __sklearn_tags__(self) -> Tags:
        return kernel_argument(self).describe(super().__sklearn_tags__())


class ParzenClassifier(SetClassifier, ClassifierMixin, ParzenEstimator):  # type: ignore[misc]
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

    classes_: Classes
    class_prior_: Annotated[np.ndarray, Axes("c")]
    _examples: Annotated[TrainingRows, SOMETIMES]
    _windows: Annotated[ClassWindows, Inside(n="n", c="c")]

    def __init__(
        self,
        kernel: KernelLike = "gaussian",
        *,
        length_scale: Any = None,
        priors: Any = None,
        memory: float | str | None = None,
        random_state: Any = None,
        device: Any = None,
    ) -> None:
        super().__init__(kernel, length_scale=length_scale, memory=memory, random_state=random_state, device=device)
        self.priors = priors

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
            self._fit(X, y, sample_weight)
        return self

    def _fit(self, X: Rows, y: Any, sample_weight: Any) -> None:
        data = self._check_points(X, sample_weight)
        labels = check_labels(self, y, data.total)
        self.classes_, codes = np.unique(labels[data.kept], return_inverse=True)
        priors = self._check_priors()
        self._keep(ClassWindows.sort(data.kernel, data.points, data.weights, codes, priors), data.search)
        self.class_prior_ = self._windows.priors
        self._remember(data.points, labels[data.kept], None if (data.weights == 1.0).all() else data.weights)

    def _class_values(self, X: Rows) -> np.ndarray:
        return np.maximum(host_array(self._evaluate(X)), -LARGEST)

    def _make_judge(self, codes: np.ndarray, weights: np.ndarray | None) -> ParzenClassifier:
        priors = None if self.priors is None else self.class_prior_[np.unique(codes)]
        return clone(self).set_params(priors=None if priors is None else priors / priors.sum())

    def _check_new(self, X: Rows) -> Rows:
        return kernel_argument(self, self.kernel_).check(X, reset=False)

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
        return self._evaluate(X)

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
        logs = self._evaluate(X)
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
        chosen = self._evaluate(X).argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    @property
    def expansions_(self) -> list[Expansion | None]:
        """The density of each class as a function, up to the integral of the window."""
        check_is_fitted(self)
        return self._windows.expansions

    def _check_priors(self) -> np.ndarray | None:
        if self.priors is None:
            return None
        count, priors = len(self.classes_), np.asarray(self.priors, dtype=np.float64)
        valid = priors.shape == (count,) and np.isfinite(priors).all() and (priors >= 0).all()
        if not valid or not np.isclose(priors.sum(), 1.0):
            raise ValueError(
                f"{type(self).__name__}: priors must be {count} probabilities that add up to 1, one for each class of "
                f"{self.classes_.tolist()}; got {self.priors!r}"
            )
        return priors


class ParzenRegressor(IntervalRegressor, MultiOutputMixin, RegressorMixin, ParzenEstimator):  # type: ignore[misc]
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

    _windows: Annotated[MeanWindows, Inside(n="n")]

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
            self._fit(X, y, sample_weight)
        return self

    def _fit(self, X: Rows, y: Any, sample_weight: Any) -> None:
        data = self._check_points(X, sample_weight)
        targets = check_targets(self, y, data.total)[data.kept]
        self._keep(MeanWindows(data.kernel, data.points, data.weights, targets), data.search)

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
        return self._evaluate(X)

    def _keep(self, windows: Windows, search: bool) -> None:
        self._forget()
        super()._keep(windows, search)

    def _training_rows(self) -> TrainingRows:
        windows, same = self._windows, bool((self._windows.weights == 1.0).all())
        return TrainingRows(self.X_fit_, windows.targets, None if same else windows.weights)

    def _check_new(self, X: Rows) -> Rows:
        return kernel_argument(self, self.kernel_).check(X, reset=False)
