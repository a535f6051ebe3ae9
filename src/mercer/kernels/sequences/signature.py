"""Signature kernels: inner products of all iterated integrals of two paths, or of those up to some level."""

from __future__ import annotations

import numpy as np

import mercer._native as _native
from mercer.arrays.threads import default_threads
from mercer.formula.data import Rows
from mercer.formula.evaluation import TILE_ENTRIES
from mercer.formula.parameters import Natural, check_integer

from ..algebra import Scaled
from ..base import Inner, Kernel
from ..dot import Linear
from ..prepared import StructuredKernel
from ..theorem import Definiteness
from .data import Ragged, read_both
from .lanes import LANES, Bunch, Programme, Stretch, count_scratch, run, run_diagonal
from .tables import tabulate

MOST = _native.most_orders
FEWEST_ROWS = 8  # of a table of static values, whose preparation they share


class SignatureKernel(StructuredKernel):
    """What signature kernels share: the static kernel, whose features the paths run through."""

    def prepare(self, X: Rows, Z: Rows) -> tuple[Ragged, Ragged]:
        """Put all series into one array: their increments, if inner products of these are all that is asked for."""
        A, B = read_both(X, Z, repr(self))
        factor = _find_factor(self.lift())
        left = _join(A, factor)
        return left, left if B is A else _join(B, factor)

    def block(self, A: Ragged, B: Ragged) -> np.ndarray:
        """Inner products of signatures."""
        return self.check_range(run(self.programme(), A, B))

    def block_diag(self, A: Ragged) -> np.ndarray:
        """Squared norms of signatures."""
        return self.check_range(run_diagonal(self.programme(), A))

    def scratch(self, A: Ragged, B: Ragged) -> int:
        """Return the bytes of packed series and rows of tables, and of values of the static kernel."""
        packed = count_scratch(self.programme(), A, B)
        if _find_factor(self.lift()) is not None:
            return packed
        most = max(TILE_ENTRIES, (FEWEST_ROWS + 1) * int(B.size.max(initial=0)) * LANES)
        return packed + 2 * 8 * min(most, int(A.size.sum()) * int(B.size.sum()))

    def lift(self) -> Kernel:
        """Return the static kernel."""
        raise NotImplementedError

    def programme(self) -> WordSums:
        """Return what is computed of increments."""
        raise NotImplementedError

    def check_range(self, values: np.ndarray) -> np.ndarray:
        """Return values, or raise if they are too large for numbers."""
        if not np.isfinite(values).all():
            raise OverflowError(
                f"{self!r} overflows float64 on these series: it grows like exp(‖x‖‖z‖) with the lengths of the paths. "
                "Divide the series by their standard deviation times the square root of their number of steps, or use "
                "TruncatedSignature or a bounded static kernel such as Gaussian()"
            )
        return values


