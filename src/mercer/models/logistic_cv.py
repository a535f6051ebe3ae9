"""Kernel logistic regression that chooses its penalty and its length scale."""

from __future__ import annotations

import numbers
from typing import Any, Self

import numpy as np
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state

from mercer.arrays.tensors import host_array
from mercer.estimators.classifier import Labelled
from mercer.estimators.engine import where_the_data_lives
from mercer.estimators.probability import ProbabilityClassifier
from mercer.estimators.progress import fit_task, reporter
from mercer.estimators.targets import check_alphas, check_positive, check_whole
from mercer.estimators.transaction import all_or_nothing
from mercer.formula.data import Rows, length
from mercer.kernels import Kernel
from mercer.learning.folds import folds_among
from mercer.learning.length_scales import length_scale_of, with_length_scale
from mercer.solvers.newton.scores import sample_path, score_path
from mercer.solvers.plan import Plan

from .logistic import KernelLogisticRegression

GRID = np.logspace(-4, 2, 13)  # times the mean of k(x, x)
SCALES = (0.25, 0.5, 1.0, 2.0)  # of the Gaussian that KernelLogisticRegression takes by itself
FOLDS = 5


class KernelLogisticRegressionCV(CallbackSupportMixin, ProbabilityClassifier):  # type: ignore[misc]
    """Kernel logistic regression with the penalty and the length scale of least log-loss on points left out.

    Points are left out one at a time without refitting: one Newton step from the fit of all points gives the outputs of
    the fit without each.  That is used up to 1,500 points times functions, and verified at the best penalty by real
    refits without the ten points that it says change most: if their log-losses are off by more than a tenth in all, or
    if there are more points, or ``cv`` says so, k folds are used instead.  Fits follow the penalties downwards, each
    from the last.

    Parameters
    ----------
    alphas : sequence of floats, optional
        Positive penalties to choose from; 13 from 1e-4 to 1e2 times the mean of k(x, x) if not given.
    kernel : Kernel, str, callable or sequence of Kernels, optional
        As for :class:`~mercer.models.logistic.KernelLogisticRegression`, or several kernels to choose from.
    length_scales : sequence, optional
        Length scales to try, in every place of the kernel that has one.  If not given, a kernel that was given keeps
        its own, and the default Gaussian is tried with ¼, ½, 1 and 2 times its own.
    cv : int, splitter or iterable, optional
        Folds to choose by; if not given, points are left out one at a time where that is accurate, else five folds.
    fit_intercept : bool, default=True
        Whether to fit constants, which the penalty leaves alone.
    class_weight : dict or "balanced", optional
        Weights of the classes, in the fits and in the log-loss.
    solver, n_centers : optional
        Of the last fit, as for :class:`~mercer.models.logistic.KernelLogisticRegression`.
    tol : float, default=1e-8
        The duality gap of the last fit, relative to the objective.
    max_iter : int, default=100
        The most Newton steps of a fit.
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
        Minus the mean log-loss that they reached on points left out.
    path_ : dict
        ``"alphas"`` (p,); ``"kernels"``, the m kernels compared; ``"length_scales"`` of each (None where there is
        none); ``"log_losses"`` (m, p); and ``"by"``, "leave-one-out" or "folds".
    logistic_ : KernelLogisticRegression
        The model fitted to all points with ``alpha_`` and ``kernel_``.
    classes_, expansion_, expansions_, plan_, dual_coef_, intercept_, objective_, n_iter_
        As in that model.
    duality_gap_, restricted_gap_, converged_
        As in that model.
    X_fit_, n_features_in_, feature_names_in_
        The training data, and number and names of its columns.

    Notes
    -----
    Each kernel of the path is a task for ``sklearn.callback``, such as its ProgressBar.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from mercer.models.logistic_cv import KernelLogisticRegressionCV
    >>> X, y = make_moons(150, noise=0.25, random_state=0)
    >>> model = KernelLogisticRegressionCV().fit(X, y)
    >>> model.path_["by"], model.path_["log_losses"].shape, model.best_score_ > -0.3
    ('leave-one-out', (4, 13), True)
    """

    scaling = "sum"  # of the penalties tried

    alpha_: float
    best_score_: float
    path_: dict[str, Any]
    logistic_: KernelLogisticRegression
    plan_: Plan

    def __init__(
        self,
        alphas: Any = None,
        kernel: Any = None,
        length_scales: Any = None,
        cv: Any = None,
        fit_intercept: bool = True,
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

    @with_callbacks  # type: ignore[untyped-decorator]
    @where_the_data_lives
    def fit(self, X: Rows, y: Any, sample_weight: Any = None) -> Self:
        """Choose penalty and kernel, and fit; a fit that fails or is interrupted changes nothing.

        Parameters
        ----------
        X : collection of n objects
            The training points, of whatever kind the kernels take.
        y : array of shape (n,)
            Their labels, numbers or texts, of at least two classes.
        sample_weight : float or array of shape (n,), optional
            Weights that are not negative; a weight of 0 is as good as leaving the point out.
        """
        with fit_task(self, X, y) as context, all_or_nothing(self):
            self._fit(X, y, sample_weight, context)
        return self

    def _fit(self, X: Rows, y: Any, sample_weight: Any, context: Any) -> None:
        check_positive(self, "tol", self.tol)
        max_iter = check_whole(self, "max_iter", self.max_iter)
        everything = self._check_labelled(X, y, sample_weight)
        kernels = self._kernels(everything)
        some = sample_path(everything.codes, len(everything.classes), check_random_state(self.random_state))
        data = everything if some is None else everything.part(some)
        alphas = self._alphas(kernels, data)
        problems, (loss, *_) = zip(*(self._pose_problem(kernel, data) for kernel in kernels), strict=True)
        scored = score_path(
            problems, loss, alphas, lambda: self._folds(everything, data), reporter(self, context),
            leave_one_out=self.cv is None, max_iter=max_iter, random_state=self.random_state,
        )  # fmt: skip
        row, column = scored.best
        self.alpha_, self.best_score_ = float(alphas[column]), -float(scored.losses.min())
        scales = [length_scale_of(kernel) for kernel in kernels]
        self.path_ = {
            "alphas": alphas, "kernels": kernels, "length_scales": scales, "log_losses": scored.losses, "by": scored.by
        }  # fmt: skip
        self.logistic_ = KernelLogisticRegression(
            self.alpha_, kernel=self._kernel_argument().pass_on(kernels[row]),
            fit_intercept=self.fit_intercept, class_weight=self.class_weight, solver=self.solver,
            n_centers=self.n_centers, tol=self.tol, max_iter=self.max_iter, memory=self.memory,
            random_state=self.random_state, assume_psd=True, device=self.device,
        )  # fmt: skip
        data, fit = self.logistic_._solve(everything.X, y, sample_weight)
        for model in (self.logistic_, self):
            model._keep(fit, data.classes, data.X, data.kept)

    def _argument(self) -> Any:
        if not isinstance(self.kernel, list | tuple):
            return super()._argument()
        if not self.kernel or not all(isinstance(kernel, Kernel) for kernel in self.kernel):
            raise TypeError(f"{type(self).__name__}: several kernels must be mercer kernels, got {self.kernel!r}")
        return sum(self.kernel[1:], self.kernel[0])  # takes what all of them take

    def _kernels(self, data: Labelled) -> list[Kernel]:
        several = isinstance(self.kernel, list | tuple)
        given = [self._resolve_kernel(kernel, data) for kernel in (self.kernel if several else [self.kernel])]
        wish = self.length_scales
        if wish is None:
            if self.kernel is not None:
                return given
            own = float(length_scale_of(given[0]))
            wish = [scale * own for scale in SCALES]
        if isinstance(wish, str | numbers.Number) or len(wish) == 0:
            example = "a list of length scales to try such as [0.5, 1.0, 2.0]"
            raise ValueError(f"{type(self).__name__}: length_scales must be {example}; got {wish!r}")
        return [with_length_scale(kernel, value) for kernel in given for value in wish]

    def _alphas(self, kernels: list[Kernel], data: Labelled) -> np.ndarray:
        if self.alphas is None:
            points = host_array(data.points)
            level = float(np.mean([np.mean(kernel.diag(points)) for kernel in kernels]))
            return GRID * (level if level > 0 else 1.0)
        return check_alphas(self, self.alphas)

    def _folds(self, everything: Labelled, data: Labelled) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the folds as positions among the points that the path is computed from."""
        cv: Any = self.cv
        if cv is None:
            least = int(np.bincount(data.codes).min())
            if least < 2:
                raise ValueError(
                    f"{type(self).__name__}: folds need at least 2 points of each class, but class "
                    f"{data.classes.tolist()[int(np.argmin(np.bincount(data.codes)))]!r} has 1; add points, or use "
                    "KernelLogisticRegression with a penalty of your choice"
                )
            cv = min(FOLDS, least)
        return list(folds_among(cv, length(everything.X), data.kept, data.codes) or [])
