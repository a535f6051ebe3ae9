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
from mercer.estimators.kernels import all_or_nothing, is_precomputed
from mercer.estimators.probability import ProbabilityClassifier, loss_of
from mercer.estimators.progress import fit_task, reporter
from mercer.estimators.targets import check_alphas, check_positive, check_whole
from mercer.formula.data import Rows, length
from mercer.kernels import Kernel
from mercer.learning.folds import folds_among
from mercer.learning.length_scales import length_scale_of, with_length_scale
from mercer.solvers.newton.scores import by_folds, by_leaving_one_out, loo_is_accurate

from .logistic import KernelLogisticRegression

GRID = np.logspace(-4, 2, 13)  # times the mean of k(x, x)
SCALES = (0.25, 0.5, 1.0, 2.0)  # of the Gaussian that KernelLogisticRegression takes by itself
LOO_LIMIT = 1500  # points times functions up to which one can be left out: it takes matrices of that size
PATH_LIMIT = 5000  # points up to which the path is computed from all of them
PATH_SAMPLE = 3000  # points it is computed from otherwise
FOLDS = 5
OF_THE_FIT = (
    "classes_", "expansion_", "plan_", "dual_coef_", "intercept_", "objective_", "duality_gap_",
    "restricted_gap_", "n_iter_", "converged_", "X_fit_",
)  # fmt: skip


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
        everything = self._labelled(X, y, sample_weight)
        kernels = self._kernels(everything)
        rng = check_random_state(self.random_state)
        data = _sampled(everything, rng)
        alphas = self._alphas(kernels, data)
        order = np.argsort(-alphas)  # downwards, because a strong penalty is an easy start
        losses, by = np.full((len(kernels), len(alphas)), np.inf), "leave-one-out"
        report = reporter(self, context)
        cases = [self._problem(kernel, data) for kernel in kernels]
        loss = loss_of(data)
        if self.cv is None and len(data.codes) * loss.outputs <= LOO_LIMIT:
            for i, problem in enumerate(cases):
                losses[i, order] = by_leaving_one_out(problem, loss, alphas[order], max_iter)
                report(i, float(losses[i].min()))
            row, column = np.unravel_index(np.argmin(losses), losses.shape)
            accurate = loo_is_accurate(cases[row], loss, float(alphas[column]), max_iter)
        else:
            accurate = False
        if not accurate:
            folds, by = self._folds(everything, data), "folds"
            for i, problem in enumerate(cases):
                losses[i, order] = by_folds(problem, loss, alphas[order], folds, max_iter, self.random_state)
                report(i, float(losses[i].min()))
        row, column = np.unravel_index(np.argmin(losses), losses.shape)
        self.kernel_, self.alpha_, self.best_score_ = kernels[row], float(alphas[column]), -float(losses.min())
        scales = [length_scale_of(kernel) for kernel in kernels]
        self.path_ = {"alphas": alphas, "kernels": kernels, "length_scales": scales, "log_losses": losses, "by": by}
        self.logistic_ = KernelLogisticRegression(
            self.alpha_, kernel="precomputed" if is_precomputed(self.kernel) else self.kernel_,
            fit_intercept=self.fit_intercept, class_weight=self.class_weight, solver=self.solver,
            n_centers=self.n_centers, tol=self.tol, max_iter=self.max_iter, memory=self.memory,
            random_state=self.random_state, assume_psd=True, device=self.device,
        ).fit(everything.X, y, sample_weight)  # fmt: skip
        for name in OF_THE_FIT:
            setattr(self, name, getattr(self.logistic_, name))

    def _argument(self) -> Any:
        if not isinstance(self.kernel, list | tuple):
            return super()._argument()
        if not self.kernel or not all(isinstance(kernel, Kernel) for kernel in self.kernel):
            raise TypeError(f"{type(self).__name__}: several kernels must be mercer kernels, got {self.kernel!r}")
        return sum(self.kernel[1:], self.kernel[0])  # takes what all of them take

    def _kernels(self, data: Labelled) -> list[Kernel]:
        several = isinstance(self.kernel, list | tuple)
        given = [self._resolved(kernel, data) for kernel in (self.kernel if several else [self.kernel])]
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


def _sampled(data: Labelled, rng: np.random.RandomState) -> Labelled:
    """Return the data, or a random part of it that holds every class if there is too much for a path."""
    n = len(data.codes)
    if n <= PATH_LIMIT:
        return data
    order = rng.permutation(n)
    first = [order[np.flatnonzero(data.codes[order] == code)[:2]] for code in range(len(data.classes))]
    some = np.unique(np.concatenate([*first, order[:PATH_SAMPLE]]))
    return data.part(some)
