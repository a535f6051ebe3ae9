"""Regression with any loss."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.utils import Tags

from mercer.estimators.engine import where_the_data_lives
from mercer.estimators.kernels import KernelLike
from mercer.estimators.loss_model import LossRegressor
from mercer.formula.data import Rows
from mercer.solvers.plan import Plan


class KernelRegressor(LossRegressor):
    """The representer theorem as a model: any convex loss, and any penalty that grows with the norm.

    f and b minimise Σᵢ wᵢ ℓ(yᵢ, f(xᵢ) + b) + α‖f‖², and f = Σ cᵢ k(xᵢ, ·).  With the squared loss this is
    :class:`~mercer.models.ridge.KernelRidge`, with ``EpsilonInsensitive(ε)`` and α = 1/(2C) it is
    :class:`~mercer.models.svr.SVR`; with ``Quantile(τ)`` quantile regression, with ``Huber(δ)`` robust regression, with
    ``Poisson()`` regression of counts.

    Parameters
    ----------
    loss : Loss or str, default="Squared"
        One of :mod:`mercer.losses`, or its text: "Huber(1.5)".  A loss of your own is
        ``CustomLoss(lambda y, f: ...)``.
    alpha : float, default=0.1
        The penalty α > 0.
    kernel : Kernel, str or callable, optional
        As for :class:`~mercer.models.ridge.KernelRidge`; if not given, the Gaussian with 2σ² = d·Var(X), which adapts
        to the scale and the number d of the features.
    fit_intercept : bool, default=True
        Whether to fit a constant b, which the penalty leaves alone.
    scaling : {"sum", "mean"}, default="sum"
        Whether losses are summed, as above, or averaged: (1/Σw) Σ wᵢ … + λ‖f‖² is the same with α = λΣw.
    penalty : "squared", callable or NormBound, default="squared"
        Ω: α‖f‖²; αΩ(‖f‖) for a function that grows, such as ``lambda r: r``; or ‖f‖ ≤ R for
        ``mercer.losses.NormBound(R)``.
    solver : {"auto", "newton", "newton-cg", "nystroem", "smo", "proximal"}, default="auto"
        Newton's method for losses without corners, from factors of the n × n matrix or by conjugate gradients; the dual
        of support vector machines for piecewise linear losses; Newton's method in rounds for other losses with corners;
        Nyström features for all.  ``plan_`` says which and why.
    n_centers : int, optional
        How many centres Nyström features have; "auto" uses them if this is given.
    tol : float, optional
        The duality gap to reach, relative to the objective; 1e-6, or 1e-3 for losses with corners, if not given.
    max_iter : int, optional
        The most steps; 100 of Newton's method, and as many as could be of use in the dual, if not given.
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
    loss_ : Loss
        The loss.
    expansion_ : Expansion
        The fitted function f + b; with several targets one output for each.
    kernel_ : Kernel
        The kernel used.
    plan_ : Plan
        The solver, the reason for it and the expected cost.
    dual_coef_ : array of shape (m,) or (m, targets)
        The coefficients of f at its centres: all points, or those that carry it.
    intercept_ : float or array of shape (targets,)
        b.
    objective_ : Objective
        The minimum found, in the sum form, with its parts ``loss`` and ``penalty``.
    duality_gap_ : DualityGap
        How far above the minimum over all functions of the kernel it may be at most, and the ``primal`` and ``dual``
        values it lies between.  The relative gap is divided by what the objective is above the least that its losses
        could be.  With Nyström centres this takes one product with the n × n matrix, and is NaN where that would be
        more work than the fit.
    restricted_gap_ : float
        The gap over the functions that were searched: those of the Nyström centres, or else all of them.
    converged_ : bool
        Whether that is as small as was asked.
    multiplier_ : float
        The μ for which μ‖f‖² has the same solution: α for the squared penalty, in the sum form.
    n_iter_ : int
        Newton steps, or steps of the dual.
    X_fit_ : data
        The training data (the Gram matrix if it was precomputed).
    n_features_in_, feature_names_in_ : int, array of str
        Number and names of the columns, if the data has columns and they have names.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.models.any_loss.regressor import KernelRegressor
    >>> X = np.linspace(0.0, 6.0, 60).reshape(-1, 1)
    >>> y = np.sin(X[:, 0])
    >>> y[::10] += 20.0  # outliers
    >>> model = KernelRegressor(loss="Huber(0.1)", alpha=0.01).fit(X, y)
    >>> bool(abs(model.predict([[1.5], [4.5]]) - np.sin([1.5, 4.5])).max() < 0.1), model.duality_gap_.relative <= 1e-6
    (True, True)
    """

    plan_: Plan

    def __init__(
        self,
        loss: Any = "Squared",
        alpha: float = 0.1,
        *,
        kernel: KernelLike | None = None,
        fit_intercept: bool = True,
        scaling: Literal["sum", "mean"] = "sum",
        penalty: Any = "squared",
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
        self.solver = solver
        self.n_centers = n_centers
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory
        self.random_state = random_state
        self.assume_psd = assume_psd
        self.device = device

    @where_the_data_lives
    def predict(self, X: Rows) -> np.ndarray:
        """Return what f(x) + b says about y, in the unit of y: for counts the rate, and not its logarithm.

        Parameters
        ----------
        X : collection of m objects
            The points; with a precomputed kernel its values between them and all training points, shape (m, n).

        Returns
        -------
        array of shape (m,) or (m, targets)
        """
        outputs = self._evaluate(X)
        return self.loss_.predict(outputs)

    def _fit_cluster(self, cluster: Any, X: Any, y: Any = None, sample_weight: Any = None) -> None:
        from mercer.distributed.any_loss import fit_targets

        fit_targets(self, cluster, X, y, sample_weight)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
