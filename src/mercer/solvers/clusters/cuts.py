"""Normalised cuts: leading eigenvectors of D^{-1/2} K D^{-1/2}, whose rows point the same way within a cluster.

D is the diagonal of the sums of rows of K, the degrees.  With eigenvectors vⱼ and eigenvalues λⱼ a point x has the
coordinates Σᵢ k(x, xᵢ) vⱼᵢ/(λⱼ √dᵢ), but for a factor that its length takes away: at training points these are the rows
of the eigenvectors, and elsewhere Nyström's extension of them (Ng, Jordan and Weiss, 2001).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import eigh, solve_triangular
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from mercer.arrays.budget import require
from mercer.arrays.place import Place
from mercer.arrays.tensors import host_array
from mercer.expansion import Expansion
from mercer.features import Nystroem
from mercer.formula.data import Rows, length, pick
from mercer.gram import Gram
from mercer.kernels import Kernel

from ..neighbors.search import find_nearest

SMALL = 1000  # points up to which the whole matrix is decomposed
STRIP = 2**22  # numbers in one piece of features or of kernel values
PRECISION = 1e-4  # of eigenvectors where a product looks at all pairs: clusters need no more
FINE = 1e-6  # of those of neighbours: parts that hardly touch have eigenvalues 1e-5 from 1, and products cost little
LOOKED_AT = 200  # points whose kernel values are looked at for negative ones


@dataclass(frozen=True)
class Cut:
    """Eigenvalues in decreasing order, rows of eigenvectors, and what gives those of other points."""

    eigenvalues: np.ndarray
    embedding: np.ndarray  # of shape (n, count), rows of length 1
    coordinates: Expansion  # of any point, before it is brought to length 1


def cut_exactly(kernel: Kernel, X: Rows, count: int, place: Place, rng: np.random.RandomState) -> Cut:
    """Look at all pairs of points, and store none of them where there are many."""
    n = length(X)
    gram = Gram(kernel, X, memory=place.memory, dtype=np.float64 if n <= SMALL else np.float32, device=place.device)
    matrix = gram.dense() if n <= SMALL else None

    def multiply(V: np.ndarray) -> np.ndarray:
        product = gram @ place.put(V) if matrix is None else matrix @ place.put(V)
        return np.asarray(host_array(product), dtype=np.float64)

    roots = _find_roots(multiply(np.ones((n, 1)))[:, 0])
    if matrix is not None:
        dense = np.asarray(host_array(matrix), dtype=np.float64) / roots / roots[:, None]
        values, vectors = eigh(dense, subset_by_index=(n - count, n - 1))
    else:
        scaled = LinearOperator(
            (n, n), matvec=lambda v: multiply(v.reshape(-1, 1) / roots[:, None])[:, 0] / roots, dtype=np.float64
        )
        values, vectors = _find_leading(scaled, count, PRECISION, rng)
    return _finish(kernel, X, values, vectors, roots)


def cut_neighbors(kernel: Kernel, X: Rows, count: int, neighbors: int, place: Place, rng: np.random.RandomState) -> Cut:
    """Count kernel values of nearest neighbours only, half where one point is a neighbour of the other but not back."""
    n = length(X)
    similar, index = _find_similar(kernel, X, X, min(neighbors, n - 1), place)
    rows = np.repeat(np.arange(n), index.shape[1])
    graph = sparse.csr_array((similar.ravel(), (rows, index.ravel())), shape=(n, n))
    own = sparse.diags_array(np.asarray(kernel.diag(host_array(X)), dtype=np.float64))
    graph = (graph + graph.T) / 2 + own
    roots = _find_roots(np.asarray(graph.sum(axis=1)).ravel())
    scaled = sparse.csr_array(sparse.diags_array(1.0 / roots) @ graph @ sparse.diags_array(1.0 / roots))
    known = _cut_parts(scaled, roots, count)
    left = count - known.shape[1]
    values, vectors = np.ones(known.shape[1]), known
    if left and n <= SMALL:
        more = eigh(scaled.toarray() - known @ known.T, subset_by_index=(n - left, n - 1))
    elif left:  # what is known already is taken away, so that it is not found again
        rest = LinearOperator((n, n), matvec=lambda v: scaled @ v - known @ (known.T @ v), dtype=np.float64)
        more = _find_leading(rest, left, FINE, rng)
    if left:
        values, vectors = np.concatenate([values, more[0]]), np.hstack([vectors, more[1]])
    return _finish(kernel, X, values, vectors, roots)


def _cut_parts(scaled: sparse.csr_array, roots: np.ndarray, count: int) -> np.ndarray:
    """Return eigenvectors of the eigenvalue 1 that need no iteration: one for each part that touches no other.

    Of more parts than clusters, some are put together, the largest first and each to those that have fewest points.
    """
    edges = scaled.copy()
    edges.data[edges.data < np.finfo(np.float64).eps] = 0.0  # which rounding cannot tell from none
    edges.eliminate_zeros()
    parts, label = connected_components(edges, directed=False)
    sizes = np.bincount(label, minlength=parts)
    group, filled = np.arange(parts), np.zeros(count, dtype=np.int64)
    if parts > count:
        for part in np.argsort(-sizes, kind="stable"):
            group[part] = np.argmin(filled)
            filled[group[part]] += sizes[part]
    owner = group[label]
    vectors = np.where(owner[:, None] == np.arange(min(parts, count)), roots[:, None], 0.0)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=0))


def cut_features(kernel: Kernel, X: Rows, count: int, centers: int, place: Place, rng: np.random.RandomState) -> Cut:
    """Cut Nyström features φ(x) = L⁻¹k_c(x), for which K is ΦΦᵀ, on the host."""
    points, n = host_array(X), length(X)
    centers = min(n, centers)
    require(
        8.0 * (3 * centers**2 + n * (count + 2)) + 24.0 * STRIP, place.memory,
        f"the Nyström features of {centers} centres and {count} eigenvectors of {n} points",
        "give more memory or fewer centres, n_centers",
    )  # fmt: skip
    nystroem = Nystroem(kernel, n_components=centers, random_state=rng).fit(points)
    step = max(1, STRIP // centers)

    def strips() -> Any:
        for start in range(0, n, step):
            yield np.asarray(nystroem.transform(pick(points, np.arange(start, min(start + step, n)))), dtype=np.float64)

    total = sum(features.sum(axis=0) for features in strips())
    roots = _find_roots(np.concatenate([features @ total for features in strips()]))
    scatter, start = np.zeros((len(total), len(total))), 0
    for features in strips():
        scaled = features / roots[start : start + len(features), None]
        scatter += scaled.T @ scaled
        start += len(features)
    count = min(count, len(total))
    values, vectors = eigh(scatter, subset_by_index=(len(total) - count, len(total) - 1))
    order = np.argsort(-values)
    values, vectors = np.maximum(values[order], 0.0), vectors[:, order]
    embedding = np.concatenate([features @ vectors for features in strips()])
    coef = solve_triangular(nystroem.cholesky_.T, vectors, lower=False)
    return Cut(values, shorten(embedding), Expansion(kernel, nystroem.centers_, coef))


def extend_to_neighbors(f: Expansion, X: Rows, neighbors: int, place: Place) -> np.ndarray:
    """Return the coordinates of points by their nearest neighbours among the centres of an expansion alone."""
    values, index = _find_similar(f.kernel, X, f.centers, min(neighbors, length(f.centers)), place)
    return np.einsum("mk,mkq->mq", values, np.asarray(f.coef)[index])


def shorten(rows: np.ndarray) -> np.ndarray:
    """Return rows of length 1; those of length 0 stay as they are.

    Examples
    --------
    >>> shorten(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1.0)


