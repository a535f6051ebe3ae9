"""An orthogonal similarity K = QBQᵀ with a block tridiagonal B on a device, and inverses of B + α for many α at once.

What :mod:`~mercer.linalg.band` does with columns on the host is done with blocks here: a device multiplies matrices
many times as fast as it does anything else, so that panels, factors and inverses are products of matrices, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mercer.arrays import Array
from mercer.arrays.tensors import load_torch

ROUNDS = (
    4  # of orthogonalisation, the last of which only looks; two are enough for columns that are not nearly dependent
)
ORTHOGONAL = 1e-13  # the most that columns may be off


@dataclass(frozen=True)
class BlockBand:
    """K = QBQᵀ, where only blocks on the diagonal of B and beside it are not zero."""

    diagonal: list[Array]  # blocks (i, i), symmetric
    below: list[Array]  # blocks (i + 1, i)
    rotation: Array  # Q

    def inverse_factors(self, alphas: np.ndarray) -> Iterator[Array]:
        """Give X of (K + αI)⁻¹ = XᵀX for p penalties, some rows at a time, as tensors of shape (p, w, n).

        With B + α = LLᵀ, X = L⁻¹Qᵀ, and rows of it follow from the ones before by two products.

        Raises
        ------
        numpy.linalg.LinAlgError
            If K + αI is not positive definite, for one of them.
        """
        torch, Q = load_torch(), self.rotation
        shifts = Q.new_tensor(np.asarray(alphas, dtype=np.float64))[:, None]
        X: Array = None
        inverse: Array = None
        start = 0
        for i, block in enumerate(self.diagonal):
            w = len(block)
            A = block.expand(len(shifts), w, w).clone()
            A.diagonal(dim1=1, dim2=2).add_(shifts)
            right = Q[:, start : start + w].T.expand(len(shifts), w, len(Q))
            if X is not None:
                across = torch.matmul(self.below[i - 1], inverse.transpose(1, 2))
                A.baddbmm_(across, across.transpose(1, 2), alpha=-1.0)
                right = torch.baddbmm(right, across, X, alpha=-1.0)
            L, failed = torch.linalg.cholesky_ex(A)
            if bool(failed.any()):
                raise np.linalg.LinAlgError(f"alpha={min(alphas):g} is lost in the rounding of the kernel matrix")
            eye = torch.eye(w, dtype=A.dtype, device=A.device).expand_as(A)
            inverse = torch.linalg.solve_triangular(L, eye, upper=False)
            X = torch.bmm(inverse, right)
            yield X
            start += w


def find_block_band(A: Array, width: int) -> BlockBand:
    """Return the block tridiagonal form of a symmetric matrix, which is overwritten, with blocks of ``width`` columns.

    What lies below a block of the diagonal is P = CR with orthonormal columns C.  A reflection H = I − VTVᵀ takes C to
    the first coordinates, and the rest A to HᵀAH = A − VXᵀ − XVᵀ with X = W − ½VTᵀVᵀW and W = AVT.  That is 2n³
    operations for B and 4n³/3 for Q, nearly all in products of large matrices.
    """
    torch, n = load_torch(), len(A)
    diagonal, below, reflections = [], [], []
    for start in range(0, n, width):
        at = min(start + width, n)
        diagonal.append(A[start:at, start:at].clone())
        if at == n:
            break
        if n - at <= width:  # nothing lies beneath the block below
            below.append(A[at:, start:at].clone())
            continue
        corner, V, T = reflect_panel(A[at:, start:at])
        below.append(corner)
        reflections.append((V, T))
        rest = A[at:, at:]
        W = rest @ (V @ T)
        X = torch.addmm(W, V, T.T @ (V.T @ W), alpha=-0.5)
        rest.addmm_(torch.cat([V, X], 1), torch.cat([X, V], 1).T, alpha=-1.0)
    A.zero_()
    A.diagonal().fill_(1.0)
    while reflections:
        V, T = reflections.pop()
        rest = A[n - len(V) :, n - len(V) :]
        rest.addmm_(V, T @ (V.T @ rest), alpha=-1.0)
    return BlockBand(diagonal, below, A)


def reflect_panel(P: Array) -> tuple[Array, Array, Array]:
    """Return M, V and T with P = HE, for the reflection H = I − VTVᵀ and E of M over zeros.

    With P = CR and C₁ the first rows of C, V = C − S over C₂ for any orthogonal S, T = (I − C₁ᵀS)⁻¹ and M = SR.
    With C₁ = UD, D upper triangular with a diagonal that is not negative, S = −U makes T⁻¹ = I + Dᵀ, a triangle with a
    diagonal of at least 1.
    """
    torch = load_torch()
    w = P.shape[1]
    C, R = orthogonalize(P)
    U, D = torch.linalg.qr(C[:w])
    signs = torch.where(D.diagonal() < 0, -1.0, 1.0).to(D.dtype)
    U, D = U * signs, D * signs[:, None]
    V = C
    V[:w] += U
    eye = torch.eye(w, dtype=P.dtype, device=P.device)
    T = torch.linalg.solve_triangular(D.T + eye, eye, upper=False)
    return -U @ R, V, T


def orthogonalize(P: Array) -> tuple[Array, Array]:
    """Return C with orthonormal columns and R of P = CR; by Cholesky factors of CᵀC, or by reflections if they fail."""
    torch = load_torch()
    w = P.shape[1]
    eye = torch.eye(w, dtype=P.dtype, device=P.device)
    sizes = torch.linalg.vector_norm(P, dim=0)
    sizes = torch.where(sizes > 0, sizes, 1.0)
    C, R = P / sizes, torch.diag(sizes)
    for _ in range(ROUNDS):
        G = C.T @ C
        off = float((G - eye).abs().max())  # NaN where a factor failed in a round before
        if off <= ORTHOGONAL:
            return C, R
        L, failed = torch.linalg.cholesky_ex(G)
        if bool(failed) or not off < np.inf:
            break
        C = C @ torch.linalg.solve_triangular(L, eye, upper=False).T
        R = L.T @ R
    return torch.linalg.qr(P)