class Signature(SignatureKernel):
    """The signature kernel of paths: the inner product of all their iterated integrals.

    k(x, z) = ⟨S(x), S(z)⟩ with S(x) = Σₘ ∫_{t₁<…<tₘ} dφ(x_{t₁}) ⊗ … ⊗ dφ(x_{tₘ}), where the path runs in straight
    lines through the points of the series, in the feature space φ of the static kernel.  It does not notice how fast a
    path is run through, nor where it begins if the static kernel is linear.  Of smooth paths it solves the equation
    ∂²k/∂s∂t = ⟨ẋ_s, ż_t⟩ k.  See Király and Oberhauser, JMLR 20 (2019), and Salvi et al., SIMODS 3 (2021).

    Parameters
    ----------
    static : Kernel, default=Linear()
        The kernel between points.
    order : int, default=4
        Terms of the exponential series of each segment, at most 16.
    missing : {"refuse", "own"}, default="refuse"
        Missing series (None, NaN) are refused, or are one object of their own, with k = 1 to itself and k = 0 to all
        others.  By name only.

    Notes
    -----
    A segment v = φ(x_{i+1}) − φ(x_i) has the signature exp(v) = Σ vᵐ/m!, and S(x) is the product of those of the
    segments.  Taken to ``order`` terms the product is still a vector, so that k is a kernel at every order, which the
    usual finite differences of the equation above are not.  S(x) then errs by at most e^ℓ Σ ‖vᵢ‖^(order+1)/(order+1)!,
    with ℓ = Σ ‖vᵢ‖ the length of the path.  The cost of a pair is order² for each pair of segments.

    Values grow like exp(‖x‖‖z‖): scale series so that their lengths are of the order of one, and see
    ``k.normalize()``.  A series of one element is a path that stays where it is, and has k = 1 with all others.

    Of numbers, as against vectors, a path has little to tell: its integrals depend on the last number less the first
    one only.  Add the time as a feature, as the guide does, or take a static kernel that is not linear.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Signature
    >>> right_up = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]
    >>> slowly = [[0.0, 0.0], [0.5, 0.0], [1.0, 0.0], [1.0, 0.0], [1.0, 1.0]]
    >>> up_right = [[0.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    >>> Signature(order=8).normalize()([right_up, slowly, up_right]).round(3)
    array([[1.   , 1.   , 0.685],
           [1.   , 1.   , 0.685],
           [0.685, 0.685, 1.   ]])
    >>> Signature(Gaussian(0.5))([right_up], [up_right]).round(3)
    array([[4.602]])
    """

    static: Inner = Linear()
    order: Natural = 4
    because = (
        "k(x, z) = ⟨S(x), S(z)⟩, where S(x) = Πᵢ Σ_{m≤order} vᵢ^⊗m/m! is a product of tensors of the segments "
        "vᵢ = φ(xᵢ₊₁) − φ(xᵢ), with φ the features of the static kernel, so Σ aᵢaⱼk = ‖Σ aᵢS‖² ≥ 0; as order → ∞ it is "
        "the signature of the path"
    )
    definite = Definiteness(
        False, "a series with a point repeated in place has the same signature", separates=False, positive=True
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_most(self, "order")

    def lift(self) -> Kernel:
        """Return the static kernel."""
        return self.static

    def programme(self) -> WordSums:
        """Sum over words of any length."""
        return WordSums(0, int(self.order), self.static)


class TruncatedSignature(SignatureKernel):
    """The signature kernel up to some level: the inner product of the iterated integrals of at most so many steps.

    k(x, z) = Σ_{m ≤ levels} ⟨S_m(x), S_m(z)⟩, with S_m the m-fold iterated integrals of the path in straight lines
    through the points of the series, in the feature space of the static kernel; S₀ = 1.  The features are never formed,
    and the number of features of the elements hardly matters.  See Király and Oberhauser, JMLR 20 (2019).

    Parameters
    ----------
    levels : int, default=4
        Level of the longest integrals, at most 16.
    static : Kernel, default=Linear()
        The kernel between points.
    order : int, optional
        How often a segment may come again in a row, at most ``levels``.  All of them, which is exact, if not given;
        with 1 the integrals are sums over t₁ < … < tₘ, at a fraction of the time.
    missing : {"refuse", "own"}, default="refuse"
        Missing series (None, NaN) are refused, or are one object of their own, with k = 1 to itself and k = 0 to all
        others.  By name only.

    Examples
    --------
    >>> from mercer.kernels import TruncatedSignature
    >>> series = [[0.0, 1.0, 3.0], [0.0, 2.0]]
    >>> TruncatedSignature(levels=2)(series)
    array([[30.25, 16.  ],
           [16.  ,  9.  ]])
    >>> 1 + 3 * 2 + (3**2 / 2) * (2**2 / 2)
    16.0
    """

    levels: Natural = 4
    static: Inner = Linear()
    order: int | None = None
    because = (
        "k(x, z) = Σₘ ⟨Sₘ(x), Sₘ(z)⟩, where Sₘ(x) sums tensors of m segments vᵢ = φ(xᵢ₊₁) − φ(xᵢ), with φ the features "
        "of the static kernel, each with a weight of its own, so Σ aᵢaⱼk = ‖Σ aᵢS‖² ≥ 0"
    )
    definite = Signature.definite

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_most(self, "levels")
        if self.order is not None:
            check_integer(self, "order", 1)
            if self.order > self.levels:
                raise ValueError(
                    f"TruncatedSignature: order must be at most levels={self.levels}, got {self.order}; leave it out "
                    "to count every repetition"
                )

    def lift(self) -> Kernel:
        """Return the static kernel."""
        return self.static

    def programme(self) -> WordSums:
        """Sum over words of every length apart."""
        return WordSums(int(self.levels), int(self.levels if self.order is None else self.order), self.static)


class WordSums(Programme):
    """The sum over words of pairs of segments, of any length (``levels`` 0) or of every length up to ``levels``."""

    def __init__(self, levels: int, order: int, static: Kernel) -> None:
        self.levels, self.order, self.static = levels, order, static
        self.trim = int(_find_factor(static) is None)  # where points are kept, and not their increments
        self.width = max(1, levels) * order
        self.start = float(levels == 0)

    def pack(self, B: Ragged, bunch: Bunch) -> np.ndarray:
        """Return increments side by side, or the points of all series one after the other."""
        if not self.trim:
            return super().pack(B, bunch)
        starts = zip(B.start[bunch.order], B.size[bunch.order], strict=True)
        return np.concatenate([B.rows[start : start + size] for start, size in starts])

    def limit_rows(self, bunch: Bunch) -> int:
        """Return as many as a table of static values has room for."""
        points = int(bunch.steps.sum()) + len(bunch.steps)
        most = super().limit_rows(bunch)
        return min(most, max(FEWEST_ROWS, TILE_ENTRIES // points)) if self.trim else most

    def advance(self, part: Stretch, bunch: Bunch, columns: np.ndarray, state: np.ndarray) -> None:
        """Add the words that end at these segments."""
        groups = bunch.column_begin, bunch.column_count
        starts = part.A.start[part.positions] + part.begin
        if not self.trim:
            counts = np.ascontiguousarray(part.counts)
            _native.advance_signatures(
                part.A.rows, starts, counts, part.first_group, columns, *groups, self.levels, self.order, state,
                default_threads(),
            )  # fmt: skip
            return
        points = [part.A.rows[s : s + count + 1] for s, count in zip(starts, part.counts, strict=True)]
        begins = np.cumsum(part.counts + 1) - (part.counts + 1)
        known = int(part.first_group.min()) * LANES  # of all series on the left, so that no values are needed
        places = np.cumsum(bunch.steps + 1) - (bunch.steps + 1)
        table = tabulate(self.static, np.concatenate(points), columns[places[known] :])
        lanes = np.zeros((2, len(bunch.column_begin) * LANES), dtype=np.int64)
        lanes[0, known : len(places)] = places[known:] - places[known]
        lanes[1, known : len(places)] = bunch.steps[known:]
        _native.advance_lifted(
            table, begins, part.counts, part.first_group, lanes[0], lanes[1], *groups, self.levels, self.order, state,
            default_threads(),
        )  # fmt: skip

    def finish(self, last: np.ndarray) -> np.ndarray:
        """Return the sum over levels."""
        return 1.0 + last[..., :: self.order].sum(axis=-1) if self.levels else last[..., 0]


def _find_factor(static: Kernel) -> float | None:
    """Return c if the static kernel is c·xᵀz, whose increments are c·ΔxᵀΔz and lose no digits; None for others."""
    if type(static) is Scaled and type(static.kernel) is Linear and static.weight > 0:
        return float(static.weight)
    return 1.0 if type(static) is Linear else None


def _join(series: list[np.ndarray], factor: float | None) -> Ragged:
    if factor is None:
        return Ragged.of(series)
    with np.errstate(over="ignore"):
        return Ragged.of([np.sqrt(factor) * np.diff(part, axis=0) for part in series])


def _check_most(kernel: Kernel, name: str) -> None:
    value = getattr(kernel, name)
    if value > MOST:
        raise ValueError(f"{type(kernel).__name__}: {name} goes up to {MOST}, got {value!r}")
