"""Cholesky factors of about float32 accuracy on tensor cores, which multiply float16 many times as fast as float32.

A number up to 1 is the sum of two halves, x = h + l with h and l in float16, to about 2⁻²⁵.  A product of two such
matrices is [h h l]·[h l h]ᵀ but for the product of the low halves, with sums in float32.
"""

from __future__ import annotations

from mercer.arrays import Array
from mercer.arrays.columns import power_of_two
from mercer.arrays.tensors import load_torch

from .cholesky import factorize
from .sums import multiply_thin

PANEL = 2048  # columns eliminated at a time
STRIP = 8192  # columns updated at a time, of which a triangle beyond the diagonal is in vain


class HalvesFactor:
    """L with LLᵀ ≈ A in float32, and the inverses of the blocks on its diagonal, with which it is solved by products.

    Parameters
    ----------
    A : tensor of shape (n, n), float32
        The symmetric matrix; its lower half is overwritten by L, and the blocks on the diagonal by their inverses.

    Raises
    ------
    numpy.linalg.LinAlgError
        If A is not positive definite, as far as float32 can tell.
    """

    def __init__(self, A: Array) -> None:
        self.unit = float(power_of_two(float(A.diagonal().amax())))
        self._L = A
        A /= self.unit  # so that nothing in the factor is beyond √2
        self._blocks = [slice(start, min(start + PANEL, len(A))) for start in range(0, len(A), PANEL)]
        for block in self._blocks:
            self._eliminate(block)

    def _eliminate(self, block: slice) -> None:
        torch, A, stop, n = load_torch(), self._L, block.stop, len(self._L)
        # Small, so that float64 costs next to nothing; a product with the inverse is quicker than substitution.
        corner = factorize(A[block, block].double())
        eye = torch.eye(len(corner), dtype=corner.dtype, device=A.device)
        inverse = torch.linalg.solve_triangular(corner, eye, upper=False)
        A[block, block] = inverse
        if stop == n:
            return
        size = float(power_of_two(float(inverse.abs().amax())))
        below = multiply_halves(A[stop:, block], (inverse / size).float())
        below *= size
        A[stop:, block] = below
        left, right = split_halves(below)
        for first in range(stop, n, STRIP):
            last, at = min(first + STRIP, n), first - stop
            A[first:, first:last] -= _multiply(left[at:], right[at : last - stop])

    def solve(self, V: Array) -> Array:
        """Return A⁻¹V for V of shape (n, q), in float32."""
        L, V = self._L, V.float() / self.unit
        for block in self._blocks:
            V[block] = multiply_thin(L[block, block], V[block])
            if block.stop < len(L):
                V[block.stop :] -= multiply_thin(L[block.stop :, block], V[block])
        for block in reversed(self._blocks):
            if block.stop < len(L):
                V[block] -= multiply_thin(L[block.stop :, block].T, V[block.stop :])
            V[block] = multiply_thin(L[block, block].T, V[block])
        return V


def split_halves(X: Array) -> tuple[Array, Array]:
    """Return [h h l] and [h l h] of numbers up to about 1."""
    torch = load_torch()
    high = X.half()
    low = (X - high.float()).half()
    return torch.cat([high, high, low], 1), torch.cat([high, low, high], 1)


def multiply_halves(X: Array, Y: Array) -> Array:
    """Return XYᵀ in float32, for numbers up to about 1."""
    return _multiply(split_halves(X)[0], split_halves(Y)[1])


def _multiply(left: Array, right: Array) -> Array:
    torch = load_torch()
    if left.device.type == "cuda":
        return torch.mm(left, right.T, out_dtype=torch.float32)
    return left.float() @ right.float().T
