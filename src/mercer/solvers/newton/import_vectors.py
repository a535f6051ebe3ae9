"""Import vectors: a few points, chosen greedily, that carry a logistic model (Zhu and Hastie, 2005).

f is restricted to Σ cⱼ k(zⱼ, ·) over chosen points z.  In each round every candidate x is judged by one Newton step
from the current fit: with E the part of k(x, ·) that the chosen points do not explain, ρ its squared norm, R the
residuals and W the curvature of the loss, adding x lowers the penalised loss by about ½(EᵀR)²/(EᵀWE − vᵀH⁻¹v + 2αρ),
where H is the Hessian at the chosen points and v = ΦᵀWE couples the candidate to it.  All of this is a few products of
K with matrices of as many columns as there are chosen points, so that judging all candidates costs little more than
fitting one.  With more than two classes the gains of the classes are added up and the coupling between classes is left
out; fits have all of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mercer.formula.data import pick

from ..base import Problem
from .features import FeatureSpace
from .gains import ChosenFeatures, Judge, measure_rises
from .method import NewtonMinimum, State, measure_whole_gap, minimise
from .prepared import LossFit, report_gap, warn_if_stuck
from .rows import FeatureRows
from .sums import WeightedLoss

ROUGH = 1e-5  # relative duality gap while vectors are still being added


@dataclass(frozen=True)
class ImportVectorFit(LossFit):
    """The points chosen, in the order of choice, and the logistic model on them."""

    history: tuple[float, ...] = ()  # the penalised loss without any point, and after each round
    settled: bool = False  # whether the search ended because the loss fell too little, or nothing was left to add


@dataclass(frozen=True)
class ImportVectorSearch:
    """How import vectors are chosen.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.solvers.newton.sums import label_loss
    >>> X = np.linspace(-3.0, 3.0, 60).reshape(-1, 1)
    >>> loss = label_loss((np.abs(X[:, 0]) > 1).astype(int), 2, np.ones(60))
    >>> problem = Problem(Gaussian(), X, np.zeros((60, 1)), fit_intercept=True)
    >>> found = ImportVectorSearch().search(problem, loss, 0.1, np.random.RandomState(0))
    >>> len(found.coef) < 12, list(found.history) == sorted(found.history, reverse=True)
    (True, True)
    """

    candidates: int | None = None  # random points that are judged in each round; all if not given
    block_size: int = 1  # points that are added in a round
    look_back: int = 1  # rounds over which the drop of the penalised loss is measured
    min_drop: float = 1e-3  # the search ends when that drop, relative to the loss, is smaller than this
    max_vectors: int | None = None
    deletion: bool = False  # whether points are removed afterwards while that raises the loss by less than min_drop
    tol: float = 1e-8  # relative duality gap of the last fit
    max_iter: int = 100  # Newton steps of a fit

    def search(
        self, problem: Problem, loss: WeightedLoss, alpha: float, rng: np.random.RandomState,
        on_step: Callable[[int, float], bool] = lambda step, drop: False, name: str = "import vectors",
    ) -> ImportVectorFit:  # fmt: skip
        """Choose points and fit; the penalised loss falls in every round.  Warn in a name if it has not converged.

        Each round tells ``on_step`` its number and by how much the objective fell; none follows if that says so.
        """
        features = ChosenFeatures(problem)
        judge = Judge(problem, loss, alpha)
        fit = self._fit(problem, loss, alpha, features, None, ROUGH)
        history, settled = [float(fit.objective)], False
        limit = problem.n if self.max_vectors is None else min(self.max_vectors, problem.n)
        while len(features.indices) < limit and not settled:
            room = limit - len(features.indices)
            chosen = self._choose(judge, features, fit.state, rng)[:room]
            if len(chosen) == 0 or features.add(chosen) == 0:
                settled = True
                break
            fit = self._fit(problem, loss, alpha, features, fit.state, ROUGH)
            history.append(float(fit.objective))
            if on_step(len(history) - 1, history[-2] - history[-1]):
                break
            if len(history) > self.look_back:
                settled = history[-1 - self.look_back] - history[-1] < self.min_drop * abs(history[-1])
        if self.deletion:
            features, fit = self._prune(problem, loss, alpha, features, fit)
        fit = self._fit(problem, loss, alpha, features, fit.state, self.tol)
        positions = np.array(features.indices, dtype=np.intp)
        coef = features.coefficients(fit.state.coef) if features.indices else np.zeros((0, loss.outputs))
        gap = report_gap(fit, measure_whole_gap(problem, loss, alpha, fit))
        found = ImportVectorFit(
            problem.kernel, pick(problem.X, positions), positions, coef, fit.state.intercept, fit.objective, gap,
            report_gap(fit, fit.gap), fit.converged, max(1, len(history) - 1), history=tuple(history),
            settled=settled or len(positions) == problem.n,
        )  # fmt: skip
        warn_if_stuck(name, found, self.tol, self.max_iter)
        return found

    def _fit(
        self, problem: Problem, loss: WeightedLoss, alpha: float, features: ChosenFeatures, start: State | None,
        tol: float,
    ) -> NewtonMinimum:  # fmt: skip
        space = FeatureSpace(FeatureRows(loss, features), problem.fit_intercept)
        state = start or space.start()
        missing = len(features.indices) - len(state.coef)
        padded = np.concatenate([state.coef, np.zeros((missing, loss.outputs))])
        state = State(padded, state.values, state.intercept, state.norm2)
        return minimise(space, alpha, tol=tol, max_iter=self.max_iter, start=state)

    def _choose(self, judge: Judge, features: ChosenFeatures, state: State, rng: np.random.RandomState) -> np.ndarray:
        """Return the positions of the points to add, the best first."""
        n = features.shape[0]
        free = np.setdiff1d(np.arange(n), features.indices)
        some = free
        if self.candidates is not None and self.candidates < len(free):
            some = np.sort(rng.choice(free, self.candidates, replace=False))
        gains = judge.gains(features, state, some)
        if not gains.max(initial=0.0) > 0 and len(some) < len(free):
            some, gains = free, judge.gains(features, state, free)
        order = np.argsort(-gains, kind="stable")
        order = order[gains[order] > 0]
        if self.block_size == 1 or len(order) < 2:
            return np.asarray(some[order[:1]])
        return judge.spread(features, some[order[: 8 * self.block_size]], self.block_size)

    def _prune(
        self, problem: Problem, loss: WeightedLoss, alpha: float, features: ChosenFeatures, fit: NewtonMinimum
    ) -> tuple[ChosenFeatures, NewtonMinimum]:
        while len(features.indices) > 1:
            losses = measure_rises(loss, alpha, features, fit.state, problem.fit_intercept)
            weakest = int(np.argmin(losses))
            if losses[weakest] > self.min_drop * fit.objective:
                break
            fewer = ChosenFeatures(problem)
            fewer.add(np.delete(np.array(features.indices), weakest))
            trial = self._fit(problem, loss, alpha, fewer, None, ROUGH)
            if trial.objective > fit.objective * (1 + self.min_drop):
                break
            features, fit = fewer, trial
        return features, fit
