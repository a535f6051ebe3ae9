"""Principal components of a kernel: leading eigenvectors of its centred Gram matrix, as functions of new points.

They are found exactly, by Krylov spaces, at random, or from Nyström features.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.linalg import solve_triangular
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh
from sklearn.utils import check_random_state
from sklearn.utils.extmath import svd_flip
from sklearn.utils.validation import _check_psd_eigenvalues

from mercer.arrays import Array
from mercer.arrays.budget import require
from mercer.arrays.namespace import namespace
from mercer.arrays.place import Place
from mercer.arrays.tensors import host_array
from mercer.expansion import Expansion
from mercer.features import Nystroem
from mercer.formula.data import Rows, length, pick
from mercer.gram import Gram
from mercer.kernels import Kernel
from mercer.linalg.decomposition import decompose_largest

ENTRY = 24.0  # bytes for each entry of a matrix that is decomposed
OVERSAMPLING = 10  # random directions beyond the number of components
HELD = 5000  # up to as many points iterations use the matrix itself, if it fits, though it is quickly evaluated again
REMEDY = "ask for few components with eigen_solver='randomized' or 'nystroem', or give more memory"
STRIP = 2**22  # numbers in one piece of the Nyström features

Pairs = tuple[np.ndarray, np.ndarray]  # eigenvalues and eigenvectors
EigenSolver = Literal["auto", "dense", "arpack", "randomized", "nystroem"]


@dataclass(frozen=True)
class Components:
    """The components found, in decreasing order, and the components of any point as an expansion."""

    eigenvalues: np.ndarray
    eigenvectors: np.ndarray
    expansion: Expansion
    solver: str
    missing: int  # how many of those asked for the features do not have


@dataclass(frozen=True)
class PrincipalComponents:
    """The search for principal components, with the parameters of :class:`~mercer.models.pca.KernelPCA`.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> PrincipalComponents(1).fit(Linear(), np.array([[0.0], [3.0]]), Place.find(None, None)).eigenvalues.round(6)
    array([4.5])
    """

    count: int | None = None
    solver: EigenSolver = "auto"
    tol: float = 0.0
    max_iter: int | None = None
    power: int | Literal["auto"] = "auto"
    centers: int | None = None
    remove_zeros: bool = False
    random_state: Any = None

    def fit(self, kernel: Kernel, X: Rows, place: Place) -> Components:
        """Return the components of points, computed at a place (features always on the host)."""
        n = length(X)
        count = n if self.count is None else min(n, self.count)
        solver = self._choose(n, count, place.memory)
        if solver == "nystroem":
            found = self._decompose_features(kernel, host_array(X), count, place.memory)
        else:
            gram = Gram(kernel, X, memory=place.memory, dtype=np.float64, device=place.device)
            found = self._decompose_gram(gram, X, count, solver, place)
        flipped, _ = svd_flip(u=found.vectors.copy(), v=None)
        signs = np.where((flipped * found.vectors).sum(axis=0) < 0, -1.0, 1.0)
        order = found.values.argsort()[::-1]
        if self.remove_zeros or self.count is None:
            order = order[found.values[order] > 0]
        coef = (signs * found.directions)[:, order]
        function = Expansion(kernel, found.centers, coef, (-signs * found.offsets)[order])
        missing = 0 if self.count is None else count - len(found.values)
        return Components(found.values[order], flipped[:, order], function, solver, missing)

    def _choose(self, n: int, count: int, memory: int) -> str:
        if self.solver == "auto":
            few = n > 200 and count < 10
            return "arpack" if few else "dense" if count == n or fits(n, memory) else "randomized"
        return "dense" if self.solver == "arpack" and count >= n else self.solver

    def _decompose_gram(self, gram: Gram, X: Rows, count: int, solver: str, place: Place) -> _Spectrum:
        n, rng = gram.shape[0], check_random_state(self.random_state)
        K = CentredGram(gram, place, solver == "dense" or (fits(n, place.memory) and (n <= HELD or not gram.cheap)))
        if solver == "dense":
            values, vectors = K.find_all(count)
        elif solver == "arpack":
            values, vectors = K.find_by_krylov(count, self.tol, self.max_iter, rng.uniform(-1, 1, n))
        else:
            power = (7 if count < 0.1 * n else 4) if self.power == "auto" else self.power
            values, vectors = K.find_at_random(count, power, rng)
        values = _check_psd_eigenvalues(values, enable_warnings=False)
        roots = np.sqrt(values)
        directions = np.divide(vectors, roots, out=np.zeros_like(vectors), where=roots > 0)
        directions -= directions.mean(axis=0)
        return _Spectrum(values, vectors, X, directions, K.means @ directions)

    def _decompose_features(self, kernel: Kernel, X: Rows, count: int, memory: int) -> _Spectrum:
        """Return the components of centred Nyström features φ(x) = L⁻¹k_c(x), which are streamed over the points."""
        n = length(X)
        centers = min(n, max(200, 10 * count) if self.centers is None else self.centers)
        count = min(count, centers)
        require(
            8.0 * (3 * centers * centers + n * (centers + count)),
            memory,
            f"the principal components of {centers} Nyström features",
            "give more memory or use fewer centres, n_centers",
        )
        rng = check_random_state(self.random_state)
        nystroem = Nystroem(kernel, n_components=centers, random_state=rng).fit(X)
        size = len(nystroem.cholesky_)

        def strips() -> Iterator[np.ndarray]:
            step = max(1, STRIP // size)
            for start in range(0, n, step):
                rows = np.arange(start, min(start + step, n))
                yield np.asarray(nystroem.transform(pick(X, rows)), dtype=np.float64)

        mean = sum(features.sum(axis=0) for features in strips()) / n
        scatter = np.zeros((size, size))
        for features in strips():
            centred = features - mean
            scatter += centred.T @ centred
        values, vectors = find_largest(scatter, min(count, size))
        scores = np.concatenate([(features - mean) @ vectors for features in strips()])
        norms = np.linalg.norm(scores, axis=0)
        return _Spectrum(
            _check_psd_eigenvalues(values, enable_warnings=False),
            np.divide(scores, norms, out=np.zeros_like(scores), where=norms > 0),
            nystroem.centers_,
            solve_triangular(nystroem.cholesky_.T, vectors, lower=False),
            mean @ vectors,
        )


@dataclass(frozen=True)
class _Spectrum:
    """Eigenvalues, eigenvectors of unit length, and the components as expansions at some centres."""

    values: np.ndarray
    vectors: np.ndarray
    centers: Rows
    directions: np.ndarray  # coefficients of each component at the centres
    offsets: np.ndarray  # what the mean of the features takes off each component


class CentredGram:
    """HKH with H = I − 11ᵀ/n, held as a matrix or evaluated at every product; products are arrays of the place."""

    def __init__(self, gram: Gram, place: Place, held: bool) -> None:
        self.gram, self.place, self.size = gram, place, gram.shape[0]
        self.matrix: Array = None
        if held:
            n = self.size
            require(ENTRY * n * n, place.memory, f"an eigendecomposition of the {n} × {n} matrix", REMEDY)
            self.matrix = gram.dense(np.float64)
            means = self.matrix.mean(axis=0)
            self.matrix -= means
            self.matrix -= self.matrix.mean(axis=1)[:, None]
        else:
            means = (gram @ np.ones(self.size)) / self.size
        self.means: np.ndarray = host_array(means)  # of the columns of K, which new points are centred by

    def __matmul__(self, V: Array) -> Array:
        if self.matrix is not None:
            return self.matrix @ V
        product = self.gram @ (V - V.mean(axis=0))
        return product - product.mean(axis=0)

    def find_all(self, count: int) -> Pairs:
        """Return the largest eigenvalues, in ascending order, and their eigenvectors."""
        if self.place.on_host:
            return find_largest(self.matrix, count)
        values, vectors = namespace(self.matrix).linalg.eigh(self.matrix)
        return host_array(values[-count:]), np.ascontiguousarray(host_array(vectors[:, -count:]))

    def find_by_krylov(self, count: int, tol: float, max_iter: int | None, start: np.ndarray) -> Pairs:
        """Return the same by ARPACK's implicitly restarted Lanczos method."""

        def multiply(V: np.ndarray) -> np.ndarray:
            return np.asarray(host_array(self @ self.place.put(V)))

        operator = LinearOperator((self.size, self.size), matvec=multiply, matmat=multiply, dtype=np.float64)
        try:
            return eigsh(operator, count, which="LA", tol=tol, maxiter=max_iter, v0=start)
        except ArpackNoConvergence as failure:
            message = (
                f"KernelPCA: only {len(failure.eigenvalues)} of {count} eigenvectors converged within max_iter; raise "
                "max_iter or tol, or use another eigen_solver"
            )
            raise ArpackNoConvergence(message, failure.eigenvalues, failure.eigenvectors) from None

    def find_at_random(self, count: int, power: int, rng: np.random.RandomState) -> Pairs:
        """Return the eigenvalues that are largest in size, from the range of the matrix on random vectors.

        Each of the ``power`` products makes small eigenvalues matter less.
        """
        basis = self.place.put(rng.normal(size=(self.size, min(self.size, count + OVERSAMPLING))))
        for _ in range(power + 1):
            basis = namespace(basis).linalg.qr(self @ basis)[0]
        inside = host_array(basis.T @ (self @ basis))
        values, vectors = np.linalg.eigh((inside + inside.T) / 2)
        largest = np.argsort(-np.abs(values), kind="stable")[:count]
        return values[largest], np.asarray(host_array(basis @ self.place.put(vectors[:, largest])))


def find_largest(matrix: np.ndarray, count: int) -> Pairs:
    """Return the largest eigenvalues of a matrix, in ascending order, and their eigenvectors."""
    return decompose_largest(matrix, count)


def fits(n: int, memory: int) -> bool:
    """Whether a matrix of n rows, centred and decomposed, fits into a memory budget."""
    return ENTRY * n * n <= memory
