"""What every Gram matrix must satisfy, on every backend."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.formula.data import Rows
from mercer.gram import Gram
from mercer.kernels import Kernel

from .laws import expect, expect_close


def check_gram(kernel: Kernel, X: Rows, Z: Rows | None = None, *, rtol: float | None = None) -> None:
    """Check that every operation of the Gram matrix agrees with the dense matrix, on every backend there is.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    X, Z : collections
        The data; Z = None means X again.
    rtol : float, optional
        Allowed error relative to the largest value; by default 1e-10 for float64 and 1e-4 for float32 data.
    """
    K = np.asarray(kernel(X, Z))
    reference, (n, m) = np.asarray(K, dtype=float), K.shape
    rtol = rtol if rtol is not None else (1e-4 if K.dtype == np.float32 else 1e-10)
    allowed = rtol * max(float(np.abs(K).max()), 1e-300)
    V, ones, some = np.cos(np.arange(3.0 * m)).reshape(m, 3), np.ones(n), [n - 1, 0]
    for backend in dict.fromkeys(["numpy", Gram(kernel, X, Z).backend_name]):
        gram: Any = Gram(kernel, X, Z, backend=backend)  # type: ignore[arg-type]
        label = f"the {backend} backend: "
        expect(gram.shape == K.shape, kernel, f"{label}shape {gram.shape} instead of {K.shape}")
        total = np.zeros(m)
        gram.add_rows(some, [1.0, -2.0], total)
        partial, columns = np.zeros((m + 1) // 2), slice(m // 2, m)
        gram.add_rows(some, [1.0, -2.0], partial, columns)
        for what, found, expected, terms in (
            ("dense and k(X, Z)", gram.dense(), reference, 1),
            ("products with several columns", gram @ V, reference @ V, m),
            ("product with one column", gram @ V[:, 0], reference @ V[:, 0], m),
            ("T", gram.T @ ones, reference.T @ ones, n),
            ("one row", gram.rows(0), reference[0], 1),
            ("some rows", gram.rows(some), reference[some], 1),
            ("sums of rows", total, reference[n - 1] - 2.0 * reference[0], 3),
            ("parts of sums of rows", partial, reference[n - 1, columns] - 2.0 * reference[0, columns], 3),
            ("a tile", gram.tile(slice(0, 2), columns), reference[:2, columns], 1),
        ):
            expect_close(found, expected, terms * allowed, kernel, f"{label}{what}")
        if gram.symmetric:
            expect_close(gram.diag(), np.diag(reference), allowed, kernel, f"{label}diag")
