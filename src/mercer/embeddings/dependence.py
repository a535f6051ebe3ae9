"""How much pairs depend on each other: the covariance of their features, from sums of products of kernel values."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from mercer.arrays import Array
from mercer.arrays.namespace import namespace
from mercer.arrays.place import Place
from mercer.arrays.tensors import host_array
from mercer.formula.data import Rows
from mercer.gram import Gram
from mercer.kernels import Kernel

from .samples import check_paired, check_sample, default_kernel, make_gram, read_kernels

LEAST = 4  # pairs that the unbiased estimator needs
STRIP = 2**22  # entries of each matrix at a time
GATHERED = 2**16  # entries of permuted matrices at a time: those of small ones together
DIAGONALS = 2**22  # entries of wrapped diagonals at a time


def hsic(
    X: Rows,
    Y: Rows,
    kernel_x: Kernel | None = None,
    kernel_y: Kernel | None = None,
    *,
    estimator: Literal["unbiased", "biased"] = "unbiased",
    memory: float | str | None = None,
    device: Any = None,
) -> float:
    """Return the Hilbert–Schmidt independence criterion of pairs: the squared norm of the covariance of their features.

    With kernels such as the Gaussian it is 0 only if x and y are independent.

    Parameters
    ----------
    X : collection of n objects
        The first of each pair.
    Y : collection of n objects
        The second of each pair, of any other kind.
    kernel_x : Kernel, optional
        The kernel of X; for vectors a Gaussian of the median distance if not given.
    kernel_y : Kernel, optional
        The kernel of Y.
    estimator : {"unbiased", "biased"}, default="unbiased"
        "biased" is tr(KHLH)/n² with H = I − 11ᵀ/n, and never negative; "unbiased" leaves out what points have with
        themselves.
    memory : int or str, optional
        Budget in bytes, or a text such as "2GB"; 60 % of what is free if not given.
    device : str or torch.device, optional
        Where to compute, such as "cuda"; tensors are computed with where they are.

    Returns
    -------
    float

    Examples
    --------
    With linear kernels it is the sum of squared covariances:

    >>> from mercer.embeddings import hsic
    >>> from mercer.kernels import Linear
    >>> hsic([[0.0], [2.0]], [[0.0], [6.0]], Linear(), Linear(), estimator="biased")
    9.0
    """
    if estimator not in ("unbiased", "biased"):
        raise ValueError(f"hsic: estimator must be 'unbiased' or 'biased', got {estimator!r}")
    unbiased = estimator == "unbiased"
    sides = []
    for name, data, kernel in (("X", X, kernel_x), ("Y", Y, kernel_y)):
        found = read_kernels("hsic", kernel, several=False)
        points = check_sample("hsic", name, data, kernel, LEAST if unbiased else 1)
        sides.append((points, default_kernel(points) if found is None else found[0]))
    n = check_paired("hsic", X=sides[0][0], Y=sides[1][0])
    place = Place.find(device, memory, X, Y)
    one, two = (make_gram(kernel, points, place) for points, kernel in sides)
    product, r, s = _sum_products(one, two, drop_diagonal=unbiased)
    if unbiased:
        total = product + r.sum() * s.sum() / ((n - 1) * (n - 2)) - 2.0 / (n - 2) * (r @ s)
        return float(total / (n * (n - 3)))
    return float((product - 2.0 / n * (r @ s) + r.sum() * s.sum() / n**2) / n**2)


def _sum_products(one: Gram, two: Gram, *, drop_diagonal: bool) -> tuple[float, np.ndarray, np.ndarray]:
    """Return Σ K∘L and the sums of rows of both, from strips of rows."""
    n, product = one.shape[0], 0.0
    sums: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    step = max(1, min(STRIP // n, one.memory // (64 * n)))
    for start in range(0, n, step):
        rows = slice(start, min(start + step, n))
        A, B = (np.asarray(host_array(gram.rows(rows)), dtype=np.float64).copy() for gram in (one, two))
        if drop_diagonal:
            for block in (A, B):
                block[np.arange(len(block)), np.arange(rows.start, rows.stop)] = 0.0
        product += float(np.einsum("ij,ij->", A, B))
        sums[0].append(A.sum(axis=1))
        sums[1].append(B.sum(axis=1))
    return product, np.concatenate(sums[0]), np.concatenate(sums[1])


def center_unbiased(K: Array) -> Array:
    """Return a matrix centred so that Σ A∘B / n(n − 3) of two such is the unbiased criterion, in place.

    Examples
    --------
    >>> A = center_unbiased(np.outer([1.0, 2.0, 3.0, 5.0], [1.0, 2.0, 3.0, 5.0]))
    >>> bool(np.allclose(A.sum(axis=0), 0.0)), bool(np.allclose(np.diag(A), 0.0))
    (True, True)
    """
    xp, n = namespace(K), K.shape[0]
    where = xp.arange(n, device=K.device)
    K[where, where] = 0.0
    sums = xp.sum(K, axis=1, dtype=xp.float64)
    shift = xp.astype(sums / (n - 2), K.dtype)
    K -= shift[:, None]
    K -= shift[None, :] - float(sums.sum()) / ((n - 1) * (n - 2))
    K[where, where] = 0.0
    return K


def permuted_products(A: Array, B: Array, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return Σᵢⱼ Aᵢⱼ B_π(i)π(j) for the identity and then for random permutations π.

    Examples
    --------
    >>> permuted_products(np.eye(3), np.eye(3), 2, np.random.default_rng(0))
    array([3., 3., 3.])
    """
    xp, n = namespace(A), A.shape[0]
    found, flat = [float((A * B).sum())], xp.reshape(B, (-1,))
    step = max(1, GATHERED // n**2)
    for start in range(0, count, step):
        orders = np.array([rng.permutation(n) for _ in range(min(step, count - start))])
        p = xp.asarray(orders, device=A.device)
        values = flat[p[:, :, None] * n + p[:, None, :]]
        found += host_array((values * A).sum(2).sum(1)).tolist()
    return np.array(found)


def shifted_products(A: Array, B: Array) -> np.ndarray:
    """Return Σᵢⱼ Aᵢⱼ Bᵢ₊ₖ,ⱼ₊ₖ for all n cyclic shifts k, of symmetric matrices, in O(n² log n) for all together.

    Pairs (i, i + d) with one d stay together in a shift: each such wrapped diagonal of A is correlated with that of B
    by Fourier transforms, and only their spectra are added up.

    Examples
    --------
    >>> shifted_products(np.diag([1.0, 2.0, 3.0]), np.diag([1.0, 0.0, 0.0])).round(6)
    array([1., 3., 2.])
    """
    xp, n = namespace(A), A.shape[0]
    half, place = n // 2 + 1, A.device
    row = xp.arange(n, device=place)[:, None]
    spectrum = xp.zeros(n // 2 + 1, dtype=xp.complex128, device=place)
    flat, other = (xp.reshape(each, (-1,)) for each in (A, B))
    step = max(1, DIAGONALS // n)
    for start in range(0, half, step):
        d = xp.arange(start, min(start + step, half), device=place)[None, :]
        where = row * n + (row + d) % n
        product = xp.conj(xp.fft.rfft(flat[where], axis=0)) * xp.fft.rfft(other[where], axis=0)
        # A diagonal and the one on the other side are the same by symmetry, but for the first and that in the middle.
        twice = xp.where((d == 0) | (2 * d == n), 1.0, 2.0)
        spectrum += xp.astype((product * xp.astype(twice, product.real.dtype)).sum(1), xp.complex128)
    return np.asarray(host_array(xp.fft.irfft(spectrum, n=n)))
