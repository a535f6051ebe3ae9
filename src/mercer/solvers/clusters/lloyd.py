"""Lloyd's algorithm in feature space: each point to the nearest mean, each mean to the middle of its points.

The mean of a cluster is μ = Σᵢ φ(xᵢ)/s over its s points, and ‖φ(x) − μ‖² = k(x, x) − 2 Σᵢ k(xᵢ, x)/s + ‖μ‖².  All that
is needed are the sums of kernel values with each cluster, S = K M for the matrix M of who belongs where: one product
with the Gram matrix at first, and then only its columns of points that have moved.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.cluster import KMeans

from mercer.arrays import Array
from mercer.arrays.budget import require
from mercer.arrays.namespace import namespace
from mercer.arrays.place import Place
from mercer.arrays.tensors import host_array
from mercer.expansion import Expansion
from mercer.features import Nystroem
from mercer.formula.data import Rows, length
from mercer.gram import Gram
from mercer.kernels import Kernel

SINGLE = 2048  # points up to which kernel values are in float64
FUSED = 16  # clusters up to which products take right-hand sides in float64 as they are
STRIP = 2**24  # bytes of rows at a time
MOVED = 0.5  # share of points up to which it takes less to look at those that moved than at all


@dataclass(frozen=True)
class Clusters:
    """Clusters of points, and the function whose largest output says where a new point belongs."""

    labels: np.ndarray
    expansion: Expansion  # ⟨φ(x), μ⟩ − ‖μ‖²/2 for each cluster
    inertia: float
    path: np.ndarray  # the inertia after each round
    converged: bool


class KernelSums:
    """Kernel values summed up by cluster, S of shape (n, clusters), which follow the labels."""

    def __init__(self, kernel: Kernel, X: Rows, clusters: int, place: Place) -> None:
        n = length(X)
        dtype = np.float64 if n <= SINGLE else np.float32
        self.gram = Gram(kernel, X, memory=place.memory, dtype=dtype, device=place.device)
        held = not self.gram.cheap and 3 * n * n * dtype().itemsize <= place.memory
        self._matrix: Array = self.gram.dense() if held else None
        self.n, self.clusters, self._memory = n, clusters, place.memory
        self._place = place
        self.diagonal = np.asarray(host_array(self.gram.diag()), dtype=np.float64)
        self.start()

    def start(self) -> None:
        """Forget all labels."""
        self.labels = np.full(self.n, -1)
        self.sums = np.zeros((self.n, self.clusters))

    def rows(self, index: np.ndarray) -> Array:
        """Return rows of the matrix, where it is."""
        if self._matrix is None:
            return self.gram.rows(index)
        return self._matrix[namespace(self._matrix).asarray(index, device=self._matrix.device)]

    def move(self, labels: np.ndarray) -> int:
        """Let points have other labels; return how many did."""
        moved = np.flatnonzero(labels != self.labels)
        if len(moved) > MOVED * self.n and self._matrix is None:
            members = _indicate(labels, self.clusters)
            given = members if self.clusters <= FUSED else members.astype(np.float32)
            self.sums = np.asarray(host_array(self.gram @ given), dtype=np.float64)
        else:
            change = _indicate(labels[moved], self.clusters) - _indicate(self.labels[moved], self.clusters)
            for part in self._cut(len(moved)):
                rows = self.rows(moved[part])
                self.sums += host_array(rows.T @ self._place.put(change[part], self.gram.dtype))
        self.labels = labels
        return len(moved)

    def _cut(self, count: int) -> Iterator[slice]:
        step = max(1, min(STRIP, self._memory // 8) // (self.n * self.gram.dtype.itemsize))
        return (slice(start, start + step) for start in range(0, count, step))

    def measure(self) -> tuple[np.ndarray, np.ndarray, float]:
        """Return sizes of clusters, squared norms of their means, and the sum of squared distances to those."""
        sizes = np.bincount(self.labels, minlength=self.clusters).astype(np.float64)
        own = np.bincount(self.labels, self.sums[np.arange(self.n), self.labels], minlength=self.clusters)
        full = np.maximum(sizes, 1.0)
        return sizes, own / full**2, float(self.diagonal.sum() - (own / full).sum())


def _indicate(labels: np.ndarray, clusters: int) -> np.ndarray:
    out = np.zeros((len(labels), clusters))
    known = np.flatnonzero(labels >= 0)
    out[known, labels[known]] = 1.0
    return out


@dataclass(frozen=True)
class Lloyd:
    """The search for clusters, with the parameters of :class:`~mercer.models.clusters.kmeans.KernelKMeans`.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> X, rng = np.array([[0.0], [1.0], [9.0]]), np.random.RandomState(0)
    >>> found = Lloyd(2).fit(Linear(), X, Place.find(None, None), rng)
    >>> found.inertia, len(set(found.labels.tolist()))
    (0.5, 2)
    """

    clusters: int
    starts: int = 1
    max_iter: int = 300
    tol: float = 1e-6

    def fit(self, kernel: Kernel, X: Rows, place: Place, rng: np.random.RandomState) -> Clusters:
        """Return the best clusters of several starts."""
        sums, best = KernelSums(kernel, X, self.clusters, place), None
        for _ in range(self.starts):
            sums.start()
            path, converged = self._run(sums, rng)
            if best is None or path[-1] < best[0][-1]:
                best = path, converged, sums.labels, sums.measure()
        assert best is not None
        path, converged, labels, (sizes, norms, inertia) = best
        means = _indicate(labels, self.clusters) / np.maximum(sizes, 1.0)
        return Clusters(labels, Expansion(kernel, X, means, -0.5 * norms), inertia, np.array(path), converged)

    def _run(self, sums: KernelSums, rng: np.random.RandomState) -> tuple[list[float], bool]:
        """Return the inertia after each round, and whether it came to rest."""
        sums.move(seed(sums, rng))
        path: list[float] = []
        for _ in range(self.max_iter):
            sizes, norms, inertia = sums.measure()
            path.append(inertia)
            if len(path) > 1 and path[-2] - inertia <= self.tol * max(inertia, 0.0):
                return path, True
            moved = sums.move(assign(sums, sizes, norms))
            if not moved:
                return path, True
        path.append(sums.measure()[2])
        return path, False


def assign(sums: KernelSums, sizes: np.ndarray, norms: np.ndarray) -> np.ndarray:
    """Return the nearest mean of each point; a cluster that is left without points gets the one furthest from its own.

    A point stays where it is if no mean is nearer than its own by more than rounding, or labels would not come to rest.
    """
    distances = norms - 2.0 * sums.sums / np.maximum(sizes, 1.0)
    distances[:, sizes == 0] = np.inf
    place = np.arange(sums.n)
    labels, own = distances.argmin(axis=1), distances[place, sums.labels]
    slack = 8.0 * np.finfo(sums.gram.dtype).eps * (np.abs(sums.diagonal) + np.abs(own))
    labels = np.where(distances[place, labels] < own - slack, labels, sums.labels)
    counts = np.bincount(labels, minlength=sums.clusters)
    left = sums.diagonal + distances[place, labels]
    for cluster in np.flatnonzero(counts == 0):
        furthest = int(np.argmax(np.where(counts[labels] > 1, left, -np.inf)))
        counts[labels[furthest]] -= 1
        labels[furthest], counts[cluster], left[furthest] = cluster, 1, -np.inf
    return labels


def seed(sums: KernelSums, rng: np.random.RandomState) -> np.ndarray:
    """Return labels by the nearest of some points: k-means++, each the best of a few drawn by squared distance."""
    n, trials = sums.n, 2 + int(np.log(sums.clusters))
    chosen, labels = [int(rng.randint(n))], np.zeros(n, dtype=np.int64)
    nearest = _distances(sums, np.array(chosen))[0]
    for cluster in range(1, sums.clusters):
        ladder = np.cumsum(nearest)
        if ladder[-1] > 0:
            drawn = np.searchsorted(ladder, rng.uniform(size=trials) * ladder[-1], side="right")
            candidates = np.minimum(drawn, n - 1)
        else:  # all points are at chosen ones: others are as good as any
            candidates = rng.permutation(np.setdiff1d(np.arange(n), chosen))[:1]
        found = _distances(sums, candidates)
        best = int(np.argmin(np.minimum(found, nearest).sum(axis=1)))
        closer = found[best] < nearest
        nearest[closer], labels[closer] = found[best][closer], cluster
        chosen.append(int(candidates[best]))
    labels[chosen] = np.arange(sums.clusters)  # so that none is empty
    return labels


def _distances(sums: KernelSums, index: np.ndarray) -> np.ndarray:
    """Return squared distances in feature space from some points to all."""
    values = np.asarray(host_array(sums.rows(index)), dtype=np.float64)
    return np.maximum(sums.diagonal[index][:, None] + sums.diagonal - 2.0 * values, 0.0)


def cluster_features(
    kernel: Kernel, X: Rows, lloyd: Lloyd, centers: int, place: Place, rng: np.random.RandomState
) -> Clusters:
    """Return clusters of Nyström features, φ(x) = L⁻¹k_c(x), on the host: for more points than pairs are looked at."""
    n = length(X)
    centers = min(n, centers)
    require(
        8.0 * (3 * n * centers + 2 * centers**2),
        place.memory,
        f"the Nyström features of {n} points from {centers} centres",
        "give more memory or fewer centres, n_centers, or use solver='exact'",
    )
    nystroem = Nystroem(kernel, n_components=centers, random_state=rng).fit(host_array(X))
    phi: Any = np.asarray(nystroem.transform(host_array(X)), dtype=np.float64)
    found = KMeans(lloyd.clusters, n_init=lloyd.starts, max_iter=lloyd.max_iter, tol=lloyd.tol, random_state=rng)
    found.fit(phi)
    means = found.cluster_centers_
    coef = solve_triangular(nystroem.cholesky_.T, means.T, lower=False)
    function = Expansion(kernel, nystroem.centers_, coef, -0.5 * (means**2).sum(axis=1))
    converged, inertia = found.n_iter_ < lloyd.max_iter, float(found.inertia_)
    return Clusters(found.labels_.astype(np.int64), function, inertia, np.full(found.n_iter_, inertia), converged)
