"""Statistics: the numbers about a pair of points that a kernel's formula is written in.

A statistic prepares both collections once (selects columns, centres, divides by length scales), then gives the
matrix of its values for any tile of pairs.  Most are sums over coordinates; dot products and squared distances
have faster forms through matrix products, and work on sparse matrices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse

from mercer.arrays import Array
from mercer.arrays.namespace import namespace, put_beside
from mercer.arrays.tensors import is_tensor

from .data import Rows, Steps, as_matrix
from .expression import Const, Diagonal, Expression, Param, Stat
from .notation.tree import (
    ONE,
    ZERO,
    Absolute,
    Apply,
    Inner,
    Node,
    Norm,
    Word,
    is_single,
    length,
    minus,
    power,
    scale_at,
    sum_coordinates,
    times,
)

if TYPE_CHECKING:
    from mercer.kernels.base import ObjectKernel

Prepared = Any  # rows that can be sliced: array, CSR matrix or list
COLUMNS = 256  # that a block is multiplied by at a time
CACHED = 2**17  # entries of arrays that stay in the cache from one step to the next
LOOKED_AT = 250  # rows that a shift is chosen from
PREPARED = 2**20  # bytes of points that are shifted and transformed at a time
FURTHEST = 1e300  # a squared distance that overflows; finite, so that it times a vanishing exponential is 0


@dataclass(frozen=True)
class Statistic:
    """A number for each pair of points."""

    view: Steps  # what happens to the raw data first
    owner: str = field(compare=False)  # the kernel to name in an error message
    reads_rows: ClassVar[bool] = False  # whether points are rows of a table, so that a plain number is none

    def prepare(self, X: Rows, Z: Rows, dtype: Any) -> tuple[Prepared, Prepared]:
        """Return both collections in the form that :meth:`block` takes; the two are one object if X is Z."""
        raise NotImplementedError

    @property
    def source(self) -> Statistic:
        """The statistic whose prepared collections this one reads: itself, unless two of them share theirs."""
        return self

    def block(self, A: Prepared, B: Prepared) -> np.ndarray:
        """Values for every pair of a row of A and a row of B."""
        raise NotImplementedError

    def diag(self, A: Prepared) -> np.ndarray:
        """Values for every row of A with itself."""
        raise NotImplementedError

    def direct(self) -> Statistic:
        """Return the same statistic in the form that loses the fewest digits of points close to each other."""
        return self

    def apart(self, A: Prepared, B: Prepared) -> np.ndarray:
        """Return s(x, x) + s(z, z) − 2 s(x, z) for every pair, by differences of points where there is such a form."""
        return self.diag(A)[:, None] + self.diag(B)[None, :] - 2.0 * self.block(A, B)

    def apart_formula(self) -> Expression:
        """Return s(x, x) + s(z, z) − 2 s(x, z) as an expression."""
        return Diagonal("left", Stat(self)) + Diagonal("right", Stat(self)) - 2.0 * Stat(self)

    def rise(self, A: Prepared, B: Prepared) -> np.ndarray | float:
        """Return s(x, x) − s(z, z) for every pair, by differences of points where there is such a form."""
        return self.diag(A)[:, None] - self.diag(B)[None, :]

    def scratch(self, A: Prepared, B: Prepared) -> int:
        """Return the bytes that a block of any rows takes while it is computed, beside its own entries."""
        return 0

    def parameters(self) -> tuple[Param, ...]:
        """Return the hyperparameters inside the statistic."""
        return ()

    def log_derivative(self, name: str) -> Expression:
        """Derivative of the statistic by the logarithm of a hyperparameter, again an expression."""
        return Const(0.0)

    def notation(self, x: Node, z: Node) -> Node:
        """Return the statistic as people write it; redefine it where there is more to say than the name."""
        return Apply(Word(type(self).__name__), (x, z))

    def check_slopes(self) -> None:
        """Raise if the statistic has no derivative in its points."""
        raise self.refusal()

    def refusal(self) -> ValueError:
        """Return the error of a statistic that has no derivative in its points."""
        return ValueError(
            f"{self.owner} has no slope in x: it is no formula of numbers. Leave it out of the kernel, turn categories "
            "into columns of numbers, for example with OneHotEncoder, or write a function of your own as a formula "
            '(guide page "Add a kernel")'
        )


@dataclass(frozen=True)
class VectorStatistic(Statistic):
    """A statistic of numeric vectors; ``native`` is its name in the compiled core, where it has one."""

    reads_rows: ClassVar[bool] = True
    native: ClassVar[str | None] = None
    takes_sparse: ClassVar[bool] = False
    centred: ClassVar[bool] = False  # whether only differences of points matter
    direct_form: ClassVar[bool] = False  # whether these differences are formed first, so that a shift gains no digits

    @property
    def exponent(self) -> float:
        """The number that the native statistic "powdist" needs besides its name."""
        return 1.0

    @property
    def degree(self) -> float | str:
        """How it grows: with the "product" of both points, or a power; empty if nothing is known."""
        return ""

    def prepare(self, X: Rows, Z: Rows, dtype: Any) -> tuple[Prepared, Prepared]:
        """Select, check, centre (where only differences matter) and transform both collections."""
        read = partial(as_matrix, owner=self.owner, allow_sparse=self.takes_sparse, copy=False)
        A = read(self.view.apply(X))
        B = A if Z is X else read(self.view.apply(Z))
        if A.shape[1] != B.shape[1]:
            raise ValueError(
                f"{self.owner}: X has {A.shape[1]} features but Z has {B.shape[1]}; both need the same columns"
            )
        self.check(A)
        if B is not A:
            self.check(B)
        shift = None
        if sparse.issparse(A) or sparse.issparse(B):
            A, B = sparse.csr_array(A), sparse.csr_array(A if Z is X else B)
        elif self.centred and (not self.direct_form or dtype == np.float32):
            with np.errstate(all="ignore"):
                shift = middle(A[:: max(1, len(A) // LOOKED_AT)])
        with np.errstate(all="ignore"):  # overflow is reported once, on the result, in words
            left = self._convert(A, dtype, shift)
            return left, left if Z is X else self._convert(B, dtype, shift)

    def _convert(self, A: Any, dtype: Any, shift: np.ndarray | None) -> Prepared:
        """Return points shifted and transformed, block by block, so that no second copy of all of them is made."""

        def change(block: Any) -> Prepared:
            moved = block if shift is None else np.subtract(block, shift, dtype=np.float64)
            # In the wider of both types, so that no digits are lost before there are fewer of them.
            return self.transform(moved.astype(np.promote_types(moved.dtype, dtype), copy=False))

        count, step = A.shape[0], max(1, PREPARED // (8 * A.shape[1]))
        if sparse.issparse(A) or step >= count:
            return change(A).astype(dtype)
        first = change(A[:step])
        out = np.empty((count, first.shape[1]), dtype=dtype)
        out[:step] = first
        for start in range(step, count, step):
            out[start : start + step] = change(A[start : start + step])
        return out

    def check(self, A: Any) -> None:
        """Raise if the data lies outside the domain of the statistic."""

    def width(self, d: int) -> int:
        """Return the number of columns that data with d of them is transformed to."""
        return d

    def transform(self, A: Any) -> Any:
        """Map the data once, before any pair is formed."""
        return A

    def check_slopes(self) -> None:
        """Raise if the data passes through a map without a known derivative."""
        self.view.check_slopes(self.owner)

    def slope(self, a: Array, b: Array) -> Array:
        """Return ∇_a s(a, b) of prepared rows that broadcast; of a sum over coordinates for any of these alone."""
        raise self.refusal()

    def weigh_slopes(self, E: Array, A: Array, B: Prepared, C: Array) -> Array:
        """Return Σ_b E_ab C_bj ∇_a s(a, b) for all rows a and columns j, of shape (rows, columns of C, features)."""
        xp, columns = namespace(E), [1.0 * B[:, d] for d in range(B.shape[1])]  # each in one piece
        step = len(A) if is_tensor(E) else max(1, CACHED // len(B))
        strips = [slice(start, start + step) for start in range(0, len(A), step)]
        sums = [[(E[s] * self.slope(A[s, d, None], b)) @ C for d, b in enumerate(columns)] for s in strips]
        return xp.concat([xp.stack(strip, axis=2) for strip in sums])

    def pull_back(self, G: Array, A: Array, X: Rows) -> Array:
        """Return gradients by the rows of X, of shape (rows, q, columns), from those by the prepared rows A."""
        return self.view.pull_back(self.transform_back(G, A, X), X)

    def transform_back(self, G: Array, A: Array, X: Rows) -> Array:
        """Return gradients by rows before :meth:`transform`, from those by the prepared rows A."""
        return G


@dataclass(frozen=True)
class Dot(VectorStatistic):
    """xᵀz."""

    native = "dot"
    degree = "product"
    takes_sparse = True

    def notation(self, x: Node, z: Node) -> Node:
        """xᵀz, or ‖x‖²."""
        if x == z:
            return power(length(x), 2.0)
        return times(x, z) if is_single(x) else Inner(x, z)

    def block(self, A: Prepared, B: Prepared) -> np.ndarray:
        """Matrix of dot products."""
        return make_dense(A @ B.T)

    def diag(self, A: Prepared) -> np.ndarray:
        """Squared norms."""
        return square_norms(A)

    def apart(self, A: Prepared, B: Prepared) -> np.ndarray:
        """‖x − z‖²."""
        return _square_differences(A, B)

    def apart_formula(self) -> Expression:
        """‖x − z‖²."""
        return Stat(SquaredDistance(self.view, self.owner))

    def rise(self, A: Prepared, B: Prepared) -> np.ndarray | float:
        """(x − z)ᵀ(x + z)."""
        return super().rise(A, B) if sparse.issparse(A) else sum_of_terms(lambda a, b: (a - b) * (a + b), A, B)

    def slope(self, a: Array, b: Array) -> Array:
        """The other point."""
        return b

    def weigh_slopes(self, E: Array, A: Array, B: Prepared, C: Array) -> Array:
        """E (c ∘ B), a matrix product."""
        return _weigh_points(E, B, C)


@dataclass(frozen=True)
class ScaledDistance(VectorStatistic):
    """A distance whose coordinates are first divided by a length scale each.

    An empty ``scale`` means no division: a kernel with one length scale divides the statistic instead, so that
    several kernels can share it.
    """

    scale: tuple[Param, ...] = ()
    column: int | None = None  # keep one coordinate: what the derivative by one length scale needs

    @property
    def order(self) -> float:
        """The degree of which the statistic is homogeneous."""
        return 1

    def notation(self, x: Node, z: Node) -> Node:
        """‖x − z‖ to its power, or the sum over coordinates where each has a length scale."""
        if x == z:
            return ZERO
        if not self.scale:
            return power(self.norm(minus(x, z)) if not is_single(x) else Absolute(minus(x, z)), self.order)
        scales = tuple(param.value for param in self.scale)

        def term(a: Node, b: Node, d: Node | None) -> Node:
            apart = minus(a, b) if self.order == 2 else Absolute(minus(a, b))
            return times(power(apart, self.order), power(scale_at(scales, d), -self.order))

        return sum_coordinates(term, x, z)

    def norm(self, inside: Node) -> Node:
        """Return the norm that distances are measured in."""
        return Norm(inside)

    def check(self, A: Any) -> None:
        """Raise if there is not one length scale for each feature."""
        if self.scale and len(self.scale) != A.shape[1]:
            raise ValueError(
                f"{self.owner} has {len(self.scale)} length scales but the data has {A.shape[1]} features; "
                "give one length scale, or one for each feature"
            )

    def transform(self, A: Any) -> Any:
        """Divide by the length scales and keep the one coordinate asked for."""
        if self.scale:
            inverse = self._inverse_scales()
            if hasattr(A, "new_tensor"):  # points on a device
                inverse = A.new_tensor(inverse)
            A = A @ sparse.diags_array(inverse).tocsr() if sparse.issparse(A) else A * inverse
        return A if self.column is None else A[:, [self.column]]

    def transform_back(self, G: Array, A: Array, X: Rows) -> Array:
        """Divide by the length scales again."""
        return G * put_beside(G, self._inverse_scales()) if self.scale else G

    def _inverse_scales(self) -> np.ndarray:
        return 1.0 / np.array([param.value for param in self.scale])

    def parameters(self) -> tuple[Param, ...]:
        """Return the length scales."""
        return self.scale

    def log_derivative(self, name: str) -> Expression:
        """−order times the share of the coordinate that the length scale divides."""
        for position, param in enumerate(self.scale):
            if param.name == name and self.column in (None, position):
                return -float(self.order) * Stat(replace(self, column=position))
        return Const(0.0)


@dataclass(frozen=True)
class SquaredDistance(ScaledDistance):
    """‖x − z‖²."""

    native = "sqdist"
    takes_sparse = True
    centred = True
    order = 2
    degree = 2.0

    def block(self, A: Prepared, B: Prepared) -> np.ndarray:
        """‖a‖² + ‖b‖² − 2aᵀb, with pairs so close that this cancels computed again by differences."""
        return _square_distances(A, B)

    def diag(self, A: Prepared) -> np.ndarray:
        """Zeros."""
        return np.zeros(A.shape[0], dtype=A.dtype)

    def direct(self) -> Statistic:
        """Sums of squared differences."""
        return DirectSquaredDistance(self.view, self.owner, self.scale, self.column)

    def slope(self, a: Array, b: Array) -> Array:
        """2(a − b)."""
        return 2.0 * (a - b)

    def weigh_slopes(self, E: Array, A: Array, B: Prepared, C: Array) -> Array:
        """2(a · Ec − E (c ∘ B)), two matrix products."""
        return 2.0 * ((E @ C)[:, :, None] * A[:, None, :] - _weigh_points(E, B, C))


@dataclass(frozen=True)
class DirectSquaredDistance(SquaredDistance):
    """‖x − z‖², with differences formed first."""

    direct_form = True

    def block(self, A: Prepared, B: Prepared) -> np.ndarray:
        """Σ (x − z)²."""
        return np.minimum(_square_differences(A, B), FURTHEST)

    def direct(self) -> Statistic:
        """Itself."""
        return self


@dataclass(frozen=True)
class CoordinateSum(VectorStatistic):
    """Σ_d term(x_d, z_d)."""

    def term(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the share of one coordinate; a and b broadcast."""
        raise NotImplementedError

    def block(self, A: Prepared, B: Prepared) -> np.ndarray:
        """Sum the terms of all coordinates."""
        return sum_of_terms(self.term, A, B)

    def diag(self, A: Prepared) -> np.ndarray:
        """Sum the terms of all coordinates at x = z."""
        return self.term(A, A).sum(axis=1)


