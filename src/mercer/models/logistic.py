"""Kernel logistic regression."""

from __future__ import annotations

from typing import Any, Literal

from mercer.estimators.kernels import KernelLike
from mercer.estimators.probability import LogisticClassifier
from mercer.solvers.plan import Plan


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

    def _fit_cluster(self, cluster: Any, X: Any, y: Any = None, sample_weight: Any = None) -> None:
        from mercer.distributed.any_loss import fit_labels

        fit_labels(self, cluster, X, y, sample_weight)
