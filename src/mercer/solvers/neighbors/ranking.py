"""Distances of features, k(x, x) + k(z, z) − 2k(x, z), without the cancellation of that formula where there is a way.

For two families of kernels the nearest points in feature space are the nearest points by a distance of the data: affine
functions of xᵀz, where the distance of features is a multiple of ‖x − z‖, and decreasing functions of one distance,
such as the Gaussian.  Then points are ranked by that distance, which keeps its digits where points nearly coincide, and
where they are so far apart that the kernel is 0 to rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from mercer.arrays import Array
from mercer.arrays.namespace import namespace
from mercer.arrays.place import Place
from mercer.formula.data import Rows, Steps, as_matrix
from mercer.formula.expression import Call, Diagonal, Expression, Stat, evaluate, nodes
from mercer.formula.program import UnsupportedError, anonymous
from mercer.formula.statistics import FURTHEST, AbsoluteDistance, Dot, ScaledDistance, SquaredDistance, VectorStatistic
from mercer.gram.torch.points import read_coordinates
from mercer.kernels import Constant, Gaussian, Kernel, Laplacian, Linear, Matern, PowerExponential, RationalQuadratic
from mercer.kernels.algebra import Exp, Power, Product, Scaled, Sum
from mercer.kernels.pullback import After, On
from mercer.kernels.radial import PowerDistance

Comparison = Callable[[Array, Array], Array]  # positions in X, positions in Z → a number for each pair
TINY, HUGE = 1e-37, 1e37  # squares beyond are no numbers of single precision
STRIP = 2**20  # numbers in one piece of a computation pair by pair
DEVICE_STRIP = 2**24  # the same on a device
HOST = Place(None, 0)


@dataclass(frozen=True)
class Rough:
    """A ranking in single precision: an expression on vectors, and a bound of the error for each query."""

    expression: Expression
    X: np.ndarray
    Z: np.ndarray
    margin: np.ndarray


@dataclass(frozen=True)
class ByDistance:
    """Kernels that order points by one distance of the data."""

    statistic: ScaledDistance
    kernel: Expression
    slope: float | None  # the squared distance of features is this multiple of it, or a function of it if None

    @property
    def expression(self) -> Expression:
        """The number for each pair that is smaller where features are closer: a distance, squared if Euclidean."""
        return Stat(self.statistic)

    def compare_exactly(self, X: Rows, Z: Rows, place: Place) -> Comparison | None:
        """Return the function that adds up differences of coordinates."""
        A = self._read_coordinates(X, place)
        B = A if Z is X else self._read_coordinates(Z, place)
        power = self.statistic.order

        def compare(left: Array, right: Array) -> Array:
            width = A.shape[1] * int(np.prod(right.shape[1:]))
            step = max(1, (STRIP if place.on_host else DEVICE_STRIP) // width)
            parts = []
            for start in range(0, len(left), step):
                piece = slice(start, start + step)
                difference = A[left[piece]] - B[right[piece]]
                with np.errstate(over="ignore"):
                    shares = difference * difference if power == 2 else abs(difference)
                    shares = shares if power in (1, 2) else shares**power
                    total = shares.sum(axis=-1)
                parts.append(total if right.ndim > 1 else np.asarray(total).ravel())  # which sparse matrices need
            xp = namespace(parts[0])
            return xp.clip(xp.concat(parts), max=FURTHEST)

        return compare

    def rough(self, X: Rows, Z: Rows) -> Rough | None:
        """Round the centred coordinates; the error of ‖a‖² + ‖b‖² − 2aᵀb is that of sums of d products."""
        if not isinstance(self.statistic, SquaredDistance):
            return None
        A, B = (self._read_coordinates(points, HOST) for points in (X, Z))
        if sparse.issparse(A) or sparse.issparse(B):
            return None
        with np.errstate(all="ignore"):
            middle = np.median(B[:: max(1, len(B) // 1000)], axis=0)
            A, B = A - middle, B - middle
            # The backend may shift by what lies within the data, so that norms grow by at most twice this one.
            shift = np.linalg.norm(np.abs(A).max(axis=0))
            size = np.linalg.norm(A, axis=1) + np.linalg.norm(B, axis=1).max() + 2 * shift
            margin = 4 * (A.shape[1] + 8) * float(np.finfo(np.float32).eps) * size**2 + A.shape[1] * TINY
            fine = bool(size.max() ** 2 < HUGE)
        if not fine:
            return None
        single = Stat(SquaredDistance(Steps(), self.statistic.owner))
        return Rough(single, A.astype(np.float32), B.astype(np.float32), margin)

    def read_few(self, X: Rows, Z: Rows, columns: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Return both sides as rows of at most so many numbers whose Euclidean distance ranks them, None if not so."""
        if not isinstance(self.statistic, SquaredDistance):
            return None
        A = self._read_coordinates(X, HOST)
        B = A if Z is X else self._read_coordinates(Z, HOST)
        fine = not (sparse.issparse(A) or sparse.issparse(B)) and 0 < B.shape[1] <= columns
        return (A, B) if fine else None

    def squared_distance(self, values: np.ndarray, diagonal: Callable[[], np.ndarray]) -> np.ndarray:
        """Return a multiple of the squared distance, or twice the fall of the kernel from its value at 0."""
        return self.slope * values if self.slope is not None else 2.0 * fall(self.kernel, values)

    def _read_coordinates(self, X: Rows, place: Place) -> Any:
        """Return the points as the statistic compares them, in float64."""
        if place.on_host:
            statistic = self.statistic
            matrix = as_matrix(statistic.view.apply(X), statistic.owner, allow_sparse=statistic.takes_sparse)
            return statistic.transform(matrix.astype(np.float64, copy=False))
        found = read_coordinates(self.statistic, X, place.device)
        if found is None:
            raise UnsupportedError("the coordinates are prepared on the host")
        return found


