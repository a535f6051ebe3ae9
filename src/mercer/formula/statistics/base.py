"""What every statistic can do, those of vectors, and that of kernels which compute their own blocks."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse

from mercer.arrays import Array
from mercer.arrays.namespace import namespace
from mercer.arrays.tensors import is_tensor

from ..data import Rows, Steps, as_matrix
from ..expression import Const, Diagonal, Expression, Param, Stat
from ..notation.tree import (
    Apply,
    Node,
    Word,
)

if TYPE_CHECKING:
    from mercer.kernels.prepared import ObjectKernel

Prepared = Any  # rows that can be sliced: array, CSR matrix or list
CACHED = 2**17  # entries of arrays that stay in the cache from one step to the next
LOOKED_AT = 250  # rows that a shift is chosen from
PREPARED = 2**20  # bytes of points that are shifted and transformed at a time


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
