"""What models share that choose penalty and kernel by the loss on points left out."""

from __future__ import annotations

import numbers
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from mercer.formula.data import length
from mercer.kernels import Kernel
from mercer.learning.folds import folds_among
from mercer.learning.length_scales import length_scale_of, with_length_scale
from mercer.solvers.base import Problem
from mercer.solvers.newton.sums import WeightedLoss
from mercer.solvers.representer.scores import ScoredPath, find_level, sample_path, score_path

from .progress import reporter
from .targets import check_alphas, check_whole

SCALES = (0.25, 0.5, 1.0, 2.0)  # of the Gaussian that is taken without a kernel
FOLDS = 5
LEAST = 1e-4  # of penalties of losses with corners, which take long below


class PenaltySearch:
    """A model with several penalties, kernels and length scales to choose from.

    Subclasses say what the problem of some points is, with ``_pose_problem(kernel, data)``.
    """

    alphas: Any
    kernel: Any
    length_scales: Any
    cv: Any
    max_iter: Any
    random_state: Any
    _grid: ClassVar[np.ndarray]  # of penalties, in units of one that is neither small nor large

    alpha_: float
    best_score_: float
    path_: dict[str, Any]

    def _choose(self, data: Any, codes: np.ndarray | None, context: Any, name: str = "losses") -> Kernel:
        """Score all penalties and kernels, keep the path, and return the best kernel; ``codes`` are of classes."""
        owner: Any = self
        kernels = self._kernels(data)
        some = sample_path(codes, len(data.weights), check_random_state(self.random_state))
        part = data if some is None else data.part(some)
        posed: list[tuple[Problem, WeightedLoss]] = [owner._pose_problem(kernel, part) for kernel in kernels]
        loss = posed[0][1]
        alphas = self._find_alphas([problem for problem, _ in posed], loss)
        scored: ScoredPath = score_path(
            [problem for problem, _ in posed], loss, alphas,
            lambda: self._folds(data, part, None if codes is None else part.codes), reporter(self, context),
            leave_one_out=self.cv is None, max_iter=check_whole(self, "max_iter", self.max_iter, none=True),
            random_state=self.random_state,
        )  # fmt: skip
        row, column = scored.best
        self.alpha_, self.best_score_ = float(alphas[column]), -float(scored.losses.min())
        scales = [length_scale_of(kernel) for kernel in kernels]
        self.path_ = {
            "alphas": alphas, "kernels": kernels, "length_scales": scales, name: scored.losses, "by": scored.by
        }  # fmt: skip
        return kernels[row]

    def _argument(self) -> Any:
        if not isinstance(self.kernel, list | tuple):
            return super()._argument()  # type: ignore[misc]
        if not self.kernel or not all(isinstance(kernel, Kernel) for kernel in self.kernel):
            raise TypeError(f"{type(self).__name__}: several kernels must be mercer kernels, got {self.kernel!r}")
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
