"""Support vector classification of many points, in cells."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import _ovr_decision_function

from mercer.estimators.classifier import Classes
from mercer.estimators.engine import in_the_kind_given
from mercer.estimators.machines.cells import CellSearch
from mercer.estimators.machines.classifier import read_labels
from mercer.formula.data import Rows
from mercer.kernels import Kernel
from mercer.losses import Hinge
from mercer.solvers.machines.cells.task import Task, decide
from mercer.solvers.machines.problems import Priced


class CellSVC(ClassifierMixin, CellSearch):  # type: ignore[misc]
    """Support vector classification of 10⁵ to 10⁶ points: machines in cells of space, blended at the borders.

    Space is cut by hyperplanes into cells of at most ``cell_size`` points.  C and the length scale are searched on
    smaller parts of each cell, where machines take little time and points lie as densely as they do everywhere near,
    and the machines of a cell (see :class:`~mercer.models.svm.SVC`) are then fitted once to all of its points.  With
    the weights w_c of cells, which have the sum 1 and fade from one cell to the next in a band along each cut,

        f(x) = Σ_c w_c(x) f_c(x),

    and f is continuous.  A cell is fitted to all points at which it has a weight, so that it knows both sides of its
    borders.

    Parameters
    ----------
    Cs : sequence of floats, optional
        As for :class:`~mercer.models.svm_cv.SVCCV`: 8 from 10⁻¹ to 10²·⁵, divided by the mean of k(x, x).
    length_scales : "auto" or sequence, optional
        As there; "auto", which is the default without a kernel, is 8 from ⅛ to 4 times the median distance of points.
    kernel : Kernel, optional
        A kernel on rows of numbers; a Gaussian if not given.
    folds : int, default=5
        Folds of each part, chosen at random with about equally many points of each class.
    cell_size : int, default=30000
        Points of a cell at most, without those of its neighbours.  Fewer take less time and more error.
    search_size : int, default=2000
        Points of a part, on which the grid is searched, at most.
    overlap : float, default=0.2
        Share of the points on the two sides of a cut that are in its band: both cells are fitted to them, and blended.
        With 0 every point has one cell, and f jumps at borders.
    class_weight : dict or "balanced", optional
        Factors of C for each class; "balanced" counts all classes as equally large.
    tol : float, default=1e-3
        The largest violation of the optimality conditions to stop at, for the machines of cells; in the grid ten times
        as much will do.
    max_iter : int, default=-1
        Steps at most for each machine, -1 for no limit.
    max_time : float, optional
        Seconds at most for the grid, and again for the last fits.
    memory : int or str, optional
        Budget in bytes, or a text such as "2GB"; 60 % of what is free if not given.
    assume_psd : bool, default=False
        Whether to use a kernel even if it is refuted, as for :class:`~mercer.models.svm.SVC`.
    random_state : int, RandomState or None, default=None
        Of the folds, 0 if not given; nothing else is random.

    Attributes
    ----------
    classes_ : array of shape (classes,)
        The labels.
    cells_ : list of CellMachine
        What each cell has: its ``function`` f_c, ``classes``, ``C``, ``size``, ``n_iter``, ``gap`` and ``converged``.
        A cell whose points are all of one class has no function, and votes for that class.
    cell_sizes_ : array of int, shape (cells,)
        Points that they were fitted to, with those of neighbours.
    cv_results_ : dict
        The grid over all parts: ``params``, ``param_C``, ``param_length_scale``, ``split0_test_score`` …,
        ``mean_test_score`` and ``rank_test_score``.
    best_params_, best_score_, best_index_
        The best of all parts together.
    C_, length_scale_, kernel_
        Its penalty and length scale, and the kernel with it.  Cells take these, unless their own are clearly better.
    n_fits_, n_stopped_ : int
        How many (part, pair, fold) were tried, and how many were not because the pair could not win any more.
    duality_gap_ : DualityGap
        That of the cell with the largest relative one.  It says how well each problem is solved; there is no problem
        of all points, and so no gap to it.
    converged_, n_iter_
        Whether all cells are solved, and their steps.
    plan_ : Plan
        How many cells and parts there were, and why.
    n_features_in_, feature_names_in_
        Number and names of columns.

    Notes
    -----
    A pair (C, length scale) is stopped in a part when its errors exceed those of the best pair at the same points by
    more than two standard errors (McNemar's test after each fold).  In a cell the pair with the fewest errors in all
    parts of all cells is taken, unless another has fewer in this cell by more than a standard error.

    Each part and each cell is a task for ``sklearn.callback``, such as its ProgressBar; Ctrl-C stops a fit, which then
    changes nothing.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from mercer.models import CellSVC
    >>> X, y = make_moons(1200, noise=0.2, random_state=0)
    >>> model = CellSVC([1.0, 10.0], [0.3, 1.0], cell_size=400, search_size=200).fit(X[:1000], y[:1000])
    >>> len(model.cells_), model.score(X[1000:], y[1000:]) > 0.95
    (3, True)
    """

    classes_: Classes

    def __init__(
        self,
        Cs: Any = None,
        length_scales: Any = None,
        *,
        kernel: Kernel | None = None,
        folds: int = 5,
        cell_size: int = 30_000,
        search_size: int = 2_000,
        overlap: float = 0.2,
        class_weight: Any = None,
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
        self.folds = folds
        self.cell_size = cell_size
        self.search_size = search_size
        self.overlap = overlap
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.memory = memory
        self.assume_psd = assume_psd
        self.random_state = random_state

    @in_the_kind_given
    def decision_function(self, X: Rows) -> np.ndarray:
        """Return how far on which side of the boundaries points are.

        Parameters
        ----------
        X : array of shape (m, d)
            The points.

        Returns
        -------
        array of shape (m,) or (m, classes)
            f(x), positive for the second of two classes.  Of more than two: votes of the pairs of classes, with the
            sums of their values to break ties.
        """
        values = self._values(X)
        if len(self.classes_) == 2:
            return values[:, 0]
        return np.asarray(_ovr_decision_function(values < 0, -values, len(self.classes_)))

    @in_the_kind_given
    def predict(self, X: Rows) -> np.ndarray:
        """Return the class of all points: the one that wins most pairs, and the first of those that win equally many.

        Parameters
        ----------
        X : array of shape (m, d)
            The points.

        Returns
        -------
        array of shape (m,)
        """
        values = self._values(X)
        return np.asarray(self.classes_[decide(np.arange(len(self.classes_)), values)])

    def _find_task(self, y: Any, weights: np.ndarray) -> tuple[Task, float]:
        labels, self.classes_ = read_labels(self, y, weights)
        factors = compute_class_weight(self.class_weight, classes=self.classes_, y=labels[weights > 0])
        if not (np.isfinite(factors).all() and (factors > 0).all()):
            raise ValueError(
                f"{type(self).__name__}: class weights must be finite and positive, got {self.class_weight!r}; leave "
                "out the points of a class that is not to count"
            )
        codes = np.searchsorted(self.classes_, labels)
        return Task(Priced(Hinge(), 1.0), codes, weights, factors), 1.0
