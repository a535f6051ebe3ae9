"""Kernel logistic regression."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

import numpy as np
from sklearn.utils.multiclass import _check_partial_fit_first_call
from sklearn.utils.validation import check_is_fitted

from mercer.arrays.shapes import Axes
from mercer.estimators.classifier import Labelled
from mercer.estimators.engine import in_the_kind_given
from mercer.estimators.kernels import KernelLike
from mercer.estimators.online import check_limits, check_positions, read_stream
from mercer.estimators.probability import LogisticClassifier
from mercer.estimators.transaction import all_or_nothing
from mercer.features.params import SOMETIMES
from mercer.formula.data import Rows, concatenate, length, pick
from mercer.losses import Loss
from mercer.solvers.newton.prepared import LossFit
from mercer.solvers.plan import Plan
from mercer.solvers.representer.fit import fit_loss
from mercer.solvers.ridge.online import LIGHT


class KernelLogisticRegression(LogisticClassifier):
    """Logistic regression in the space of a kernel: probabilities of classes, with a penalty on the norm.

    For two classes, yᵢ = ±1, f and b minimise Σᵢ wᵢ ln(1 + exp(−yᵢ(f(xᵢ) + b))) + α‖f‖², and the probability of the
    second class is 1/(1 + exp(−f(x) − b)).  For more, one f_q and b_q for each class minimise −Σᵢ wᵢ ln p(yᵢ | xᵢ) + α
    Σ_q ‖f_q‖² together, with p the softmax of f_q(x) + b_q.  There is no ½ in front of the norm: with the linear kernel
    this is scikit-learn's ``LogisticRegression`` at C = 1/(2α).  It is ``KernelClassifier(loss="Logistic")`` for two
    classes, and ``KernelClassifier(loss="Softmax")`` for more.

    Parameters
    ----------
    alpha : float, default=0.1
        The penalty α > 0.
    kernel : Kernel, str or callable, optional
        As for :class:`~mercer.models.ridge.KernelRidge`; if not given, the Gaussian with 2σ² = d·Var(X), which adapts
        to the scale and the number d of the features.
    fit_intercept : bool, default=True
        Whether to fit constants b, which the penalty leaves alone.  Those of several classes sum to 0, as do the f_q.
    scaling : {"sum", "mean"}, default="sum"
        Whether losses are summed, as above, or averaged: (1/Σw) Σ wᵢ … + λ‖f‖² is the same with α = λΣw.
    class_weight : dict or "balanced", optional
        Weights of the classes, or as if all classes had equally many points.
    solver : {"auto", "newton", "newton-cg", "nystroem"}, default="auto"
        How a Newton step is computed: from factors of the n × n matrix, by conjugate gradients on products with it, or
        in Nyström features.  "auto" chooses by size and memory, and ``plan_`` says which and why.
    n_centers : int, optional
        How many centres Nyström features have; "auto" uses them if this is given.  At most 2,000 if not given.
    tol : float, default=1e-8
        The duality gap to reach, relative to the objective.
    max_iter : int, default=100
        The most Newton steps.
    memory : int or str, optional
        Budget in bytes, or a text such as "2GB"; 60 % of what is free if not given.
    random_state : int, RandomState or None, default=None
        The seed of centres and preconditioners.
    assume_psd : bool, default=False
        Whether to use a mercer kernel even if it is refuted, that is, not positive semi-definite.
    device : str or torch.device, optional
        Where to compute, such as "cuda"; tensors are computed with where they are, and everything else on the host.

    Attributes
    ----------
    classes_ : array
        The labels of points with a weight.
    expansion_ : Expansion
        The fitted functions: one output for two classes, otherwise one for each class.
    expansions_ : list of Expansion
        The same, one by one.
    kernel_ : Kernel
        The kernel used.
    plan_ : Plan
        The solver, the reason for it and the expected cost.
    dual_coef_ : array of shape (n,) or (n, classes)
        The coefficients c of f = Σ cᵢ k(xᵢ, ·), wᵢ(tᵢ − pᵢ)/2α at the minimum; with Nyström centres as many as those.
    intercept_ : float or array of shape (classes,)
        b.
    objective_ : float
        The minimum found, in the sum form.
    duality_gap_ : DualityGap
        How far above the minimum over all functions of the kernel it may be at most.  With Nyström centres this takes
        one product with the n × n matrix, and is NaN where that would be more work than the fit.
    restricted_gap_ : float
        How far above the minimum over the functions that were searched it may be at most: those of the Nyström centres,
        or else all of them, and then it is ``duality_gap_.absolute``.
    converged_ : bool
        Whether ``restricted_gap_`` is at most ``tol`` times ``objective_``.
    n_iter_ : int
        Newton steps.
    X_fit_ : data
        The training data (the Gram matrix if it was precomputed).
    n_features_in_, feature_names_in_ : int, array of str
        Number and names of the columns, if the data has columns and they have names.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from mercer.models.logistic import KernelLogisticRegression
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = KernelLogisticRegression().fit(X, y)
    >>> model.predict_proba([[0.0, 1.0], [0.5, 0.25], [1.0, -0.5]]).round(2)
    array([[0.95, 0.05],
           [0.58, 0.42],
           [0.05, 0.95]])
    >>> model.converged_, model.duality_gap_.relative <= 1e-8
    (True, True)
    """

    plan_: Plan
    X_fit_: Annotated[Rows, Axes("n …")]
    # What more points are added to; a cluster keeps its own.
    _codes: Annotated[np.ndarray, Axes("n", below="c"), SOMETIMES]
    _weights: Annotated[np.ndarray, Axes("n"), SOMETIMES]

    def __init__(
        self,
        alpha: float = 0.1,
        *,
        kernel: KernelLike | None = None,
        fit_intercept: bool = True,
        scaling: Literal["sum", "mean"] = "sum",
        class_weight: Any = None,
        solver: str = "auto",
        n_centers: int | None = None,
        tol: float = 1e-8,
        max_iter: int = 100,
        memory: float | str | None = None,
        random_state: Any = None,
        assume_psd: bool = False,
        device: Any = None,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.fit_intercept = fit_intercept
        self.scaling = scaling
        self.class_weight = class_weight
        self.solver = solver
        self.n_centers = n_centers
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory
        self.random_state = random_state
        self.assume_psd = assume_psd
        self.device = device

    @in_the_kind_given
    def partial_fit(
        self,
        X: Rows,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        window: int | None = None,
        forgetting: float | None = None,
    ) -> Self:
        """Go on with more points: the model is that of a fit to all points it has then, to the duality gap ``tol``.

        Newton's method starts from the function there is, and takes fewer steps than from nothing; but a step costs
        what it costs in a fit.  The kernel is that of the first call, or of the fit before.  A call that fails or is
        interrupted changes nothing.

        Parameters
        ----------
        X : collection of m objects
            The points, new ones even if they have been seen before.
        y : array of shape (m,)
            Their labels.
        classes : array, optional
            All labels that will ever come; the first call needs it.  With an intercept there must be points of each.
        sample_weight : float or array of shape (m,), optional
            Weights that are not negative; points of weight 0 are left out.
        window : int, optional
            How many points stay: the oldest leave.
        forgetting : float, optional
            What the weights of earlier points are multiplied with in this call, such as 0.99.

        Examples
        --------
        >>> from sklearn.datasets import make_moons
        >>> from mercer.models.logistic import KernelLogisticRegression
        >>> X, y = make_moons(200, noise=0.2, random_state=0)
        >>> model = KernelLogisticRegression().partial_fit(X[:190], y[:190], classes=[0, 1])
        >>> model.n_iter_, model.partial_fit(X[190:], y[190:]).n_iter_, len(model.X_fit_)
        (5, 2, 200)
        """
        limits = check_limits(self, window, None, forgetting)
        with all_or_nothing(self):
            points = read_stream(self, X, ("newton", "newton-cg"))
            before = self._recall("partial_fit") if hasattr(self, "expansion_") else None
            _check_partial_fit_first_call(self, classes)
            new = self._check_labelled(points, y, sample_weight, self.classes_, reset=before is None)
            X, codes, weights = new.points, new.codes, new.weights
            if before is None:
                self.kernel_ = self._resolve_kernel(self.kernel, new)
                coef = np.zeros((length(X), 1))
            else:
                data, coef = before
                X, codes = concatenate(data.points, X), np.concatenate([data.codes, codes])
                weights = np.concatenate([data.weights * (limits["forgetting"] or 1.0), weights])
                coef = np.concatenate([coef, np.zeros((length(new.points), coef.shape[1]))])
            # Weights that have faded away are none, and the oldest points leave first.
            stay = np.flatnonzero(weights >= LIGHT * weights.max())[-(limits["window"] or len(weights)) :]
            self._go_on(X, codes, weights, coef, None if len(stay) == len(weights) else stay, anew=before is None)
        return self

    def forget(self, positions: Any) -> Self:
        """Let points go: the model is that of a fit to the others, to the duality gap ``tol``.

        Parameters
        ----------
        positions : int or int array
            Which points of ``X_fit_``; negative numbers count from the end.
        """
        check_is_fitted(self)
        with all_or_nothing(self):
            read_stream(self, None, ("newton", "newton-cg"))
            data, coef = self._recall("forget")
            gone = check_positions(self, positions, length(self.X_fit_), data.kept)
            stay = np.delete(np.arange(len(data.codes)), gone)
            self._go_on(data.points, data.codes, data.weights, coef, stay)
        return self

    def _recall(self, method: str) -> tuple[Labelled, np.ndarray]:
        """Return the points of the last fit that have a weight, and their coefficients, zeros if those are of centres.

        Raise if the points stayed on a cluster.
        """
        if "_codes" not in self.__dict__:
            raise ValueError(
                f"{type(self).__name__}.{method} needs the labels of the training points, which stayed on the cluster "
                "this model was fitted on; fit to X.compute() if that fits into memory"
            )
        kept = np.flatnonzero(self._weights)
        points = self.X_fit_ if len(kept) == len(self._weights) else pick(self.X_fit_, kept)
        data = Labelled(self.X_fit_, points, kept, self.classes_, self._codes[kept], self._weights[kept])
        coef = self.dual_coef_.reshape(len(self.dual_coef_), -1)
        known = len(coef) == len(self._weights)
        return data, coef[kept] if known else np.zeros((len(kept), coef.shape[1]))

    def _go_on(
        self,
        X: Rows,
        codes: np.ndarray,
        weights: np.ndarray,
        coef: np.ndarray,
        stay: np.ndarray | None = None,
        *,
        anew: bool = False,
    ) -> None:
        """Fit to some of the points, from where their coefficients are."""
        if stay is not None:
            X, codes, weights, coef = pick(X, stay), codes[stay], weights[stay], coef[stay]
        missing = np.setdiff1d(np.arange(len(self.classes_)), codes)
        if len(missing) and self.fit_intercept:
            raise ValueError(
                f"{type(self).__name__}: there is no point of the class {self.classes_[missing].tolist()[0]!r}, whose "
                "intercept would have to be −∞; give points of every class from the first call on, keep more of them, "
                "or use fit_intercept=False"
            )
        options = self._options()
        data = Labelled(X, X, np.arange(len(codes)), self.classes_, codes, weights)
        loss = self._weigh(data)
        alpha = self._scale_penalty(float(weights.sum()))
        start = None if anew else (coef, np.atleast_1d(np.asarray(self.intercept_, dtype=np.float64)))
        fit = fit_loss(self._pose(self.kernel_, data, loss), loss, alpha, start=start, **options)
        self._keep(fit, loss.loss, data)

    def _keep(self, fit: LossFit, loss: Loss, data: Any) -> None:
        super()._keep(fit, loss, data)
        for name in ("_codes", "_weights"):
            self.__dict__.pop(name, None)
        if isinstance(data, Labelled):
            self._codes, self._weights = np.zeros(length(data.X), dtype=np.int64), np.zeros(length(data.X))
            self._codes[data.kept], self._weights[data.kept] = data.codes, data.weights

    def _fit_cluster(self, cluster: Any, X: Any, y: Any = None, sample_weight: Any = None) -> None:
        from mercer.distributed.any_loss import fit_labels

        fit_labels(self, cluster, X, y, sample_weight)
