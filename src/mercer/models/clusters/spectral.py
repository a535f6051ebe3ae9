"""Spectral clustering by any kernel."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer.arrays.namespace import namespace
from mercer.arrays.shapes import Axes, Inside
from mercer.arrays.tensors import host_array, is_tensor
from mercer.estimators.engine import where_the_data_lives
from mercer.estimators.kernel_argument import KernelArgument, kernel_argument
from mercer.estimators.kernels import KernelLike, default_gaussian
from mercer.estimators.targets import check_whole
from mercer.estimators.transaction import all_or_nothing
from mercer.expansion import Expansion, evaluate_expansion
from mercer.features.params import KernelParams
from mercer.formula.data import Rows, length
from mercer.kernels import Gaussian, Kernel
from mercer.solvers.clusters.cuts import (
    Cut,
    cut_exactly,
    cut_features,
    cut_neighbors,
    extend_to_neighbors,
    refuse_negative,
    shorten,
)

MANY = 30_000  # points from which on "auto" takes Nyström features
CENTERS = 500  # of Nyström features, and 20 for each cluster at least
SOLVERS = ("auto", "exact", "neighbors", "nystroem")

Solver = Literal["auto", "exact", "neighbors", "nystroem"]


class KernelSpectralClustering(KernelParams, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Spectral clustering: clusters that hang together, of any shape, by any kernel without negative values.

    With the degrees dᵢ = Σⱼ k(xᵢ, xⱼ) it takes the leading eigenvectors of D^{-1/2} K D^{-1/2}, brings the n rows of
    them to length 1, and finds k-means clusters among these: about the cut of the points into parts that are least
    similar to each other for their sizes.  See Ng, Jordan and Weiss, NIPS (2001), and Fowlkes et al., PAMI 26 (2004).

    Parameters
    ----------
    n_clusters : int, default=8
        How many.
    kernel : Kernel, str or callable, optional
        A mercer kernel, on any objects; a name of ``sklearn.metrics.pairwise``; a function of two rows; or
        "precomputed", and then X is the matrix of similarities.  If not given, a Gaussian of a third of the data's own
        scale: clusters are told apart by what is near.
    solver : {"auto", "exact", "neighbors", "nystroem"}, default="auto"
        "exact" looks at all pairs of points, and stores none of them if they are many; "neighbors" counts kernel values
        of ``n_neighbors`` nearest neighbours only; "nystroem" takes features of ``n_centers`` centres, for 10⁵ points
        and more.  "auto" is "exact" up to 30,000 points, and "nystroem" beyond.
    n_neighbors : int, default=10
        Of "neighbors".
    n_centers : int, optional
        Of "nystroem"; 500, or 20 for each cluster if that is more, if not given.
    n_init : int, default=10
        How many times k-means starts; the best is kept.
    random_state : int, RandomState or None, default=None
        The seed.
    memory : int or str, optional
        Budget in bytes, or a text such as "2GB"; 60 % of what is free if not given.
    device : str or torch.device, optional
        Where to compute products with the Gram matrix, such as "cuda"; tensors are computed with where they are, and
        everything else on the host.

    Attributes
    ----------
    labels_ : int array of shape (n,)
        The cluster of each training point.
    eigenvalues_ : array of shape (n_clusters,)
        The leading eigenvalues, 1 first: as many near 1 as there are parts that hardly touch.
    embedding_ : array of shape (n, n_clusters)
        The rows of the eigenvectors, of length 1.
    cluster_centers_ : array of shape (n_clusters, n_clusters)
        Means of the clusters among them.
    kernel_ : Kernel
        The kernel used.
    solver_ : str
        The solver used.
    expansion_ : Expansion
        The coordinates of any point, before it is brought to length 1.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from mercer import KernelSpectralClustering
    >>> from mercer.kernels import Gaussian
    >>> X, ring = make_circles(200, factor=0.4, noise=0.03, random_state=0)
    >>> model = KernelSpectralClustering(2, kernel=Gaussian(0.1), random_state=0).fit(X)
    >>> sorted(set(zip(ring.tolist(), (model.labels_ == model.labels_[0]).tolist()))) in (
    ...     [(0, False), (1, True)], [(0, True), (1, False)])
    True
    >>> bool(model.predict(X[:1])[0] == model.labels_[0])
    True
    """

    kernel_: Kernel
    labels_: Annotated[np.ndarray, Axes("n", of="iu")]
    eigenvalues_: Annotated[np.ndarray, Axes("q")]
    embedding_: Annotated[np.ndarray, Axes("n q")]
    cluster_centers_: Annotated[np.ndarray, Axes("k q")]
    solver_: str
    expansion_: Annotated[Expansion, Inside(q="q")]

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: KernelLike | None = None,
        solver: Solver = "auto",
        n_neighbors: int = 10,
        n_centers: int | None = None,
        n_init: int = 10,
        random_state: Any = None,
        memory: float | str | None = None,
        device: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.solver = solver
        self.n_neighbors = n_neighbors
        self.n_centers = n_centers
        self.n_init = n_init
        self.random_state = random_state
        self.memory = memory
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
            count, starts = self._check_parameters()
            argument = self._argument()
            X = argument.check(X, reset=True)
            points = argument.points(X)
            n = length(points)
            if n < count:
                raise ValueError(
                    f"KernelSpectralClustering: n_samples={n} should be >= n_clusters={count}; ask for fewer clusters"
                )
            kernel = self._find_kernel(argument, X)
            refuse_negative(kernel, host_array(points))
            many = n > MANY and not argument.is_matrix
            self.solver_ = ("nystroem" if many else "exact") if self.solver == "auto" else self.solver
            rng = check_random_state(self.random_state)
            found = self._cut(kernel, points, count, argument, rng)
            means = KMeans(count, n_init=starts, random_state=rng).fit(found.embedding)
            self.kernel_, self.expansion_ = kernel, found.coordinates
            self.eigenvalues_, self.embedding_ = found.eigenvalues, found.embedding
            self.labels_, self.cluster_centers_ = means.labels_.astype(np.int64), means.cluster_centers_
        return self

    @where_the_data_lives
    def predict(self, X: Rows) -> np.ndarray:
        """Return the cluster of points, by the extension of the eigenvectors to them.

        Parameters
        ----------
        X : collection of m objects
            The points; with a precomputed kernel its values between them and all training points, shape (m, n).

        Returns
        -------
        int array of shape (m,)
        """
        check_is_fitted(self)
        points, f = self._argument().new_points(X), self.expansion_
        place = self._argument().place(points, f.centers)
        if self.solver_ == "neighbors":
            values: Any = extend_to_neighbors(f, points, self.n_neighbors + 1, place)
        else:
            values = evaluate_expansion(f.kernel, points, f.centers, f.coef, f.intercept, place.memory, place.device)
        rows = shorten(np.asarray(host_array(values), dtype=np.float64).reshape(length(points), -1))
        means = self.cluster_centers_
        found = (rows @ means.T - 0.5 * (means**2).sum(axis=1)).argmax(axis=1)  # the nearest, as ‖r − m‖² says
        return namespace(X).asarray(found, device=X.device) if is_tensor(X) else found

    def _cut(
        self, kernel: Kernel, points: Rows, count: int, argument: KernelArgument, rng: np.random.RandomState
    ) -> Cut:
        place = argument.place(points)
        if self.solver_ == "neighbors":
            return cut_neighbors(kernel, points, count, check_whole(self, "n_neighbors", self.n_neighbors), place, rng)
        if self.solver_ == "nystroem":
            centers = max(CENTERS, 20 * count) if self.n_centers is None else self.n_centers
            return cut_features(kernel, points, count, centers, place, rng)
        return cut_exactly(kernel, points, count, place, rng)

    def _find_kernel(self, argument: KernelArgument, X: Rows) -> Kernel:
        if self.kernel is not None:
            return argument.resolve(X, assume_psd=True)
        scale = default_gaussian(X, None, argument.place(X).device).length_scale
        return Gaussian(float(np.asarray(scale)) / 3.0)

    def _argument(self) -> KernelArgument:
        return kernel_argument(self, Gaussian() if self.kernel is None else self.kernel)

    def _check_parameters(self) -> tuple[int, int]:
        """Raise unless counts and the solver are what they may be; return clusters and starts."""
        if self.solver not in SOLVERS:
            raise ValueError(f"KernelSpectralClustering: solver must be one of {SOLVERS}, got {self.solver!r}")
        if self.solver in ("neighbors", "nystroem") and self._argument().is_matrix:
            raise ValueError(
                f"KernelSpectralClustering: solver={self.solver!r} needs a kernel, not kernel='precomputed'"
            )
        check_whole(self, "n_centers", self.n_centers, none=True)
        check_whole(self, "n_neighbors", self.n_neighbors)
        return check_whole(self, "n_clusters", self.n_clusters), check_whole(self, "n_init", self.n_init)

    def __sklearn_tags__(self) -> Tags:
        return self._argument().describe(super().__sklearn_tags__())
