"""Support vector regression of many points, in cells."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import column_or_1d

from mercer.estimators.engine import in_the_kind_given
from mercer.estimators.machines.cells import CellSearch
from mercer.estimators.targets import check_targets
from mercer.formula.data import Rows
from mercer.kernels import Kernel
from mercer.losses import EpsilonInsensitive
from mercer.solvers.machines.cells.task import Task
from mercer.solvers.machines.problems import Priced


class CellSVR(RegressorMixin, CellSearch):  # type: ignore[misc]
    """Support vector regression of 10⁵ to 10⁶ points: machines in cells of space, blended at the borders.

    f(x) = Σ_c w_c(x) f_c(x) with the machines f_c of cells (see :class:`~mercer.models.svr.SVR`) and weights as for
    :class:`~mercer.models.cells.classifier.CellSVC`: f is continuous.

    Parameters
    ----------
    Cs : sequence of floats, optional
        Positive penalties to choose from; if not given, 8 from 10⁻¹ to 10²·⁵ times the deviation of y, divided by the
        mean of k(x, x).
    length_scales, kernel
        As for :class:`~mercer.models.cells.classifier.CellSVC`.
    epsilon : float, default=0.1
        The error that costs nothing.
    folds, cell_size, search_size, overlap
        As for :class:`~mercer.models.cells.classifier.CellSVC`.
    tol, max_iter, max_time, memory, assume_psd, random_state
        As for :class:`~mercer.models.cells.classifier.CellSVC`.

    Attributes
    ----------
    cells_, cell_sizes_, cv_results_, best_params_, best_score_, best_index_, C_, length_scale_, kernel_
        As for :class:`~mercer.models.cells.classifier.CellSVC`; scores are mean squared errors with the sign changed.
    n_fits_, n_stopped_, duality_gap_, converged_, n_iter_, plan_, n_features_in_, feature_names_in_
        As for :class:`~mercer.models.cells.classifier.CellSVC`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.models import CellSVR
    >>> X = np.random.default_rng(0).uniform(-3.0, 3.0, size=(600, 1))
    >>> model = CellSVR([1.0, 10.0], [0.5, 1.0], epsilon=0.01, cell_size=200).fit(X, np.sin(2 * X[:, 0]))
    >>> len(model.cells_), model.score(X, np.sin(2 * X[:, 0])) > 0.99
    (3, True)
    """

    def __init__(
        self,
        Cs: Any = None,
        length_scales: Any = None,
        *,
        kernel: Kernel | None = None,
        epsilon: float = 0.1,
        folds: int = 5,
        cell_size: int = 30_000,
        search_size: int = 2_000,
        overlap: float = 0.2,
        tol: float = 1e-3,
        max_iter: int = -1,
        max_time: float | None = None,
        memory: float | str | None = None,
        assume_psd: bool = False,
        random_state: Any = None,
    ) -> None:
        self.Cs = Cs
        self.length_scales = length_scales
        self.kernel = kernel
        self.epsilon = epsilon
        self.folds = folds
        self.cell_size = cell_size
        self.search_size = search_size
        self.overlap = overlap
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.memory = memory
        self.assume_psd = assume_psd
        self.random_state = random_state

    @in_the_kind_given
    def predict(self, X: Rows) -> np.ndarray:
        """Return f(x) for all points.

        Parameters
        ----------
        X : array of shape (m, d)
            The points.

        Returns
        -------
        array of shape (m,)
        """
        return self._values(X)[:, 0]

    def _find_task(self, y: Any, weights: np.ndarray) -> tuple[Task, float]:
        targets = np.asarray(column_or_1d(check_targets(self, y, len(weights)), warn=True))
        form = Priced(EpsilonInsensitive(float(self.epsilon)), 1.0)
        return Task(form, targets, weights), float(targets[weights > 0].std())
