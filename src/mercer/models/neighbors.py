"""Nearest neighbours in the feature space of a kernel."""

from __future__ import annotations

import numbers
from typing import Annotated, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MultiOutputMixin, RegressorMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from mercer.arrays.shapes import Axes, Inside, Number
from mercer.estimators.engine import where_the_data_lives
from mercer.estimators.gathered import fit_gathered
from mercer.estimators.intervals.regressor import IntervalRegressor
from mercer.estimators.intervals.rows import TrainingRows
from mercer.estimators.kernel_argument import KernelArgument, kernel_argument
from mercer.estimators.kernels import KernelLike
from mercer.estimators.sets.classifier import SetClassifier
from mercer.estimators.targets import check_labels, check_targets
from mercer.estimators.transaction import all_or_nothing, check_kept
from mercer.features.params import SOMETIMES, KernelParams
from mercer.formula.data import Rows, length
from mercer.kernels import Kernel
from mercer.solvers.neighbors.votes import Neighbors, Weights
from mercer.solvers.plan import Plan


class _KernelNeighbors(KernelParams, BaseEstimator):  # type: ignore[misc]
    """What both estimators share: the points, and the search among them."""

    kernel_: Kernel
    X_fit_: Annotated[Rows, Axes("n …")]
    n_samples_fit_: Annotated[int, Number("n")]
    plan_: Annotated[Plan, SOMETIMES]
    _neighbors: Annotated[Neighbors, Inside(n="n")]

    def __init__(
        self,
        n_neighbors: int = 1,
        *,
        kernel: KernelLike = "linear",
        weights: Weights = "uniform",
        memory: float | str | None = None,
        device: Any = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.kernel = kernel
        self.weights = weights
        self.memory = memory
        self.device = device

    @where_the_data_lives
    def fit(self, X: Rows, y: Any) -> Self:
        """Keep the points; a fit that fails changes nothing.

        Parameters
        ----------
        X : collection of n objects
            The training points, of whatever kind the kernel takes.
        y : array of shape (n,) or (n, outputs)
            Their labels or targets.
        """
        with all_or_nothing(self):
            self._fit(X, y)
        return self

    def _fit_cluster(self, cluster: Any, X: Any, y: Any = None) -> None:
        """Fit to rows in partitions, all of which come here."""
        from mercer.distributed.gathered import gather_rows

        fit_gathered(self, gather_rows(cluster, kernel_argument(self), X, y, None))

    def _fit(self, X: Rows, y: Any, sample_weight: None = None) -> None:
        argument = self._check_parameters()
        X = argument.check(X, reset=True)
        kernel = argument.resolve(X, assume_psd=True)
        values = self._check_y(y, length(X))
        check_kept(kernel, X)
        self._keep(Neighbors(kernel, X, values))

    def _keep(self, neighbors: Neighbors) -> None:
        self._neighbors = neighbors
        self.__dict__.pop("plan_", None)  # of an earlier fit on a cluster
        self.kernel_, self.X_fit_, self.n_samples_fit_ = neighbors.kernel, neighbors.points, length(neighbors.points)

    @where_the_data_lives
    def kneighbors(
        self, X: Rows | None = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> tuple[np.ndarray, np.ndarray] | np.ndarray:
        """Return the nearest training points, nearest first.

        Parameters
        ----------
        X : collection of m objects, optional
            The queries; without them those are the training points, and no point is its own neighbour.
        n_neighbors : int, optional
            How many; as many as the estimator has been told if not given.
        return_distance : bool, default=True
            Whether to return distances too.

        Returns
        -------
        distances : array of shape (m, n_neighbors)
            √(k(x, x) + k(z, z) − 2k(x, z)), if asked for.
        indices : array of shape (m, n_neighbors)
            Positions among the training points; at equal distance the smaller position comes first.
        """
        found = self._nearest(X, n_neighbors)
        return found if return_distance else found[1]

    def _nearest(self, X: Rows | None, n_neighbors: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return distances and indices as arrays, wherever they were found."""
        check_is_fitted(self)
        argument = kernel_argument(self)
        points = None if X is None else argument.new_points(X)
        wanted = self.n_neighbors if n_neighbors is None else n_neighbors
        k = _check_count(self, wanted, self.n_samples_fit_ - int(X is None))
        return self._neighbors.find(points, k, argument.place(points, self.X_fit_))

    def _check_y(self, y: Any, n: int) -> np.ndarray:
        """Return what belongs to the points, checked."""
        raise NotImplementedError

    def _check_parameters(self) -> KernelArgument:
        _check_count(self, self.n_neighbors, None)
        if not callable(self.weights) and self.weights not in ("uniform", "distance"):
            raise ValueError(
                f"{type(self).__name__}: weights must be 'uniform', 'distance' or a function of distances, got "
                f"{self.weights!r}"
            )
        argument = kernel_argument(self)
        if argument.is_matrix:
            raise ValueError(
                f"{type(self).__name__}: kernel='precomputed' is not possible, because distances need k(x, x) of new "
                "points; give a kernel, for example mercer.kernels.Precomputed(K) with positions as points"
            )
        return argument

    def __sklearn_tags__(self) -> Tags:
        return kernel_argument(self).describe(super().__sklearn_tags__())


class KernelNeighborsClassifier(SetClassifier, ClassifierMixin, _KernelNeighbors):  # type: ignore[misc]
    """Classification by a vote of the nearest neighbours in the feature space of a kernel.

    The distance of features needs nothing but the kernel: ‖φ(x) − φ(z)‖² = k(x, x) + k(z, z) − 2k(x, z).  With the
    linear kernel this is scikit-learn's ``KNeighborsClassifier``; every decreasing function of ‖x − z‖, such as the
    Gaussian, gives the same neighbours as the linear kernel, and different distances.

    Parameters
    ----------
    n_neighbors : int, default=1
        How many neighbours vote.
    kernel : Kernel, str or callable, default="linear"
        A mercer kernel, on any objects; a name of ``sklearn.metrics.pairwise``; or a function of two rows.
    weights : {"uniform", "distance"} or callable, default="uniform"
        Whether all votes count the same or by one over the distance (neighbours at distance 0 then decide alone); or a
        function from an array of distances to an array of weights.
    memory : int or str, optional
        Budget in bytes, or a text such as "2GB"; 60 % of what is free if not given.
    device : str or torch.device, optional
        Where to compute, such as "cuda"; tensors are computed with where they are, and everything else on the host.

    Attributes
    ----------
    classes_ : array, or list of arrays
        The labels, of each output.
    kernel_ : Kernel
        The kernel used.
    X_fit_ : data
        The training points.
    n_samples_fit_ : int
        How many they are.
    outputs_2d_ : bool
        Whether there is more than one output.

    Notes
    -----
    Points at equal distance count in the order of their positions, and a tied vote goes to the first of the classes,
    so that results are reproducible and do not depend on the memory budget.

    Examples
    --------
    >>> from mercer.kernels import Custom
    >>> from mercer.models.neighbors import KernelNeighborsClassifier
    >>> letters = Custom(lambda a, b: float(len(set(a) & set(b))))
    >>> model = KernelNeighborsClassifier(kernel=letters).fit(["kernel", "eigen", "dog"], ["maths", "maths", "pet"])
    >>> model.predict(["keel", "god"])
    array(['maths', 'pet'], dtype='<U5')
    """

    classes_: np.ndarray | list[np.ndarray]
    outputs_2d_: bool
    _examples: Annotated[TrainingRows, SOMETIMES]

    def _check_fitted(self) -> None:
        """Raise if the classes of neighbours are none of the labels; files call this."""
        labels, values = self.classes_ if self.outputs_2d_ else [self.classes_], self._neighbors.values
        right = values.shape[1:] == (len(labels),) and values.dtype == np.int64 and isinstance(labels, list)
        right = right and all(isinstance(each, np.ndarray) and each.ndim == 1 for each in labels)
        if not right or any(not 0 <= v.min() <= v.max() < len(c) for v, c in zip(values.T, labels, strict=True)):
            raise ValueError("the classes of neighbours are no positions among the labels")

    @where_the_data_lives
    def predict(self, X: Rows) -> np.ndarray:
        """Return the class with most votes for each point.

        Parameters
        ----------
        X : collection of m objects
            The points.

        Returns
        -------
        array of shape (m,) or (m, outputs)
        """
        shares = self._shares(X)
        if not self.outputs_2d_:
            return np.asarray(self.classes_[np.argmax(shares[0], axis=1)])
        chosen = [labels[np.argmax(part, axis=1)] for labels, part in zip(self.classes_, shares, strict=True)]
        return np.stack(chosen, axis=1)

    @where_the_data_lives
    def predict_proba(self, X: Rows) -> Any:
        """Return the share of the votes for each class.

        Parameters
        ----------
        X : collection of m objects
            The points.

        Returns
        -------
        array of shape (m, classes), or a list of them, one for each output
        """
        shares = self._shares(X)
        return shares if self.outputs_2d_ else shares[0]

    def _fit(self, X: Rows, y: Any, sample_weight: None = None) -> None:
        super()._fit(X, y, sample_weight)
        self._remember(self.X_fit_, y)

    def _find_judge(self) -> KernelNeighborsClassifier:
        if self.outputs_2d_:
            raise ValueError(
                f"{type(self).__name__}.predict_set works for one output, but the model has {len(self.classes_)}; fit "
                "one model for each"
            )
        return self

    def _class_values(self, X: Rows) -> np.ndarray:
        return self._shares(X)[0]

    def _make_judge(self, codes: np.ndarray, weights: np.ndarray | None) -> KernelNeighborsClassifier:
        return clone(self).set_params(n_neighbors=min(self.n_neighbors, len(codes)))

    def _check_new(self, X: Rows) -> Rows:
        return kernel_argument(self).check(X, reset=False)

    def _shares(self, X: Rows) -> list[np.ndarray]:
        """Return the shares of each output as arrays."""
        found = self._nearest(X)
        counts = [len(labels) for labels in (self.classes_ if self.outputs_2d_ else [self.classes_])]
        return self._neighbors.share_votes(found, self.weights, counts, type(self).__name__)

    def _check_y(self, y: Any, n: int) -> np.ndarray:
        labels = check_labels(self, y, n, several=True)
        self.outputs_2d_ = labels.ndim == 2
        found = [np.unique(column, return_inverse=True) for column in labels.reshape(n, -1).T]
        self.classes_ = [classes for classes, _ in found] if self.outputs_2d_ else found[0][0]
        return np.stack([codes for _, codes in found], axis=1)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        return tags


class KernelNeighborsRegressor(IntervalRegressor, MultiOutputMixin, RegressorMixin, _KernelNeighbors):  # type: ignore[misc]
    """Regression by the mean of the nearest neighbours in the feature space of a kernel.

    Distances are ‖φ(x) − φ(z)‖ with ‖φ(x) − φ(z)‖² = k(x, x) + k(z, z) − 2k(x, z); see
    :class:`KernelNeighborsClassifier`.

    Parameters
    ----------
    n_neighbors : int, default=1
        Over how many neighbours the mean goes.
    kernel : Kernel, str or callable, default="linear"
        A mercer kernel, on any objects; a name of ``sklearn.metrics.pairwise``; or a function of two rows.
    weights : {"uniform", "distance"} or callable, default="uniform"
        Weights of the mean, as for the classifier.
    memory : int or str, optional
        Budget in bytes, or a text such as "2GB"; 60 % of what is free if not given.
    device : str or torch.device, optional
        Where to compute, such as "cuda"; tensors are computed with where they are, and everything else on the host.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel used.
    X_fit_ : data
        The training points.
    n_samples_fit_ : int
        How many they are.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> from mercer.models.neighbors import KernelNeighborsRegressor
    >>> model = KernelNeighborsRegressor(2, kernel=Gaussian()).fit([[0.0], [1.0], [4.0]], [0.0, 2.0, 9.0])
    >>> model.predict([[0.4], [100.0]])
    array([1. , 5.5])
    >>> model.kneighbors([[0.4]], 1)[1]
    array([[0]])
    """

    @where_the_data_lives
    def predict(self, X: Rows) -> np.ndarray:
        """Return the mean of the neighbours' targets.

        Parameters
        ----------
        X : collection of m objects
            The points.

        Returns
        -------
        array of shape (m,) or (m, outputs)
        """
        found = self._nearest(X)
        return self._neighbors.average(found, self.weights, type(self).__name__)

    def _check_y(self, y: Any, n: int) -> np.ndarray:
        return check_targets(self, y, n)

    def _keep(self, neighbors: Neighbors) -> None:
        self._forget()
        super()._keep(neighbors)

    def _training_rows(self) -> TrainingRows:
        return TrainingRows(self.X_fit_, self._neighbors.values)

    def _check_new(self, X: Rows) -> Rows:
        return kernel_argument(self).check(X, reset=False)


def _check_count(owner: object, count: Any, available: int | None) -> int:
    """Return a number of neighbours, at most as many as there are points to choose from."""
    name = type(owner).__name__
    if isinstance(count, bool) or not isinstance(count, numbers.Integral):
        raise TypeError(f"{name}: n_neighbors must be a whole number, got {count!r}")
    count = int(count)
    if count < 1:
        raise ValueError(f"{name}: n_neighbors must be at least 1, got {count}")
    if available is not None and count > available:
        raise ValueError(
            f"{name}: Expected n_neighbors <= n_samples_fit, but n_neighbors = {count} and there are {available} "
            "points to choose from; ask for fewer neighbours or give more points"
        )
    return count