def refuse_negative(kernel: Kernel, X: Rows) -> None:
    """Raise if kernel values among some of the points are negative, which no similarity is."""
    n = length(X)
    some = pick(X, np.unique(np.arange(min(n, LOOKED_AT)) * n // min(n, LOOKED_AT)))
    values = np.asarray(host_array(Gram(kernel, some).dense()))
    if values.min() < 0:
        raise ValueError(
            f"spectral clustering takes kernel values for similarities, which are never negative, but {kernel!r} has "
            f"the value {values.min():.3g} here; use a Gaussian, or a kernel of counts, or exp(kernel)"
        )


def _find_roots(degrees: np.ndarray) -> np.ndarray:
    if not (degrees > 0).all():
        worst = int(np.argmin(degrees))
        raise ValueError(
            f"spectral clustering needs points that are similar to some other, but the kernel values of row {worst} "
            f"sum to {degrees[worst]:.3g}; leave it out, use a kernel without negative values, a longer length scale, "
            "or more centres, n_centers"
        )
    return np.sqrt(degrees)


def _find_leading(
    matrix: Any, count: int, precision: float, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    n = matrix.shape[0]
    try:
        return eigsh(matrix, count, which="LA", tol=precision, v0=rng.uniform(-1, 1, n), ncv=min(n, max(4 * count, 40)))
    except ArpackNoConvergence as failure:
        raise ValueError(
            f"only {len(failure.eigenvalues)} of {count} eigenvectors converged, because many eigenvalues are nearly "
            "the same: use more neighbours, n_neighbors, a longer length scale, or solver='nystroem'"
        ) from None


def _finish(kernel: Kernel, X: Rows, values: np.ndarray, vectors: np.ndarray, roots: np.ndarray) -> Cut:
    order = np.argsort(-values)
    values, vectors = values[order], vectors[:, order]
    least = np.finfo(np.float64).eps * len(roots) * max(float(values[0]), 1.0)
    inverse = np.divide(1.0, values, out=np.zeros_like(values), where=values > least)
    return Cut(values, shorten(vectors), Expansion(kernel, X, vectors / roots[:, None] * inverse))


def _find_similar(kernel: Kernel, X: Rows, Z: Rows, neighbors: int, place: Place) -> tuple[np.ndarray, np.ndarray]:
    """Return kernel values (k(x, x) + k(z, z) − ‖φ(x) − φ(z)‖²)/2 of nearest neighbours, not of a point with itself."""
    distances, index = find_nearest(kernel, X, Z, neighbors, place=place, exclude=X is Z)
    own, others = (np.asarray(kernel.diag(host_array(side)), dtype=np.float64) for side in (X, Z))
    return np.maximum((own[:, None] + others[index] - distances**2) / 2.0, 0.0), index
