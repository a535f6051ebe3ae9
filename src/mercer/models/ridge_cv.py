"""Kernel ridge regression that finds its own kernel and penalty."""

from __future__ import annotations

import numbers
import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.metrics import check_scoring, r2_score
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from mercer.arrays.tensors import is_tensor
from mercer.estimators.engine import where_the_data_lives
from mercer.estimators.kernels import (
    accepts_sparse,
    all_or_nothing,
    check_psd,
    checked_rows,
    is_precomputed,
    place_of,
    resolve_kernel,
)
from mercer.estimators.progress import fit_task, reporter
from mercer.estimators.targets import check_alphas, check_targets, check_weights
from mercer.features.params import KernelParams
from mercer.formula.data import Rows, length, pick, refuse_masked
from mercer.kernels import Gaussian, Kernel, Matern, Precomputed
from mercer.learning.choice import choose, folds_among, part
from mercer.learning.length_scales import families, length_scale_of, per_feature, with_length_scale
from mercer.learning.target_units import TargetUnits
from mercer.learning.tuning import Objective, OnStep, Tuned, race
from mercer.solvers.base import Problem

from .ridge import KernelRidge

PATH_LIMIT = 5000  # points up to which the path is computed from all of them
PATH_SAMPLE = 3000  # points it is computed from otherwise
DEVICE_SAMPLE = 20_000  # the same on a GPU, which computes the path of all points whose matrices fit
SUBSET = 1500  # points of a tuning step, and more where the fit itself takes minutes anyway
MANY, LARGE_SUBSET = 20_000, 2200
STEPS = 120  # of the tuning
PATH_BYTES, DEVICE_PATH_BYTES, STEP_BYTES = 40, 24, 64  # for each pair: of the path, and of a tuning step
SERIAL = 500  # points up to which one thread is enough
OF_THE_FIT = ("expansion_", "plan_", "dual_coef_", "intercept_", "residual_", "n_iter_", "converged_")


