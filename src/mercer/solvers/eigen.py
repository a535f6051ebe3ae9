"""Leading eigenvectors of a centred Gram matrix: exactly, by Krylov spaces, at random, or from Nyström features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh, solve_triangular
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh
from sklearn.preprocessing import KernelCenterer
from sklearn.utils import check_random_state

from mercer.arrays.budget import parse_memory, require
from mercer.arrays.namespace import orthonormal
from mercer.arrays.tensors import host_array, is_tensor, load_torch, on_device
from mercer.features import Nystroem
from mercer.formula.data import Rows, length, pick
from mercer.gram import Gram
from mercer.kernels import Kernel

ENTRY = 24.0  # bytes for each entry of a matrix that is decomposed
OVERSAMPLING = 10  # random directions beyond the number of components
HELD = 5000  # up to as many points iterations use the matrix itself, if it fits, rather than evaluate it every time
REMEDY = "ask for few components with eigen_solver='randomized' or 'nystroem', or give more memory"
STRIP = 2**22  # numbers in one piece of the Nyström features


@dataclass(frozen=True)
class Centred:
    """HKH with H = I − 11ᵀ/n, kept as a matrix or evaluated at every product."""

    size: int
    means: Any  # of the columns of K, which new points are centred by
    matrix: Any | None  # an array, or a tensor on a device
    gram: Any

    @classmethod
    def of(cls, gram: Any, dense: bool, budget: int) -> Centred:
        """Centre a Gram, or an array of its values."""
        n = gram.shape[0]
        if not dense:
            return cls(n, host_array(gram @ np.ones(n)) / n, None, gram)
        require(ENTRY * n * n, budget, f"an eigendecomposition of the {n} × {n} matrix", REMEDY)
        K = gram.dense(np.float64) if isinstance(gram, Gram) else np.array(gram, dtype=np.float64)
        means = K.mean(axis=0)
        if is_tensor(K):
            K -= means
            K -= means[:, None] - means.mean()
            return cls(n, host_array(means), K, None)
        return cls(n, means, KernelCenterer().fit(K).transform(K, copy=False), None)

    @property
    def device(self) -> Any:
        """Where products are computed, None for the host."""
        if self.matrix is None:
            return getattr(self.gram, "device", None)
        return self.matrix.device if is_tensor(self.matrix) else None

    def __call__(self, V: Any) -> Any:
        """Multiply an array, or a tensor on a device."""
        if self.matrix is not None:
            return self.matrix @ V
        product = self.gram @ (V - V.mean(axis=0))
        return product - product.mean(axis=0)

    def on_arrays(self, V: np.ndarray) -> np.ndarray:
        """Multiply an array, wherever that happens."""
        return np.asarray(host_array(self(self.place(V))))

    def place(self, V: np.ndarray) -> Any:
        """Return an array as products take it."""
        return V if self.device is None else on_device(V, self.device, np.float64)


def exact(K: Centred, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest eigenvalues, in ascending order, and their eigenvectors."""
    if is_tensor(K.matrix):
        values, vectors = load_torch().linalg.eigh(K.matrix)
        return host_array(values[-count:]), host_array(vectors[:, -count:].contiguous())
    return eigh(K.matrix, subset_by_index=(K.size - count, K.size - 1))


