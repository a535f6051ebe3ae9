"""Weights of several kernels, the same for all targets, by the gradient of the exact leave-one-out error of ridge.

With L the leave-one-out error at K_w = Σ w_k K_k/s_k and penalty α, and the matrix M = ∂L/∂K of
:mod:`mercer.solvers.ridge.loo_gradient`,

    ∂L/∂w_k = ⟨M, K_k/s_k⟩,

so that the gradient by all weights costs hardly more than the error itself.  L depends on the ratios of weights and
penalty only, and these may differ by many decades: log L is minimised over log w and log α, from several starts on few
points, and from where the best of them ended on more.  Then kernels without which the error is no larger are left out,
one after the other, so that zeros are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg, optimize
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from mercer.kernels import Kernel
from mercer.solvers.base import Problem
from mercer.solvers.ridge.fit import pick_points
from mercer.solvers.ridge.loo_gradient import MatrixError, judge_matrix

from .mixture import KernelMixture, KernelStack, stack_kernels

FEW = 500  # points of the starts
LIMIT = 1500  # points beyond which weights are learned from a random part
STARTS = 3  # that are followed, of all
PENALTIES = np.logspace(-9.0, 1.0, 11)  # tried at each start, times the sum of the weights of points
LEAST, MOST = 1e-11, 1e3  # penalties, times the sum of the weights of points
STEPS, LAST_STEPS = 60, 15  # on few points, and on all
HOPELESS = 4.0  # standard errors by which an error without a kernel is larger, so that no other weights are tried
SMALL = 1e-3  # of the largest weight: where a kernel begins that was not there
WORST = 1e3  # log L where there is none
TINY = 1e-9  # of the largest weight: what is rounding
MATRICES = 8  # beside those of the kernels: what a step needs
OnStep = Callable[[int, float], bool]


@dataclass(frozen=True)
class Weighing:
    """Weights and a penalty, with the leave-one-out error that they reach.

    Parameters
    ----------
    weights : array of shape (m,)
        w ≥ 0, of sum 1, or all 0 if no kernel is better than a constant.
    alpha : float
        The penalty α of K_w.
    error : float
        The mean squared leave-one-out error.
    squares : array of shape (n,)
        Squared leave-one-out errors of the points, summed over targets and weighted as in the mean, whose sum is that.
    """

    weights: np.ndarray
    alpha: float
    error: float
    squares: np.ndarray


class WeightProblem:
    """The leave-one-out error as a function of weights and penalty.

    Parameters
    ----------
    stack : KernelStack
        The matrices at the points.
    y : array of shape (n, q)
        Targets.
    weights : array of shape (n,), optional
        Positive weights of the points.
    fit_intercept : bool
        Whether there is an intercept; the matrices are centred then.
    """

    def __init__(self, stack: KernelStack, y: np.ndarray, weights: np.ndarray | None, *, fit_intercept: bool) -> None:
        self.stack, self.fit_intercept = stack, fit_intercept
        self.y = merge_targets(y)
        self.noise = np.ones(len(y)) if weights is None else 1.0 / weights
        self.size = float(np.sum(1.0 / self.noise))
        self.share = 1.0 / (self.noise * self.size * y.shape[1])[:, None]

    def judge(self, weights: np.ndarray, alpha: float) -> Weighing:
        """Return the error of weights that are not all 0, infinite where the penalty is too small for a sum of them."""
        total = float(weights.sum())
        try:
            found = self._judge(weights, alpha, gradient=False)
        except np.linalg.LinAlgError:  # kernels without a proof may be indefinite
            return Weighing(weights / total, alpha / total, np.inf, np.full(len(self.y), np.inf))
        squares = (self.share * found.residuals**2).sum(axis=1)
        return Weighing(weights / total, alpha / total, found.error, squares)

    def judge_constant(self) -> Weighing:
        """Return the error of a model without any kernel."""
        shares = 1.0 / (self.noise * self.size)
        left = (self.y - shares @ self.y) / (1.0 - shares)[:, None] if self.fit_intercept else self.y
        squares = (self.share * left**2).sum(axis=1)
        return Weighing(np.zeros(len(self.stack.matrices)), 1.0, float(squares.sum()), squares)

    def slope(self, weights: np.ndarray, alpha: float) -> tuple[float, np.ndarray, float]:
        """Return L, ∂L/∂w and ∂L/∂log α."""
        found = self._judge(weights, alpha, gradient=True)
        by_weights = [float(np.vdot(found.M, matrix)) for matrix in self.stack.matrices]
        return found.error, np.array(by_weights), found.by_log_alpha

    def descend(
        self, weights: np.ndarray, alpha: float, *, steps: int, free: np.ndarray, on_step: OnStep | None = None
    ) -> tuple[np.ndarray, float]:
        """Return weights and penalty after so many steps; only those weights that are free may differ from 0."""
        used = np.flatnonzero(free)

        def value(point: np.ndarray) -> tuple[float, np.ndarray]:
            w = np.zeros(len(free))
            w[used] = np.exp(point[:-1])
            try:
                error, by_weights, by_log_alpha = self.slope(w, float(np.exp(point[-1])))
            except np.linalg.LinAlgError:
                return WORST, np.zeros(len(point))
            error = max(error, np.finfo(np.float64).tiny)
            return float(np.log(error)), np.append((w * by_weights)[used], by_log_alpha) / error

        def report(intermediate_result: optimize.OptimizeResult) -> None:
            if on_step is not None and on_step(0, float(np.exp(intermediate_result.fun))):
                raise StopIteration

        largest = float(weights[used].max())
        start = np.log(np.maximum(np.where(weights[used] > 0, weights[used] / largest, SMALL), TINY))
        first = np.log(np.clip(alpha / largest, LEAST * self.size, MOST * self.size))
        bounds = [(np.log(TINY), 0.0)] * len(used) + [(np.log(LEAST * self.size), np.log(MOST * self.size))]
        found = optimize.minimize(
            value, np.append(start, first), jac=True, method="L-BFGS-B", bounds=bounds, callback=report,
            options={"maxiter": steps, "ftol": 1e-7},
        )  # fmt: skip
        w = np.zeros(len(free))
        w[used] = np.exp(found.x[:-1])
        w[w <= 2 * TINY * w.max()] = 0.0
        return w / w.sum(), float(np.exp(found.x[-1])) / float(w.sum())

    def start(self, weights: np.ndarray) -> Weighing:
        """Return the best of a few penalties."""
        return min((self.judge(weights, alpha * self.size) for alpha in PENALTIES), key=lambda found: found.error)

    def _judge(self, weights: np.ndarray, alpha: float, *, gradient: bool) -> MatrixError:
        return judge_matrix(
            self.stack.mix(weights), self.y, alpha, self.noise, self.share, fit_intercept=self.fit_intercept,
            gradient=gradient, name="the weighted sum of kernels",
        )  # fmt: skip


def learn_weights(
    data: Problem, kernels: Sequence[Kernel], *, sparse: bool = False, rng: Any = None, on_step: OnStep | None = None
) -> tuple[KernelMixture, Weighing]:
    """Return the mixture of smallest leave-one-out error that was found, and what it reached.

    Parameters
    ----------
    data : Problem
        Its kernel does not matter, its weights are positive, and its targets have two dimensions.
    kernels : sequence of m Kernels
        The kernels.
    sparse : bool, default=False
        Whether to take the fewest kernels whose error is within one standard error of the smallest: the kernel of the
        smallest weight is left out and the others are weighed again, while the mean of the differences of squared
        errors at the points is at most its own standard error.
    rng : RandomState, optional
        Chooses the points where there are more than 1,500.
    on_step : callable, optional
        Told of each step of the descent, which ends where it returns True.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).uniform(-3.0, 3.0, size=(100, 2))
    >>> data = Problem(Gaussian(), X, np.sin(X[:, :1]), fit_intercept=True)
    >>> mixture, found = learn_weights(data, [Gaussian().on([0]), Gaussian().on([1])])
    >>> mixture.weights.round(2), bool(found.error < 1e-5)
    (array([1., 0.]), True)
    """
    rng = check_random_state(rng)
    room = int((data.memory / (8.0 * (len(kernels) + MATRICES))) ** 0.5)
    size = min(data.n, LIMIT, max(2, room))
    if size < data.n:
        data = pick_points(data, rng.permutation(data.n)[:size])
    stack = stack_kernels(kernels, data.X, weights=data.weights, centred=data.fit_intercept, place=data.place)
    usable = stack.mixture.scales > 0
    whole = WeightProblem(stack, data.y, data.weights, fit_intercept=data.fit_intercept)
    found = whole.judge_constant()
    if found.error > 0 and usable.any():
        few = whole if size <= FEW else _take_few(whole, data, rng)
        with threadpool_limits(1, user_api="blas"):  # more only wait for each other on matrices of this size
            best = _descend_from_starts(few, usable, on_step)
        if size > FEW:
            best = whole.judge(*whole.descend(best.weights, best.alpha, steps=LAST_STEPS, free=usable, on_step=on_step))
        if best.error == np.inf:
            raise np.linalg.LinAlgError(
                "no penalty makes the matrix of the kernels positive definite; look at their certificates, "
                "kernel.certificate(), and leave out those that are refuted"
            )
        best = _leave_out(whole, best, sparse=sparse, on_step=on_step)
        found = min(found, best, key=lambda some: some.error)
    return stack.mixture.weighted(found.weights), found


def merge_targets(y: np.ndarray) -> np.ndarray:
    """Return at most n columns R with RRᵀ = YYᵀ, for which errors summed over all targets are the same.

    Examples
    --------
    >>> import numpy as np
    >>> Y = np.arange(12.0).reshape(3, 4)
    >>> R = merge_targets(Y)
    >>> R.shape, np.allclose(R @ R.T, Y @ Y.T)
    ((3, 3), True)
    """
    return y if y.shape[1] <= len(y) else np.ascontiguousarray(linalg.qr(y.T, mode="r")[0][: len(y)].T)


def _take_few(whole: WeightProblem, data: Problem, rng: Any) -> WeightProblem:
    """Return the problem of some of the points."""
    some = rng.permutation(data.n)[:FEW]
    stack = replace(whole.stack, matrices=np.ascontiguousarray(whole.stack.matrices[:, some][:, :, some]))
    weights = None if data.weights is None else data.weights[some]
    return WeightProblem(stack, data.y[some], weights, fit_intercept=data.fit_intercept)


def _descend_from_starts(problem: WeightProblem, usable: np.ndarray, on_step: OnStep | None) -> Weighing:
    """Return the best of what several starts lead to: equal weights, and each kernel alone."""
    alone = np.eye(len(usable))[usable]
    starts = [problem.start(w) for w in (alone if len(alone) == 1 else [usable / usable.sum(), *alone])]
    rest = sorted(starts[1:], key=lambda found: found.error)
    ends = []
    for start in [starts[0], *rest[: STARTS - 1]]:
        weights, alpha = problem.descend(start.weights, start.alpha, steps=STEPS, free=usable, on_step=on_step)
        ends.append(problem.judge(weights, alpha))
    return min(ends, key=lambda found: found.error)


def _leave_out(problem: WeightProblem, best: Weighing, *, sparse: bool, on_step: OnStep | None) -> Weighing:
    """Return fewer kernels whose error is not larger, or if asked not larger by more than a standard error."""
    found = best
    while np.count_nonzero(found.weights) > 1:
        without = [found.weights * (np.arange(len(found.weights)) != k) for k in np.flatnonzero(found.weights)]
        fewer = min((problem.judge(w, found.alpha) for w in without), key=lambda some: some.error)
        if _compare(fewer, best) > HOPELESS:
            break
        again = problem.descend(fewer.weights, fewer.alpha, steps=LAST_STEPS, free=fewer.weights > 0, on_step=on_step)
        fewer = min(fewer, problem.judge(*again), key=lambda some: some.error)
        if _compare(fewer, best) > (1.0 if sparse else 0.0):
            break
        found, best = fewer, min(best, fewer, key=lambda some: some.error)
    return found


def _compare(one: Weighing, other: Weighing) -> float:
    """Return by how many standard errors the error of one is larger, from the differences at the points."""
    if one.error == np.inf:
        return np.inf
    differences = one.squares - other.squares
    spread = float(np.sqrt(len(differences)) * differences.std())
    total = float(differences.sum())
    return total / spread if spread > 0 else np.sign(total) * np.inf if total else 0.0
