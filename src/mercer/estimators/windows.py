"""What the estimators with Parzen windows share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags

from mercer.arrays.tensors import host_array
from mercer.features.params import KernelParams
from mercer.formula.data import Rows, length, pick
from mercer.kernels import Kernel
from mercer.solvers.windows.scale import LeaveOneOut
from mercer.solvers.windows.shapes import resolve_window
from mercer.solvers.windows.sums import WindowSum, warn_unreached

from .kernels import accepts_sparse, checked_rows, device_among
from .targets import check_weights
from .transaction import check_kept

Loss = Callable[[LeaveOneOut, float], float]


class ParzenEstimator(KernelParams, BaseEstimator):  # type: ignore[misc]
    """Windows on weighted points."""

    kernel: Any
    length_scale: Any
    memory: float | str | None
    device: Any
    random_state: Any

    def _points(self, X: Rows, sample_weight: Any) -> tuple[Kernel, bool, Any, np.ndarray, np.ndarray, int]:
        """Return the window, whether its length scale is to be found, and what there is of weight.

        That is points, weights and positions of those with a positive weight, and how many points there are in all.
        """
        kernel, search = resolve_window(self, self.kernel, self.length_scale)
        X = checked_rows(self, X, kernel, reset=True)
        n = length(X)
        weights = check_weights(self, sample_weight, n)
        weights = np.ones(n) if weights is None else weights
        kept = np.flatnonzero(weights)
        check_kept(kernel, X)
        kernel.diag(host_array(pick(X, kept[:1])))  # so that objects the window cannot take are refused before all else
        return kernel, search, X if len(kept) == n else pick(X, kept), weights[kept], kept, n

    def _settle(self, kernel: Any, search: bool, X: Rows, loss: Loss) -> None:
        """Find the length scale if that is wanted, and keep the window and the points."""
        for name in ("loo_length_scales_", "loo_losses_", "n_loo_points_"):
            self.__dict__.pop(name, None)
        if search:
            left_out = LeaveOneOut(self, kernel, host_array(X), self.memory, self.random_state)
            found = left_out.minimise(lambda scale: loss(left_out, scale))
            kernel = kernel.with_params(length_scale=found.length_scale)
            self.loo_length_scales_, self.loo_losses_, self.n_loo_points_ = found.tried, found.losses, found.points
        self.kernel_, self.X_fit_ = kernel, X
        self.length_scale_ = kernel.get_params(deep=False).get("length_scale")

    def _checked(self, X: Rows) -> Any:
        return checked_rows(self, X, self.kernel_, reset=False)

    def _windows(self, X: Rows) -> WindowSum:
        """Return the sums of windows at points, computed where those and the training points are."""
        return WindowSum(self.kernel_, self.X_fit_, self.memory, device_among(self, X, self.X_fit_))

    def _fill(self, windows: WindowSum, X: Rows, empty: np.ndarray, of_points: np.ndarray, mean: Any, word: str) -> Any:
        """Return what points outside of all windows get: that of the nearest training point, or a mean."""
        places = windows.nearest(pick(X, np.flatnonzero(empty)))
        answer = f"the {word} of the nearest training point" if places is not None else f"the {word} of all points"
        warn_unreached(self, int(empty.sum()), answer)
        return mean if places is None else of_points[places]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = isinstance(self.kernel, str) or accepts_sparse(self.kernel)
        return tags