def krylov(
    K: Centred, count: int, tol: float, max_iter: int | None, start: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the same by ARPACK's implicitly restarted Lanczos method."""
    operator = LinearOperator((K.size, K.size), matvec=K.on_arrays, matmat=K.on_arrays, dtype=np.float64)
    try:
        return eigsh(operator, count, which="LA", tol=tol, maxiter=max_iter, v0=start)
    except ArpackNoConvergence as failure:
        message = (
            f"KernelPCA: only {len(failure.eigenvalues)} of {count} eigenvectors converged within max_iter; raise "
            "max_iter or tol, or use another eigen_solver"
        )
        raise ArpackNoConvergence(message, failure.eigenvalues, failure.eigenvectors) from None


def randomised(
    multiply: Callable[[Any], Any],
    size: int,
    count: int,
    power: int,
    rng: np.random.RandomState,
    place: Callable[[np.ndarray], Any] = np.asarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalues that are largest in size, from the range of the matrix on random vectors.

    Each of the ``power`` products makes small eigenvalues matter less.  ``place`` takes the random vectors to where
    products are computed.
    """
    basis = place(rng.normal(size=(size, min(size, count + OVERSAMPLING))))
    for _ in range(power + 1):
        basis = orthonormal(multiply(basis))
    inside = host_array(basis.T @ multiply(basis))
    values, vectors = np.linalg.eigh((inside + inside.T) / 2)
    largest = np.argsort(-np.abs(values), kind="stable")[:count]
    return values[largest], np.asarray(host_array(basis @ place(vectors[:, largest])))


def decompose(
    gram: Any,
    count: int,
    solver: str,
    *,
    tol: float,
    max_iter: int | None,
    iterated_power: Any,
    random_state: Any,
    memory: Any,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the means of the columns of a Gram or an array, and eigenvalues and eigenvectors once it is centred."""
    n, budget = gram.shape[0], parse_memory(memory)
    keep = solver == "dense" or not isinstance(gram, Gram) or (n <= HELD and fits(n, memory))
    K = Centred.of(gram, keep, budget)
    rng = check_random_state(random_state)
    if solver == "dense":
        return K.means, *exact(K, count)
    if solver == "arpack":
        return K.means, *krylov(K, count, tol, max_iter, rng.uniform(-1, 1, n))
    power = (7 if count < 0.1 * n else 4) if iterated_power == "auto" else iterated_power
    return K.means, *randomised(K, n, count, power, rng, K.place)


def fits(n: int, memory: Any) -> bool:
    """Whether a matrix of n rows, centred and decomposed, fits into the memory budget."""
    return ENTRY * n * n <= parse_memory(memory)


@dataclass(frozen=True)
class Features:
    """Principal components of Nyström features φ(x) = L⁻¹k_c(x), and them as expansions at the centres."""

    eigenvalues: np.ndarray
    eigenvectors: np.ndarray
    centers: Any
    directions: np.ndarray  # L⁻ᵀv for each component: coefficients at the centres
    offsets: np.ndarray  # what the mean of the features takes off each component


def from_features(kernel: Kernel, X: Rows, centers: int, count: int, random_state: Any, memory: Any) -> Features:
    """Return the leading components of centred Nyström features, which are streamed over the points."""
    n, rng = length(X), check_random_state(random_state)
    require(
        8.0 * (3 * centers * centers + n * (centers + count)),
        parse_memory(memory),
        f"the principal components of {centers} Nyström features",
        "give more memory or use fewer centres, n_centers",
    )
    nystroem = Nystroem(kernel, n_components=centers, random_state=rng).fit(X)
    size = len(nystroem.cholesky_)
    strips = [np.arange(a, min(a + max(1, STRIP // size), n)) for a in range(0, n, max(1, STRIP // size))]

    def features(rows: np.ndarray) -> np.ndarray:
        return np.asarray(nystroem.transform(pick(X, rows)), dtype=np.float64)

    mean = sum(features(rows).sum(axis=0) for rows in strips) / n
    scatter = np.zeros((size, size))
    for rows in strips:
        centred = features(rows) - mean
        scatter += centred.T @ centred
    values, vectors = exact(Centred(size, mean, scatter, None), min(count, size))
    scores = np.concatenate([(features(rows) - mean) @ vectors for rows in strips])
    norms = np.linalg.norm(scores, axis=0)
    return Features(
        values,
        np.divide(scores, norms, out=np.zeros_like(scores), where=norms > 0),
        nystroem.centers_,
        solve_triangular(nystroem.cholesky_.T, vectors, lower=False),
        mean @ vectors,
    )