class KernelRidgeCV(KernelParams, CallbackSupportMixin, MultiOutputMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Kernel ridge regression with kernel, length scales and penalty chosen by the exact leave-one-out error.

    Without arguments: a Gaussian or Matérn kernel with one length scale for each feature; the penalty α from a path; an
    intercept; and one fit of all points.  Length scales are first all multiplied by the same factors, from where every
    point is alone to where all are alike, with a path of penalties for each, on at most 1,000 points.  The best minima
    of this grid are tuned by the gradient of the leave-one-out error on random subsets of at most 1,500 points, and
    nothing that is worse than the grid is kept.  Data is used in the units it comes in: length scales start from the
    spread of each feature.  A warning says if the best lies at the edge of what was searched.

    Parameters
    ----------
    alphas : sequence of floats, optional
        Positive penalties to choose from.  If not given, 25 over twelve decades, more if the best is at their end, and
        the best of them refined.  Of equally good ones the largest is taken.
    kernel : Kernel, str, callable or sequence of Kernels, optional
        As in :class:`~mercer.models.ridge.KernelRidge`, used as it is unless ``length_scales`` says otherwise, or
        several kernels to choose from.  Gaussian and Matérn kernels (ν = 3⁄2 and 5⁄2) if not given.
    length_scales : "auto" or sequence, optional
        Length scales to try, each a number or one number for each feature, in every place of the kernel that has one;
        or "auto" to tune those of the kernel, one for each feature, from a grid of their multiples.  If not given, a
        kernel that was given keeps its own, and "auto" is used otherwise.
    cv : int, splitter or iterable, optional
        Folds to choose by, instead of leaving out one point at a time; the tuning leaves out one in any case.
    scoring : str or callable, optional
        What to choose by, as in scikit-learn; the mean squared error if not given.
    fit_intercept : bool, default=True
        Whether to fit a constant, which the penalty leaves alone.
    solver : str, default="auto"
        Of the last fit, as in :class:`~mercer.models.ridge.KernelRidge`.
    memory : int or str, optional
        Budget in bytes, or a text such as "2GB"; 60 % of what is free if not given.
    random_state : int, RandomState or None, default=None
        The seed of subsets, and of solvers that choose at random.
    device : str or torch.device, optional
        Where to compute, such as "cuda"; tensors are computed with where they are, and everything else on the host.

    Attributes
    ----------
    alpha_ : float
        The penalty.
    kernel_ : Kernel
        The kernel, with its length scales.
    best_score_ : float
        The score that ``alpha_`` and ``kernel_`` reached, larger is better: minus the mean squared leave-one-out
        error, or ``scoring``.  Several targets are divided by their deviation first, unless there is a ``scoring``.
    path_ : dict
        ``"alphas"`` (p,); ``"kernels"``, the m kernels compared; ``"length_scales"``, the first length scale parameter
        of each (None where there is none); ``"errors"`` (m, p), minus their scores, infinite where rounding could have
        made them; and ``"tuning"``, the mean squared leave-one-out error at each step of the grid and of the tuning.
    ridge_ : KernelRidge
        The model fitted to all points with ``alpha_`` and ``kernel_``.
    loo_predictions_, loo_score_
        Its leave-one-out predictions, and their R²; computed when asked for.
    expansion_, plan_, dual_coef_, intercept_, residual_, n_iter_, converged_
        As in that model.
    n_features_in_, feature_names_in_
        Number and names of columns, if there are any.

    Notes
    -----
    The path uses all points up to 5,000 and a random 3,000 beyond: in the sum form Σ(…)² + α‖f‖² the best penalty does
    not grow with their number.  On a GPU it uses all points while three matrices of them fit there, and a random 20,000
    beyond.  Each step of the tuning is a task for ``sklearn.callback``, such as its ProgressBar.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.models.ridge_cv import KernelRidgeCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3.0, 3.0, size=(150, 2))
    >>> y = np.sin(2.0 * X[:, 0]) + 0.05 * rng.normal(size=150)  # the second feature is noise
    >>> model = KernelRidgeCV(random_state=0).fit(X, y)
    >>> bool(model.loo_score_ > 0.98), bool(np.divide(*model.kernel_.length_scale) < 0.1)
    (True, True)
    """

    _targets: np.ndarray | None  # None if the rows stayed on a cluster

    def __init__(
        self,
        alphas: Any = None,
        kernel: Any = None,
        length_scales: Any = None,
        cv: Any = None,
        scoring: Any = None,
        fit_intercept: bool = True,
        solver: str = "auto",
        memory: float | str | None = None,
        random_state: Any = None,
        device: Any = None,
    ) -> None:
        self.alphas = alphas
        self.kernel = kernel
        self.length_scales = length_scales
        self.cv = cv
        self.scoring = scoring
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.memory = memory
        self.random_state = random_state
        self.device = device

    @with_callbacks  # type: ignore[untyped-decorator]
    @where_the_data_lives
    def fit(self, X: Rows, y: Any, sample_weight: Any = None) -> Self:
        """Choose kernel and penalty, and fit; a fit that fails or is interrupted changes nothing.

        Parameters
        ----------
        X : collection of n objects
            The training points, rows of numbers unless a kernel for other objects was given.
        y : array of shape (n,) or (n, targets)
            The targets; several share one kernel and one penalty.
        sample_weight : float or array of shape (n,), optional
            Weights that are not negative.
        """
        with fit_task(self, X, y) as context, all_or_nothing(self):
            self._loo: np.ndarray | None = None
            self._fit(X, y, sample_weight, context)
        return self

    @where_the_data_lives
    def predict(self, X: Rows) -> np.ndarray:
        """Return f(x) + b for all points, of shape (m,) or (m, targets)."""
        check_is_fitted(self)
        return self.ridge_.predict(self._rows(X, reset=False))

    def predict_interval(self, X: Rows, coverage: float = 0.9) -> np.ndarray:
        """Return jackknife+ intervals, as :meth:`mercer.models.ridge.KernelRidge.predict_interval` does."""
        check_is_fitted(self)
        return self.ridge_.predict_interval(self._rows(X, reset=False), coverage)

    @property
    def loo_predictions_(self) -> np.ndarray:
        """What the model would predict at each training point had it been fitted without it, exactly.

        Computed when first asked for; beyond 5,000 points that takes longer than the fit.
        """
        check_is_fitted(self)
        if self._loo is None:
            self._loo = self.ridge_.leave_one_out()
        return np.asarray(self._loo)

    @property
    def loo_score_(self) -> float:
        """R² of the leave-one-out predictions, weighted, the mean over targets."""
        check_is_fitted(self)
        if self._targets is None:  # the rows stayed on a cluster, which summed their errors up
            return float(self._loo_score)
        size = float(np.abs(self._targets).max()) or 1.0  # squares of 1e-300 or 1e300 are no numbers
        return float(r2_score(self._targets / size, self.loo_predictions_ / size, sample_weight=self._weights))

    # -- the steps of a fit -----------------------------------------------------------------------------------------

    def _fit(self, X: Rows, y: Any, sample_weight: Any, context: Any) -> None:
        X = self._rows(X, reset=True)
        n = length(X)
        targets, weights = check_targets(self, y, n), check_weights(self, sample_weight, n)
        # Threads that wait for each other cost more than they gain on small matrices, above all on a busy machine.
        with threadpool_limits(1 if n <= SERIAL else None, user_api="blas"):
            self._choose(X, targets, weights, reporter(self, context))
            self.ridge_ = self._last_fit().fit(X, targets, weights)
        for name in OF_THE_FIT:
            setattr(self, name, getattr(self.ridge_, name))
        self._targets, self._weights = targets, weights

    def _choose(
        self,
        X: Any,
        targets: np.ndarray,
        weights: np.ndarray | None,
        on_step: OnStep,
        curves: Any = None,
        place: tuple[Any, int] | None = None,
    ) -> None:
        """Choose kernel and penalty from points that are here, on the model's device or at another place."""
        n = length(X)
        kept = np.arange(n) if weights is None else np.flatnonzero(weights)
        if len(kept) < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least 2 points with a weight, one to leave out and one to fit; "
                f"got n_samples = {len(kept)}"
            )
        points = np.arange(n) if is_precomputed(self.kernel) else X  # a precomputed kernel takes positions
        columns = targets.reshape(n, -1)[kept]
        present = None if weights is None else weights[kept]
        units = TargetUnits.of(columns, present, centred=bool(self.fit_intercept))
        device, memory = place_of(self, X) if place is None else place
        options = (present, bool(self.fit_intercept), memory, device)
        data = Problem(Gaussian(), pick(points, kept), units.relative(columns), *options)
        alphas = self._alphas()
        score = None
        if self.scoring is not None:
            score = units.score(check_scoring(self, self.scoring), flat=targets.ndim == 1)
        rng = check_random_state(self.random_state)
        tuned = self._tuned(X, data, rng, on_step)
        kernels, hints = (self._listed(X), ()) if tuned is None else tuned.rivals()
        limit, sample = path_sizes(data)
        if data.n > limit:
            chosen = rng.permutation(data.n)[:sample]
            data, kept = part(data, chosen), kept[chosen]
        folds = folds_among(self.cv, n, kept)
        found = choose(data, kernels, alphas, score=score, folds=folds, curves=curves, hints=hints)
        with np.errstate(over="ignore", under="ignore"):
            unit = float(units.scale[0] ** 2) if score is None and targets.ndim == 1 else 1.0
        self.kernel_, self.alpha_, self.best_score_ = found.kernel, found.alpha, unit * found.score
        self.path_ = {
            "alphas": found.alphas,
            "kernels": kernels,
            "length_scales": [length_scale_of(kernel) for kernel in kernels],
            "errors": -unit * found.scores,
            "tuning": unit * np.array([] if tuned is None else tuned.trace),
        }
        if tuned is not None and tuned.edge:
            warnings.warn(f"{type(self).__name__}: {tuned.edge}", stacklevel=6)

    def _last_fit(self) -> KernelRidge:
        """Return the model of all points, to be fitted."""
        return KernelRidge(
            self.alpha_, kernel="precomputed" if is_precomputed(self.kernel) else self.kernel_,
            fit_intercept=self.fit_intercept, solver=self.solver, memory=self.memory, random_state=self.random_state,
            assume_psd=True, device=self.device,
        )  # fmt: skip

    def _tuned(self, X: Any, data: Problem, rng: np.random.RandomState, on_step: OnStep) -> Tuned | None:
        """Return the kernel with its length scales tuned, if that was asked for."""
        wish = "auto" if self.length_scales is None and self.kernel is None else self.length_scales
        if not (isinstance(wish, str) and wish == "auto"):
            return None
        kernels = self._given(X)
        starts = families(data.X) if self.kernel is None else [per_feature(k, data.X.shape[1]) for k in kernels]
        steps = int(min(STEPS, 10 + data.n // 4))
        objective = Objective(data.X, data.y, data.weights, data.fit_intercept, data.device, data.memory)
        wanted = SUBSET if data.n < MANY else LARGE_SUBSET
        size = max(2, min(wanted, int((data.memory / STEP_BYTES) ** 0.5)))
        return race(starts, objective, rng, size=size, steps=steps, on_step=on_step)

    def _listed(self, X: Any) -> list[Kernel]:
        """Return the kernels to choose from as they are, or with each of the length scales given."""
        kernels, wish = self._given(X), self.length_scales
        if wish is None:
            return kernels
        if isinstance(wish, str | numbers.Number) or len(wish) == 0:
            example = "'auto', or a list of length scales to try such as [0.5, 1.0, 2.0]"
            raise ValueError(f"{type(self).__name__}: length_scales must be {example}; got {wish!r}")
        return [with_length_scale(kernel, value) for kernel in kernels for value in wish]

    def _given(self, X: Any) -> list[Kernel]:
        if self.kernel is None:
            return [Matern(1.5), Matern(2.5), Gaussian()]
        if is_precomputed(self.kernel):
            return [Precomputed(X)]
        given = self.kernel if isinstance(self.kernel, list | tuple) else [self.kernel]
        kernels = [resolve_kernel(self, kernel, X) for kernel in given]
        for kernel in kernels:
            check_psd(self, kernel, X)
        return kernels

    def _alphas(self) -> np.ndarray | None:
        return None if self.alphas is None else check_alphas(self, self.alphas)

    def _rows(self, X: Rows, *, reset: bool) -> Any:
        if self.kernel is None and not is_tensor(X):
            refuse_masked(X, type(self).__name__)
            return validate_data(self, X, reset=reset, dtype=[np.float64, np.float32])
        return checked_rows(self, X, self._argument(), reset=reset)

    def _argument(self) -> Any:
        """Return the kernel as data is checked for it: the sum of several."""
        several = isinstance(self.kernel, list | tuple)
        if several and not all(isinstance(kernel, Kernel) for kernel in self.kernel):
            raise TypeError(f"{type(self).__name__}: several kernels must be mercer kernels, got {self.kernel!r}")
        return sum(self.kernel[1:], self.kernel[0]) if several else self.kernel

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel is not None and accepts_sparse(self.kernel)
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return tags


def path_sizes(data: Problem) -> tuple[int, int]:
    """Return up to how many points the path is computed from all of them, and from how many otherwise.

    Examples
    --------
    >>> import numpy as np
    >>> path_sizes(Problem(Gaussian(), np.zeros((2, 1)), np.zeros((2, 1)), memory=10**9))
    (5000, 3000)
    """
    if data.device is not None and data.device.type == "cuda":
        room = max(2, int((data.memory / DEVICE_PATH_BYTES) ** 0.5))
        return room, min(DEVICE_SAMPLE, room)
    room = max(2, int((data.memory / PATH_BYTES) ** 0.5))
    return min(PATH_LIMIT, room), min(PATH_SAMPLE, room)