@dataclass(frozen=True)
class ByKernel:
    """Any kernel: k(z, z) − 2k(x, z), which lacks only a number that all points share; tiles are precise enough."""

    kernel: Expression

    @property
    def expression(self) -> Expression:
        """The squared distance less k(x, x)."""
        return Diagonal("right", self.kernel) - 2.0 * self.kernel

    def compare_exactly(self, X: Rows, Z: Rows, place: Place) -> Comparison | None:
        """There is no more precise way."""
        return None

    def rough(self, X: Rows, Z: Rows) -> Rough | None:
        """The error in single precision is not known."""
        return None

    def read_few(self, X: Rows, Z: Rows, columns: int) -> tuple[np.ndarray, np.ndarray] | None:
        """There is no distance of coordinates."""
        return None

    def squared_distance(self, values: np.ndarray, diagonal: Callable[[], np.ndarray]) -> np.ndarray:
        """Add k(x, x), a column; what is below 0 is rounding."""
        return np.asarray(np.maximum(values + diagonal(), 0.0))


Ranking = ByDistance | ByKernel  # what orders points as the distance of their features does


def rank_points(kernel: Kernel) -> Ranking:
    """Return how to rank points by the distance of their features.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear, Polynomial
    >>> type(rank_points(2.0 * Gaussian())).__name__, type(rank_points(Linear())).__name__
    ('ByDistance', 'ByDistance')
    >>> type(rank_points(Polynomial())).__name__
    'ByKernel'
    """
    formula = anonymous(kernel.traced())
    statistic = find_only_statistic(formula)
    slope = _slope(kernel)
    if isinstance(statistic, Dot) and slope is not None and slope > 0:
        return ByDistance(SquaredDistance(statistic.view, statistic.owner), formula, slope)
    if isinstance(statistic, SquaredDistance | AbsoluteDistance | PowerDistance) and _decreases(kernel):
        return ByDistance(statistic, formula, None)
    return ByKernel(formula)


def find_only_statistic(formula: Expression) -> VectorStatistic | None:
    """Return the one statistic a formula depends on, or None if there are several or it has no fast form."""
    found = {node.statistic for node in nodes(formula) if isinstance(node, Stat)}
    statistic = found.pop() if len(found) == 1 else None
    return statistic if isinstance(statistic, VectorStatistic) and statistic.native is not None else None


def _slope(kernel: Kernel) -> float | None:
    """Return a of the kernels a·xᵀz + c, None for others."""
    match kernel:
        case Linear():
            return 1.0
        case Constant():
            return 0.0
        case Scaled():
            inner = _slope(kernel.kernel)
            return None if inner is None else kernel.weight * inner
        case Sum():
            first, second = _slope(kernel.k1), _slope(kernel.k2)
            return None if first is None or second is None else first + second
        case On() | After():
            return _slope(kernel.kernel)
    return None


def _decreases(kernel: Kernel) -> bool:
    """Whether a kernel is positive and strictly decreasing in each of its distances, or a positive constant."""
    match kernel:
        case Gaussian() | Laplacian() | Matern() | PowerExponential() | RationalQuadratic():
            return True
        case Constant():
            return kernel.value > 0
        case Scaled():
            return kernel.weight > 0 and _decreases(kernel.kernel)
        case Sum() | Product():
            return _decreases(kernel.k1) and _decreases(kernel.k2)
        case Power() | Exp() | On() | After():
            return _decreases(kernel.kernel)
    return False


def fall(formula: Expression, s: np.ndarray) -> np.ndarray:
    """Return f(0) − f(s) for a formula f of one statistic s, with the digits that subtracting the two would lose.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> fall(Gaussian().traced(), np.array([2e-20]))
    array([1.e-20])
    """
    if isinstance(formula, Stat):
        return np.asarray(-s)
    if not isinstance(formula, Call):
        return np.zeros_like(s)

    def at(node: Expression, point: np.ndarray) -> Any:
        return evaluate(node, lambda _: point, lambda _: point)

    origin = np.zeros_like(s)
    first = formula.args[0]
    start, end, drop = at(first, origin), at(first, s), fall(first, s)
    with np.errstate(all="ignore"):
        match formula.op:
            case "add":
                return drop + fall(formula.args[1], s)
            case "mul":
                second = formula.args[1]
                return np.asarray(start * fall(second, s) + drop * at(second, s))
            case "exp":
                return np.asarray(-np.exp(start) * np.expm1(-drop))
            case "log1p":
                return np.asarray(-np.log1p(-drop / (1.0 + start)))
            case "sqrt":
                total = np.sqrt(start) + np.sqrt(end)
                return np.divide(drop, total, out=np.zeros_like(s), where=total > 0)
            case "powi" | "pow" if np.all(np.asarray(start) > 0):
                exponent = formula.constants[0]
                return np.asarray(-(start**exponent) * np.expm1(exponent * np.log1p(-drop / start)))
    return np.asarray(at(formula, origin) - at(formula, s))
