"""What models share that choose penalty and kernel by the loss on points left out."""

from __future__ import annotations

import numbers
from typing import Any, ClassVar, TypeVar, cast

import numpy as np
from sklearn.utils import check_random_state

from mercer.formula.data import Rows, length
from mercer.kernels import Kernel
from mercer.kernels.base import show_given
from mercer.learning.folds import folds_among
from mercer.learning.length_scales import length_scale_of, with_length_scale
from mercer.solvers.base import Problem
from mercer.solvers.newton.sums import WeightedLoss
from mercer.solvers.representer.scores import ScoredPath, find_level, sample_path, score_path

from .penalized import OnStep
from .targets import check_alphas, check_whole

SCALES = (0.25, 0.5, 1.0, 2.0)  # of the Gaussian that is taken without a kernel
FOLDS = 5
Model = TypeVar("Model", bound=Any)
LEAST = 1e-4  # of penalties of losses with corners, which take long below


class PenaltySearch:
    """A mixin of penalised models, placed first: several penalties, kernels and length scales to choose from.

    Models fit with what :meth:`_fit_best` chooses, and keep the model that it returns.
    """

    alphas: Any
    kernel: Any
    length_scales: Any
    cv: Any
    max_iter: Any
    random_state: Any
    scaling = "sum"  # of the penalties tried
    _grid: ClassVar[np.ndarray] = np.logspace(-6, 1, 15)  # of penalties, times one that is neither small nor large
    _path_of: ClassVar[str] = "losses"  # what the path calls them

    alpha_: float
    best_score_: float
    path_: dict[str, Any]

    def _fit_best(self, kind: type[Model], X: Rows, y: Any, sample_weight: Any, on_step: OnStep) -> Model:
        """Choose penalty and kernel, return a model of this kind that is fitted with them, and keep the same fit."""
        owner: Any = self
        owner._options()  # which checks them
        data = owner._check_data(X, y, sample_weight)
        kernel = self._choose(data, on_step)
        given = {"alpha": self.alpha_, "kernel": owner._kernel_argument().pass_on(kernel), "assume_psd": True}
        own, model = owner.get_params(deep=False), kind()
        model.set_params(**{name: own[name] for name in model.get_params(deep=False) if name in own} | given)
        model._check_data(X, y, sample_weight)  # which reads the columns
        loss = owner._weigh(data)
        fit = model._solve(kernel, data, loss)
        for each in (model, owner):
            each._keep(fit, loss.loss, data)
        return model

    def _choose(self, data: Any, on_step: OnStep) -> Kernel:
        """Score all penalties and kernels, keep the path, and return the best kernel."""
        owner, codes = cast(Any, self), data.codes
        kernels = self._kernels(data)
        some = sample_path(codes, len(data.weights), check_random_state(self.random_state))
        part = data if some is None else data.part(some)
        posed: list[tuple[Problem, WeightedLoss]] = [owner._pose_problem(kernel, part) for kernel in kernels]
        loss = posed[0][1]
        alphas = self._find_alphas([problem for problem, _ in posed], loss)
        scored: ScoredPath = score_path(
            [problem for problem, _ in posed], loss, alphas, lambda: self._folds(data, part, part.codes), on_step,
            leave_one_out=self.cv is None, max_iter=check_whole(self, "max_iter", self.max_iter, none=True),
            random_state=self.random_state,
        )  # fmt: skip
        row, column = scored.best
        self.alpha_, self.best_score_ = float(alphas[column]), -float(scored.losses.min())
        scales = [length_scale_of(kernel) for kernel in kernels]
        self.path_ = {
            "alphas": alphas, "kernels": kernels, "length_scales": scales, self._path_of: scored.losses, "by": scored.by
        }  # fmt: skip
        return kernels[row]

    def _argument(self) -> Any:
        if not isinstance(self.kernel, list | tuple):
            return super()._argument()  # type: ignore[misc]
        if not self.kernel or not all(isinstance(kernel, Kernel) for kernel in self.kernel):
            given = show_given(self.kernel)
            raise TypeError(f"{type(self).__name__}: several kernels must be mercer kernels, got {given}")
        return sum(self.kernel[1:], self.kernel[0])  # takes what all of them take

    def _kernels(self, data: Any) -> list[Kernel]:
        owner: Any = self
        several = isinstance(self.kernel, list | tuple)
        given = [owner._resolve_kernel(kernel, data) for kernel in (self.kernel if several else [self.kernel])]
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

    def _find_alphas(self, problems: list[Problem], loss: WeightedLoss) -> np.ndarray:
        if self.alphas is None:
            level = float(np.mean([find_level(problem, loss) for problem in problems]))
            return level * (self._grid if loss.loss.smooth else self._grid[self._grid >= LEAST])
        return check_alphas(self, self.alphas)

    def _folds(self, everything: Any, data: Any, codes: np.ndarray | None) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the folds as positions among the points that the path is computed from."""
        cv: Any = self.cv
        if cv is None:
            cv = min(FOLDS, len(data.weights))
            if codes is not None:
                least = int(np.bincount(codes).min())
                if least < 2:
                    raise ValueError(
                        f"{type(self).__name__}: folds need at least 2 points of each class, but class "
                        f"{data.classes.tolist()[int(np.argmin(np.bincount(codes)))]!r} has 1; add points, or use "
                        f"{type(self).__name__.removesuffix('CV')} with a penalty of your choice"
                    )
                cv = min(FOLDS, least)
        return list(folds_among(cv, length(everything.X), data.kept, codes) or [])
