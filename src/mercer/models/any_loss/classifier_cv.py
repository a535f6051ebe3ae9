"""Classification with any loss that chooses its penalty and its length scale."""

from __future__ import annotations

from typing import Any

from mercer.estimators.kernels import KernelLike
from mercer.estimators.loss_model import LossClassifier
from mercer.estimators.penalized import OnStep, go_on
from mercer.estimators.penalty_search import PenaltySearch
from mercer.formula.data import Rows
from mercer.solvers.plan import Plan

from .classifier import KernelClassifier


class KernelClassifierCV(PenaltySearch, LossClassifier):
    """Classification with any loss, with the penalty and the length scale of least loss on points left out.

    Points are left out one at a time without refitting: one Newton step from the fit of all points gives the outputs of
    the fit without each; for squares that is exact.  It is used for losses without corners, up to 1,500 points times
    functions, and verified at the best penalty by real refits without the ten points that it says change most: if their
    losses are off by more than a tenth in all, or if there are more points, or ``cv`` says so, k folds are used
    instead.  Fits follow the penalties downwards, each from the last.

    Parameters
    ----------
    loss : Loss or str, default="Logistic"
        As for :class:`~mercer.models.any_loss.classifier.KernelClassifier`.
    alphas : sequence of floats, optional
        Positive penalties to choose from; if not given, 15 from 1e-6 to 10, or 11 from 1e-4 for losses with corners,
        times the mean of k(x, x) and a typical curvature of the loss, whatever the unit of targets.
    kernel : Kernel, str, callable or sequence of Kernels, optional
        As for :class:`~mercer.models.any_loss.classifier.KernelClassifier`, or several kernels to choose from.
    length_scales : sequence, optional
        Length scales to try, in every place of the kernel that has one.  If not given, a kernel that was given keeps
        its own, and the default Gaussian is tried with ¼, ½, 1 and 2 times its own.
    cv : int, splitter or iterable, optional
        Folds to choose by; if not given, points are left out one at a time where that is accurate, else five folds.
    fit_intercept : bool, default=True
        Whether to fit constants, which the penalty leaves alone.
    class_weight : dict or "balanced", optional
        Weights of the classes, in the fits and in the loss.
    solver, n_centers, tol, max_iter : optional
        Of the last fit, as for :class:`~mercer.models.any_loss.classifier.KernelClassifier`.
    memory : int or str, optional
        Budget in bytes, or a text such as "2GB"; 60 % of what is free if not given.
    random_state : int, RandomState or None, default=None
        The seed of the sample that penalties are chosen on when there are more than 5,000 points, and of solvers.
    assume_psd : bool, default=False
        Whether to use mercer kernels even if they are refuted.
    device : str or torch.device, optional
        Where to compute, such as "cuda"; tensors are computed with where they are, and everything else on the host.

    Attributes
    ----------
    alpha_ : float
        The penalty chosen.
    kernel_ : Kernel
        The kernel chosen, with its length scale.
    best_score_ : float
        Minus the mean loss that they reached on points left out.
    path_ : dict
        ``"alphas"`` (p,); ``"kernels"``, the m kernels compared; ``"length_scales"`` of each (None where there is
        none); ``"losses"`` (m, p); and ``"by"``, "leave-one-out" or "folds".
    classifier_ : KernelClassifier
        The model fitted to all points with ``alpha_`` and ``kernel_``.
    classes_, loss_, expansion_, expansions_, plan_, dual_coef_, intercept_, objective_, duality_gap_, n_iter_
        As in that model.
    restricted_gap_, converged_, multiplier_
        As in that model.
    X_fit_, n_features_in_, feature_names_in_
        The training data, and number and names of its columns.

    Notes
    -----
    Each kernel of the path is a task for ``sklearn.callback``, such as its ProgressBar.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from mercer.models.any_loss.classifier_cv import KernelClassifierCV
    >>> X, y = make_moons(150, noise=0.25, random_state=0)
    >>> model = KernelClassifierCV(loss="SquaredHinge").fit(X, y)
    >>> model.path_["losses"].shape, model.score(X, y) > 0.9
    ((4, 15), True)
    """

    classifier_: KernelClassifier
    plan_: Plan

    def __init__(
        self,
        loss: Any = "Logistic",
        alphas: Any = None,
        kernel: KernelLike | None = None,
        length_scales: Any = None,
        cv: Any = None,
        fit_intercept: bool = True,
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
        self.alphas = alphas
        self.kernel = kernel
        self.length_scales = length_scales
        self.cv = cv
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.solver = solver
        self.n_centers = n_centers
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory
        self.random_state = random_state
        self.assume_psd = assume_psd
        self.device = device

    def _fit(self, X: Rows, y: Any, sample_weight: Any, on_step: OnStep = go_on) -> None:
        self.classifier_ = self._fit_best(KernelClassifier, X, y, sample_weight, on_step)

    def _find_judge(self) -> KernelClassifier:
        return self.classifier_
