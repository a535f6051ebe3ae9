"""Classification with any loss."""

from __future__ import annotations

from typing import Any, Literal

from mercer.estimators.kernels import KernelLike
from mercer.estimators.loss_model import LossClassifier
from mercer.solvers.plan import Plan


class KernelClassifier(LossClassifier):
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
        kernel: KernelLike | None = None,
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

    def _fit_cluster(self, cluster: Any, X: Any, y: Any = None, sample_weight: Any = None) -> None:
        from mercer.distributed.any_loss import fit_labels

        fit_labels(self, cluster, X, y, sample_weight)