@dataclass(frozen=True)
class AbsoluteDistance(CoordinateSum, ScaledDistance):
    """‖x − z‖₁."""

    native = "absdist"
    degree = 1.0
    centred = True
    direct_form = True

    def norm(self, inside: Node) -> Node:
        """‖·‖₁."""
        return Norm(inside, ONE)

    def term(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """|a − b|."""
        return np.abs(a - b)

    def slope(self, a: Array, b: Array) -> Array:
        """The sign of a − b, 0 at the kink."""
        difference = a - b
        return namespace(a).sign(difference) if is_tensor(a) else np.sign(difference)  # the other looks for NaN first


@dataclass(frozen=True)
class BlockStatistic(Statistic):
    """The values of a kernel that computes its own blocks, on objects of any kind."""

    kernel: ObjectKernel

    def notation(self, x: Node, z: Node) -> Node:
        """Return what the kernel calls itself."""
        return self.kernel.notation(x, z)

    def prepare(self, X: Rows, Z: Rows, dtype: Any) -> tuple[Prepared, Prepared]:
        """Let the kernel prepare both collections."""
        A = self.view.apply(X)
        return self.kernel.prepare(A, A if Z is X else self.view.apply(Z))

    def block(self, A: Prepared, B: Prepared) -> np.ndarray:
        """Return the kernel's own block."""
        return self.kernel.block(A, B)

    def diag(self, A: Prepared) -> np.ndarray:
        """Return the kernel's own diagonal."""
        return self.kernel.block_diag(A)

    def apart(self, A: Prepared, B: Prepared) -> np.ndarray:
        """Return the kernel's own distances."""
        return self.kernel.block_distance(A, B)

    def scratch(self, A: Prepared, B: Prepared) -> int:
        """Return the kernel's own need of memory."""
        return self.kernel.scratch(A, B)


def middle(some: np.ndarray) -> np.ndarray:
    """Return a point to subtract from all others, given some of them.

    Differences do not notice a shift, but their rounding errors do.  Quartiles of some rows, unlike means, stay with
    the bulk of the data when there are outliers; of the values between them the one nearest to 0 costs the fewest
    digits of points that are closer to 0 than the shift is.
    """
    some = some.astype(np.float64)
    low = np.quantile(some, 0.25, axis=0, method="lower")
    high = np.quantile(some, 0.75, axis=0, method="higher")
    return np.asarray(np.clip(0.0, low, high))


def _square_distances(A: Prepared, B: Prepared) -> np.ndarray:
    sizes = square_norms(A)[:, None] + square_norms(B)[None, :]
    values = sizes - 2.0 * make_dense(A @ B.T)
    rows, columns = np.nonzero(~(values > 1e-3 * sizes))
    step = max(1, 2**20 // A.shape[1])
    for start in range(0, len(rows), step):
        i, j = rows[start : start + step], columns[start : start + step]
        values[i, j] = np.minimum(square_norms(A[i] - B[j]), FURTHEST)
    return values


def _weigh_points(E: Array, B: Prepared, C: Array) -> Array:
    """Return Σ_b E_ab C_bj b for all rows a of E and columns j of C, some columns at a time."""
    if sparse.issparse(B):
        return np.stack([E @ sparse.csr_array(B.multiply(c[:, None])) for c in C.T], axis=1)
    (m, d), step = B.shape, max(1, COLUMNS // B.shape[1])
    parts = [
        (E @ (C[:, j : j + step, None] * B[:, None, :]).reshape(m, -1)).reshape(len(E), -1, d)
        for j in range(0, C.shape[1], step)
    ]
    return parts[0] if len(parts) == 1 else namespace(E).concat(parts, axis=1)


def sum_of_terms(term: Callable[[Any, Any], np.ndarray], A: Prepared, B: Prepared) -> np.ndarray:
    """Return Σ_d term(x_d, z_d) for every pair."""
    total = term(A[:, :1], B[None, :, 0])
    for d in range(1, A.shape[1]):
        total = total + term(A[:, d, None], B[None, :, d])
    return total


def _square_differences(A: Prepared, B: Prepared) -> np.ndarray:
    """Return ‖a − b‖² for every pair, right to rounding wherever the points lie."""
    if sparse.issparse(A):
        return _square_distances(A, B)
    with np.errstate(over="ignore"):
        return sum_of_terms(lambda a, b: (a - b) ** 2, A, B)


def make_dense(values: Any) -> Any:
    """Return a sparse matrix as an array, and anything else as it is."""
    return values.toarray() if sparse.issparse(values) else values


def square_norms(A: Any) -> np.ndarray:
    """Return ‖a‖² for every row."""
    if sparse.issparse(A):
        return np.asarray(A.multiply(A).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", A, A))
