"""Kernels on sequences of vectors of different lengths, such as time series."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from mercer.formula.data import Rows
from mercer.formula.parameters import LengthScale

from ..prepared import StructuredKernel
from ..radial import Gaussian
from ..theorem import Definiteness
from .data import Ragged, read_scaled, sum_alignments, sum_own_alignments

LARGEST = float(np.log(np.finfo(np.float64).max))


class GlobalAlignment(StructuredKernel):
    """The global alignment kernel between sequences of numbers or vectors, of any lengths.

    k(x, z) = Σ_π Π_{(i, j) ∈ π} κ(x_i, z_j) over all alignments π, which are paths from the first pair of elements to
    the last one that advance in x, in z or in both by one.  The local kernel is κ = g / (2 − g) with the Gaussian
    g(a, b) = exp(−‖a − b‖² / 2σ²).  Where dynamic time warping looks for the one best alignment, this sums over all,
    and is positive semi-definite.  See Cuturi et al., ICASSP (2007), and Cuturi, ICML (2011).

    Parameters
    ----------
    length_scale : float or sequence of floats, default=1.0
        The length scale σ of the elements, or one for each of their features.
    missing : {"refuse", "own"}, default="refuse"
        Missing series (None, NaN) are refused, or are one object of their own, with k = 1 to itself and k = 0 to all
        others.  By name only.

    Notes
    -----
    The number of alignments grows like 5.8 to the power of the length, so values overflow float64 at lengths of about
    400, and the diagonal of the matrix dominates.  ``GlobalAlignment(σ).normalize()`` is computed from logarithms, for
    sequences of any length, and is what learners should be given.

    Examples
    --------
    >>> from mercer.kernels import GlobalAlignment
    >>> series = [[0.0, 1.0, 0.0], [0.0, 1.0, 1.0, 0.0], [1.0, 0.0]]
    >>> GlobalAlignment(length_scale=0.5).normalize()(series).round(3)
    array([[1.   , 0.623, 0.076],
           [0.623, 1.   , 0.04 ],
           [0.076, 0.04 , 1.   ]])
    """

    has_logarithms: ClassVar[bool] = True

    length_scale: LengthScale = 1.0
    because = (
        "κ = χ + χ² + χ³ + … with χ = κ/(1 + κ) = g/2, so that k(x, z) sums Π χ(x'ᵢ, z'ᵢ) over all x' and z' of "
        "equal length made by repeating elements of x and of z in place, a sum over both of products of Gaussians"
    )
    lemmas = (Gaussian().theorem(),)
    definite = Definiteness(positive=True)

    def prepare(self, X: Rows, Z: Rows) -> tuple[Ragged, Ragged]:
        """Put the elements of all sequences of a collection into one array, in units of the length scale."""
        return read_scaled(X, Z, self.length_scale, repr(self))

    def block(self, A: Ragged, B: Ragged) -> np.ndarray:
        """Sums over alignments."""
        return self._exponentiate(self.log_block(A, B))

    def block_diag(self, A: Ragged) -> np.ndarray:
        """Sums over alignments of every sequence with itself."""
        return self._exponentiate(self.log_block_diag(A))

    def log_block(self, A: Ragged, B: Ragged) -> np.ndarray:
        """Logarithms of sums over alignments."""
        return sum_alignments(A, B)

    def log_block_diag(self, A: Ragged) -> np.ndarray:
        """Logarithms of sums over alignments of every sequence with itself."""
        return sum_own_alignments(A)

    def _exponentiate(self, logarithms: np.ndarray) -> np.ndarray:
        if logarithms.size and logarithms.max() > LARGEST:
            raise OverflowError(
                f"{self!r} overflows float64: a sum over alignments is e^{logarithms.max():.0f}. Use "
                f"{self!r}.normalize(), which is computed from logarithms, or shorter sequences"
            )
        return np.exp(logarithms)
