"""Classification with any loss."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils.metaestimators import available_if

from mercer.arrays import Array
from mercer.arrays.namespace import namespace
from mercer.estimators.classifier import ValueClassifier
from mercer.estimators.engine import where_the_data_lives
from mercer.estimators.gathered import fit_gathered
from mercer.estimators.loss_model import LossModel
from mercer.estimators.progress import report_progress
from mercer.estimators.transaction import all_or_nothing
from mercer.formula.data import Rows
from mercer.losses import Loss
from mercer.losses.text import as_loss
from mercer.solvers.newton.sums import weigh_loss
from mercer.solvers.plan import Plan
from mercer.solvers.representer.norm import PenalizedFit


def has_probabilities(model: KernelClassifier) -> bool:
    """Whether the best output of the loss says how likely a class is; raise a reason if not."""
    loss = as_loss(model.loss)
    if not hasattr(loss, "predict_proba"):
        raise AttributeError(
            f"{type(model).__name__}: {loss!r} says which class is more likely, and not how likely it is; use "
            "loss='Logistic', 'Softmax', 'SquaredHinge' or 'Exponential'"
        )
    return True


def count_outputs(loss: Loss, classes: int) -> int:
    """Return how many functions there are: one for two classes, unless they are judged together; else one each."""
    return classes if loss.joint or classes > 2 else 1


class KernelClassifier(CallbackSupportMixin, ValueClassifier, LossModel):  # type: ignore[misc]
    """The representer theorem as a classifier: any convex loss of margins, and any penalty that grows with the norm.

    For two classes, yᵢ = ±1, f and b minimise Σᵢ wᵢ ℓ(yᵢ, f(xᵢ) + b) + α‖f‖².  For more, each class has such a function
    against all others; with ``Softmax()`` all functions are fitted together.  With the hinge and α = 1/(2C) two classes
    are those of :class:`~mercer.models.svm.SVC`, with ``Logistic()`` and ``Softmax()`` it is
    :class:`~mercer.models.logistic.KernelLogisticRegression`.

    Parameters
    ----------
    loss : Loss or str, default="Logistic"
        ``Hinge()``, ``SquaredHinge()``, ``Logistic()``, ``Exponential()``, ``Softmax()``, a text such as
        "SquaredHinge", or ``CustomLoss(lambda y, f: ..., task="classification")`` of your own.
    alpha : float, default=0.1
        The penalty α > 0.
    kernel, fit_intercept, scaling, penalty
        As for :class:`~mercer.models.any_loss.regressor.KernelRegressor`.
    class_weight : dict or "balanced", optional
        Weights of the classes, or as if all classes had equally many points.
    solver, n_centers, tol, max_iter, memory, random_state, assume_psd, device
        As for :class:`~mercer.models.any_loss.regressor.KernelRegressor`.

    Attributes
    ----------
    classes_ : array
        The labels of points with a weight.
    loss_, expansion_, kernel_, plan_, objective_, duality_gap_, restricted_gap_, converged_, multiplier_, n_iter_
        As for :class:`~mercer.models.any_loss.regressor.KernelRegressor`.
    expansions_ : list of Expansion
        The functions, one by one.
    dual_coef_ : array of shape (m,) or (m, classes)
        The coefficients of f at its centres: all points, or those that carry it.
    intercept_ : float or array of shape (classes,)
        b.
    X_fit_, n_features_in_, feature_names_in_
        The training data, and number and names of its columns.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from mercer.models.any_loss.classifier import KernelClassifier
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = KernelClassifier(loss="SquaredHinge", alpha=0.1).fit(X, y)
    >>> model.score(X, y) > 0.95, model.duality_gap_.relative <= 1e-6
    (True, True)
    """

    plan_: Plan

    def __init__(
        self,
        loss: Any = "Logistic",
        alpha: float = 0.1,
        *,
        kernel: Any = None,
        fit_intercept: bool = True,
        scaling: Literal["sum", "mean"] = "sum",
        penalty: Any = "squared",
        class_weight: Any = None,
        solver: str = "auto",
        n_centers: int | None = None,
        tol: float | None = None,
        max_iter: int | None = None,
        memory: float | str | None = None,
        random_state: Any = None,
        assume_psd: bool = False,
        device: Any = None,
    ) -> None:
        self.loss = loss
        self.alpha = alpha
        self.kernel = kernel
        self.fit_intercept = fit_intercept
        self.scaling = scaling
        self.penalty = penalty
        self.class_weight = class_weight
        self.solver = solver
        self.n_centers = n_centers
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory
        self.random_state = random_state
        self.assume_psd = assume_psd
        self.device = device

    @with_callbacks  # type: ignore[untyped-decorator]
    @where_the_data_lives
    def fit(self, X: Rows, y: Any, sample_weight: Any = None) -> Self:
        """Fit to labelled points; a fit that fails or is interrupted changes nothing.

        Parameters
        ----------
        X : collection of n objects
            The training points, of whatever kind the kernel takes.
        y : array of shape (n,)
            Their labels, numbers or texts, of at least two classes.
        sample_weight : float or array of shape (n,), optional
            Weights that are not negative; a weight of 0 is as good as leaving the point out.
        """
        with report_progress(self, X, y), all_or_nothing(self):
            self._fit(X, y, sample_weight)
        return self

    @where_the_data_lives
    def decision_function(self, X: Rows) -> np.ndarray:
        """Return f(x) + b of the second of two classes, or of each of more; of two that are judged together, both less.

        Parameters
        ----------
        X : collection of m objects
            The points; with a precomputed kernel its values between them and all training points, shape (m, n).

        Returns
        -------
        array of shape (m,) or (m, classes)
        """
        values = self._evaluate(X)
        together = len(self.classes_) == 2 and self.loss_.joint
        return values[:, 1] - values[:, 0] if together else values

    @available_if(has_probabilities)  # type: ignore[untyped-decorator]
    @where_the_data_lives
    def predict_proba(self, X: Rows) -> np.ndarray:
        """Return the probabilities of all classes, in the order of ``classes_``, where the loss says such.

        Each of several functions says how likely its class is against all others; these numbers are divided by their
        sum.

        Parameters
        ----------
        X : collection of m objects
            The points.

        Returns
        -------
        array of shape (m, classes)
        """
        values = self._evaluate(X)
        outputs = values.reshape(len(values), -1)
        return predict_classes(self.loss_, outputs)

    @available_if(has_probabilities)  # type: ignore[untyped-decorator]
    @where_the_data_lives
    def predict_log_proba(self, X: Rows) -> np.ndarray:
        """Return the logarithms of the probabilities.

        Parameters
        ----------
        X : collection of m objects
            The points.

        Returns
        -------
        array of shape (m, classes)
        """
        values = self._evaluate(X)
        outputs = values.reshape(len(values), -1)
        if self.loss_.joint or outputs.shape[1] == 1:
            return self.loss_.predict_log_proba(outputs)  # type: ignore[attr-defined]
        p = predict_classes(self.loss_, outputs)
        with np.errstate(divide="ignore"):
            return namespace(p).log(p)

    def _fit(self, X: Rows, y: Any, sample_weight: Any) -> None:
        loss = self._read_loss("classification")
        data = self._check_labelled(X, y, sample_weight)
        summed = weigh_loss(loss, data.codes, data.weights, count_outputs(loss, len(data.classes)))
        fit = self._solve(self._resolve_kernel(self.kernel, data), data, summed)
        self._keep(fit, loss, data.classes, data.X, data.kept)

    def _keep(
        self, fit: PenalizedFit, loss: Loss, classes: np.ndarray, X: Rows, kept: np.ndarray | None = None
    ) -> None:
        self.loss_, self.classes_, self.multiplier_ = loss, classes, fit.multiplier
        self._keep_function(fit, X, kept, flat=count_outputs(loss, len(classes)) == 1)

    def _fit_cluster(self, cluster: Any, X: Any, y: Any = None, sample_weight: Any = None) -> None:
        """Fit to rows in partitions; all of them come here if the model keeps them all."""
        from mercer.distributed.any_loss import fit_labels
        from mercer.distributed.gathered import gather_rows

        loss = self._read_loss("classification")
        found = fit_labels(self, cluster, (X, y, sample_weight), lambda _: loss, self._scale_penalty, **self._options())
        if found is None:
            fit_gathered(self, gather_rows(cluster, self._kernel_argument(), X, y, sample_weight))
        else:
            self._keep(found.fit, loss, found.classes, found.fit.centers)


def predict_classes(loss: Any, outputs: Array) -> Array:
    """Return the probabilities of all classes, of shape (n, classes), from all outputs."""
    if loss.joint or outputs.shape[1] == 1:
        return loss.predict_proba(outputs)
    xp = namespace(outputs)
    p = xp.stack([loss.predict_proba(outputs[:, q : q + 1])[:, 1] for q in range(outputs.shape[1])], axis=1)
    total = xp.sum(p, axis=1)[:, None]
    return xp.where(total > 0, p / xp.where(total > 0, total, 1.0), 1.0 / p.shape[1])
