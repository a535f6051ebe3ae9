"""Similarities from dynamic time warping: in wide use, and not kernels."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, ClassVar

import numpy as np

import mercer._native as _native
from mercer.arrays.threads import default_threads
from mercer.formula.data import Rows
from mercer.formula.parameters import LengthScale, Positive, check_integer

from ..prepared import StructuredKernel
from .alignment import LARGEST
from .data import Ragged, read_scaled, sum_alignments, sum_own_alignments
from .lanes import LANES, Bunch, Programme, Stretch, count_scratch, run

if TYPE_CHECKING:
    from mercer.certify.verdict import Verdict

HEIGHTS = (0.0, 0.5, 1.0)  # of the short series that certificates look at, in length scales
LONGEST = 4  # of these series


class WarpedKernel(StructuredKernel):
    """What both similarities share: series at which they are looked for being no kernels, and what to use instead."""

    instead: ClassVar[str] = "GlobalAlignment(length_scale).normalize() or Signature().normalize(), which are kernels"

    def certificate(self, dim: int | None = None, sample: Rows | None = None) -> Verdict:
        """Return whether this is a kernel, looked at on short series of a few heights if no sample is given."""
        if dim is None and sample is None:
            scale = np.atleast_1d(np.asarray(self.get_params(deep=False)["length_scale"], dtype=float))
            words = [word for size in range(1, LONGEST + 1) for word in product(HEIGHTS, repeat=size)]
            series = np.empty(len(words), dtype=object)
            series[:] = [np.array(word)[:, None] * scale for word in words]
            sample = series
        return super().certificate(dim, sample)


class DTW(WarpedKernel):
    """The exponential of dynamic time warping; it is **not** positive semi-definite.

    k(x, z) = exp(−D(x, z)/2σ²) with D(x, z) = min_π Σ_{(i, j) ∈ π} ‖x_i − z_j‖² over all alignments π, which are paths
    from the first pair of elements to the last one that advance in x, in z or in both by one.  Warping obeys no
    triangle inequality, and the matrix of k has negative eigenvalues at some series, which the certificate shows.  It
    is kept because it is in wide use, for neighbours and for comparison; learners that need a kernel refuse it where
    they find such series.  :class:`GlobalAlignment`, which sums over all alignments, and :class:`Signature` are
    kernels.  See Sakoe and Chiba, IEEE TASSP 26 (1978), and Bahlmann et al., IWFHR (2002).

    Parameters
    ----------
    length_scale : float or sequence of floats, default=1.0
        The length scale σ of the elements, or one for each of their features.
    window : int, optional
        Only elements with positions at most so far apart are aligned; for series of different lengths also those up to
        the difference of these apart.  All pairs if not given.
    missing : {"refuse", "own"}, default="refuse"
        Missing series (None, NaN) are refused, or are one object of their own, with k = 1 to itself and k = 0 to all
        others.  By name only.

    Examples
    --------
    >>> from mercer.kernels import DTW
    >>> DTW()([[0.0, 1.0, 0.0], [0.0, 1.0, 1.0, 0.0], [1.0, 0.0]]).round(3)
    array([[1.   , 1.   , 0.607],
           [1.   , 1.   , 0.607],
           [0.607, 0.607, 1.   ]])
    >>> DTW().certificate().value < 0
    True
    """

    length_scale: LengthScale = 1.0
    window: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.window is not None:
            check_integer(self, "window", 0)

    def prepare(self, X: Rows, Z: Rows) -> tuple[Ragged, Ragged]:
        """Put all series into one array, in units of the length scale."""
        return read_scaled(X, Z, self.length_scale, repr(self))

    def block(self, A: Ragged, B: Ragged) -> np.ndarray:
        """Find the cheapest alignments."""
        return np.exp(-0.5 * run(Warpings(self.window), A, B))

    def block_diag(self, A: Ragged) -> np.ndarray:
        """Ones: aligned with itself a series costs nothing."""
        return np.ones(len(A))

    def scratch(self, A: Ragged, B: Ragged) -> int:
        """Return the bytes of packed series and rows of tables."""
        return count_scratch(Warpings(self.window), A, B)


class SoftDTW(WarpedKernel):
    """The exponential of soft dynamic time warping; in general it is **not** positive semi-definite.

    k(x, z) = exp(−D(x, z)/2σ²) with D(x, z) = −γ log Σ_π exp(−Σ_{(i, j) ∈ π} ‖x_i − z_j‖²/γ) over all alignments π, the
    smooth minimum, which falls to that of :class:`DTW` as γ → 0.  D(x, x) is not 0 but negative, so that k(x, x) > 1
    for more than one element.
    With γ = 2σ² it is the sum over alignments of products of Gaussians, of which :class:`GlobalAlignment` is the
    variant that is a kernel.  See Cuturi and Blondel, ICML (2017).

    Parameters
    ----------
    length_scale : float, default=1.0
        The length scale σ of the elements.
    gamma : float, default=1.0
        How soft the minimum is, in units of the elements squared.
    missing : {"refuse", "own"}, default="refuse"
        Missing series (None, NaN) are refused, or are one object of their own, with k = 1 to itself and k = 0 to all
        others.  By name only.

    Examples
    --------
    >>> from mercer.kernels import SoftDTW
    >>> SoftDTW(gamma=0.1)([[0.0, 1.0, 0.0], [0.0, 1.0, 1.0, 0.0], [1.0, 0.0]]).round(3)
    array([[1.   , 1.   , 0.607],
           [1.   , 1.056, 0.607],
           [0.607, 0.607, 1.   ]])
    >>> SoftDTW().certificate().value < 0
    True
    """

    length_scale: Positive = 1.0
    gamma: Positive = 1.0

    def prepare(self, X: Rows, Z: Rows) -> tuple[Ragged, Ragged]:
        """Put all series into one array, in units of √(γ/2), where a Gaussian of unit length is exp(−‖x − z‖²/γ)."""
        return read_scaled(X, Z, float(np.sqrt(self.gamma / 2)), repr(self))

    def block(self, A: Ragged, B: Ragged) -> np.ndarray:
        """Sum over alignments, as logarithms."""
        return self._exponentiate(sum_alignments(A, B, plain=True))

    def block_diag(self, A: Ragged) -> np.ndarray:
        """Sum over alignments of every series with itself."""
        return self._exponentiate(sum_own_alignments(A, plain=True))

    def _exponentiate(self, logarithms: np.ndarray) -> np.ndarray:
        values = logarithms * (self.gamma / (2 * self.length_scale**2))
        if values.size and values.max() > LARGEST:
            raise OverflowError(
                f"{self!r} overflows float64: a value is e^{values.max():.0f}. Use a smaller gamma, a larger "
                "length_scale or shorter series"
            )
        return np.exp(values)


class Warpings(Programme):
    """The cost of the cheapest alignment, with a window or without."""

    start = rest = empty = np.inf

    def __init__(self, window: int | None) -> None:
        self.window = window

    def advance(self, part: Stretch, bunch: Bunch, columns: np.ndarray, state: np.ndarray) -> None:
        """Extend alignments by these elements."""
        starts = part.A.start[part.positions] + part.begin
        groups = bunch.column_begin, bunch.column_count
        _native.advance_warpings(
            part.A.rows, starts, np.ascontiguousarray(part.counts), part.first_group, columns, *groups, part.begin,
            self._find_band(part, bunch), state, default_threads(),
        )  # fmt: skip

    def _find_band(self, part: Stretch, bunch: Bunch) -> np.ndarray | None:
        """Return how far i and j may be apart for each series on the left and each lane."""
        if self.window is None:
            return None
        size = part.A.size[part.positions]
        band = np.zeros((len(size), len(bunch.column_begin) * LANES))
        band[:, : len(bunch.steps)] = np.maximum(self.window, np.abs(size[:, None] - bunch.steps[None, :]))
        return band.reshape(len(size), -1, LANES)
