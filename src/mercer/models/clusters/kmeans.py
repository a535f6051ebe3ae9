"""k-means in the feature space of a kernel."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer.arrays.namespace import namespace
from mercer.arrays.shapes import Axes, Inside
from mercer.arrays.tensors import host_array, is_tensor, on_device
from mercer.estimators.engine import in_the_kind_given, where_the_data_lives
from mercer.estimators.kernel_argument import KernelArgument, kernel_argument
from mercer.estimators.kernels import KernelLike, default_gaussian
from mercer.estimators.targets import check_positive, check_whole
from mercer.estimators.transaction import all_or_nothing
from mercer.expansion import Expansion, evaluate_expansion
from mercer.features.params import KernelParams
from mercer.formula.data import Rows, length
from mercer.kernels import Gaussian, Kernel
from mercer.kernels.custom import MatrixRows
from mercer.messages import warn_caller
from mercer.solvers.clusters.lloyd import Lloyd, cluster_features

MANY = 50_000  # points from which on "auto" takes Nyström features
CENTERS = 300  # of Nyström features, and 10 for each cluster at least

Solver = Literal["auto", "exact", "nystroem"]


class KernelKMeans(KernelParams, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """k-means in the feature space of a kernel: clusters of any shape, and of any objects.

    It looks for clusters C with the least Σ_C Σ_{i∈C} ‖φ(xᵢ) − μ_C‖², where μ_C is the mean of the features of C, by
    Lloyd's algorithm from k-means++ seeds.  With the linear kernel that is k-means itself.

    Parameters
    ----------
    n_clusters : int, default=8
        How many.
    kernel : Kernel, str or callable, optional
        A mercer kernel, on any objects; a name of ``sklearn.metrics.pairwise``; a function of two rows; or
        "precomputed", and then X is the Gram matrix.  If not given, a Gaussian of the data's own scale.
    n_init : int, default=1
        How many times to start, from other seeds; the best is kept.
    max_iter : int, default=300
        Rounds at most, of each start.
    tol : float, default=1e-6
        By how much of itself the inertia must fall for another round.
    solver : {"auto", "exact", "nystroem"}, default="auto"
        "exact" looks at all pairs of points, and stores none of them; "nystroem" clusters features of ``n_centers``
        centres.  "auto" is "exact" up to 50,000 points.
    n_centers : int, optional
        Of "nystroem"; 300, or ten for each cluster if that is more, if not given.
    random_state : int, RandomState or None, default=None
        The seed.
    memory : int or str, optional
        Budget in bytes, or a text such as "2GB"; 60 % of what is free if not given.
    assume_psd : bool, default=False
        Whether to take a kernel for positive semi-definite without looking.
    device : str or torch.device, optional
        Where to compute, such as "cuda"; tensors are computed with where they are, and everything else on the host, as
        are the features of "nystroem".

    Attributes
    ----------
    labels_ : int array of shape (n,)
        The cluster of each training point.
    inertia_ : float
        The sum of squared distances in feature space to the means of the clusters.
    inertia_path_ : array of shape (rounds,)
        The same after each round of the best start; it never rises.
    n_iter_, converged_ : int, bool
        Rounds of the best start, and whether labels came to rest.
    kernel_ : Kernel
        The kernel used.
    solver_ : str
        The solver used.
    expansion_ : Expansion
        ⟨φ(x), μ⟩ − ‖μ‖²/2 for each cluster, which is largest for the nearest.

    Examples
    --------
    >>> from mercer import KernelKMeans
    >>> from mercer.kernels import Spectrum
    >>> model = KernelKMeans(2, kernel=Spectrum(2), random_state=0).fit(["abab", "baba", "ccdd", "ddcc"])
    >>> bool(model.labels_[0] == model.labels_[1] != model.labels_[2] == model.labels_[3])
    True
    >>> bool(model.predict(["aba"])[0] == model.labels_[0])
    True
    """

    kernel_: Kernel
    labels_: Annotated[np.ndarray, Axes("n", of="iu")]
    inertia_: float
    inertia_path_: np.ndarray
    n_iter_: int
    converged_: bool
    solver_: str
    expansion_: Annotated[Expansion, Inside(q="q")]

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: KernelLike | None = None,
        n_init: int = 1,
        max_iter: int = 300,
        tol: float = 1e-6,
        solver: Solver = "auto",
        n_centers: int | None = None,
        random_state: Any = None,
        memory: float | str | None = None,
        assume_psd: bool = False,
        device: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.solver = solver
        self.n_centers = n_centers
        self.random_state = random_state
        self.memory = memory
        self.assume_psd = assume_psd
        self.device = device

    @where_the_data_lives
    def fit(self, X: Rows, y: object = None) -> Self:
        """Find the clusters; a fit that fails or is interrupted changes nothing.

        Parameters
        ----------
        X : collection of n objects
            The training points, of whatever kind the kernel takes.
        y : ignored
            Here because pipelines pass it.
        """
        with all_or_nothing(self):
            lloyd = self._check_parameters()
            argument = self._argument()
            X = argument.check(X, reset=True)
            place, points = argument.place(X), argument.points(X)
            n = length(points)
            if n < lloyd.clusters:
                raise ValueError(
                    f"KernelKMeans: n_samples={n} should be >= n_clusters={lloyd.clusters}; ask for fewer clusters"
                )
            if self.kernel is None:
                kernel: Kernel = default_gaussian(X, None, place.device)
            else:
                kernel = argument.resolve(X, assume_psd=self.assume_psd)
            rng = check_random_state(self.random_state)
            auto = "nystroem" if n > MANY and not argument.is_matrix else "exact"
            self.solver_ = auto if self.solver == "auto" else self.solver
            if self.solver_ == "nystroem":
                count = max(CENTERS, 10 * lloyd.clusters) if self.n_centers is None else self.n_centers
                found = cluster_features(kernel, points, lloyd, count, place, rng)
            else:
                found = lloyd.fit(kernel, points, place, rng)
            self.kernel_, self.expansion_, self.labels_ = kernel, found.expansion, found.labels
            self.inertia_, self.inertia_path_ = found.inertia, found.path
            self.n_iter_, self.converged_ = len(found.path), found.converged
        if not self.converged_:
            warn_caller(
                f"KernelKMeans: labels did not come to rest in {self.max_iter} rounds; raise max_iter, or tol if the "
                "inertia hardly falls any more"
            )
        return self

    @where_the_data_lives
    def predict(self, X: Rows) -> np.ndarray:
        """Return the cluster whose mean is nearest to each point in feature space.

        Parameters
        ----------
        X : collection of m objects
            The points; with a precomputed kernel its values between them and all training points, shape (m, n).

        Returns
        -------
        int array of shape (m,)
        """
        check_is_fitted(self)
        found = self._evaluate(self._argument().new_points(X)).argmax(axis=1)
        return namespace(X).asarray(found, device=X.device) if is_tensor(X) else found

    @where_the_data_lives
    def transform(self, X: Rows) -> np.ndarray:
        """Return the distances in feature space from points to the means of all clusters.

        Parameters
        ----------
        X : collection of m objects
            The points.

        Returns
        -------
        array of shape (m, n_clusters)
        """
        check_is_fitted(self)
        points = self._argument().new_points(X)
        if isinstance(points, MatrixRows):
            raise ValueError(
                "KernelKMeans: with kernel='precomputed' k(x, x) of new points is not known, and so neither is their "
                "distance; use predict, or give the points and a kernel"
            )
        own = np.asarray(self.kernel_.diag(host_array(points)), dtype=np.float64)
        found = np.sqrt(np.maximum(own[:, None] - 2.0 * self._evaluate(points), 0.0))
        return on_device(found, X.device, found.dtype) if is_tensor(X) else found

    @in_the_kind_given
    def score(self, X: Rows, y: object = None) -> float:
        """Return minus the sum of squared distances in feature space to the nearest means.

        Parameters
        ----------
        X : collection of m objects
            The points.
        y : ignored
            Here because pipelines pass it.
        """
        return -float((host_array(self.transform(X)).min(axis=1) ** 2).sum())

    @property
    def _n_features_out(self) -> int:
        return int(self.expansion_.coef.shape[1])

    def _argument(self) -> KernelArgument:
        return kernel_argument(self, Gaussian() if self.kernel is None else self.kernel)

    def _evaluate(self, points: Rows) -> np.ndarray:
        f, place = self.expansion_, self._argument().place(points, self.expansion_.centers)
        values = evaluate_expansion(f.kernel, points, f.centers, f.coef, f.intercept, place.memory, place.device)
        return np.asarray(host_array(values), dtype=np.float64)

    def _check_parameters(self) -> Lloyd:
        """Raise unless counts and the solver are what they may be."""
        if self.solver not in ("auto", "exact", "nystroem"):
            raise ValueError(f"KernelKMeans: solver must be 'auto', 'exact' or 'nystroem', got {self.solver!r}")
        if self.solver == "nystroem" and self._argument().is_matrix:
            raise ValueError("KernelKMeans: solver='nystroem' needs a kernel, not kernel='precomputed'")
        check_whole(self, "n_centers", self.n_centers, none=True)
        clusters, starts, rounds = (
            check_whole(self, name, getattr(self, name)) for name in ("n_clusters", "n_init", "max_iter")
        )
        return Lloyd(clusters, starts, rounds, check_positive(self, "tol", self.tol, zero=True))

    def __sklearn_tags__(self) -> Tags:
        return self._argument().describe(super().__sklearn_tags__())
