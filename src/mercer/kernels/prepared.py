"""Kernels on objects, and what they make of collections, once: arrays that all parts share, and some that are cut."""

from __future__ import annotations

import numbers
from dataclasses import fields, replace
from typing import Any, ClassVar, Self, cast

import numpy as np
from scipy import sparse

from mercer.formula.data import Rows, Step, as_objects
from mercer.formula.expression import Expression
from mercer.formula.notation.tree import Apply, Indexed, Node, Word, given, list_values
from mercer.formula.pair import Pair
from mercer.formula.parameters import show
from mercer.formula.statistics import BlockStatistic, Prepared

from .base import Domain, Kernel


class HeldArrays:
    """A dataclass of arrays that knows how much memory they take."""

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(_count_bytes(getattr(self, field.name)) for field in fields(cast(Any, self)))


class Sliced(HeldArrays):
    """Objects in prepared form, of which parts are taken like those of a list.

    What is named in ``along`` has an entry for each object; everything else belongs to all of them.
    """

    along: ClassVar[tuple[str, ...]]

    @property
    def shape(self) -> tuple[int]:
        """The number of objects."""
        return (len(self),)

    def __len__(self) -> int:
        return int(getattr(self, self.along[0]).shape[0])

    def __getitem__(self, index: slice | np.ndarray) -> Self:
        return cast(Self, replace(cast(Any, self), **{name: getattr(self, name)[index] for name in self.along}))


def _count_bytes(value: Any) -> int:
    if sparse.issparse(value):
        return int(value.data.nbytes + value.indices.nbytes + value.indptr.nbytes)
    return int(getattr(value, "nbytes", 0))


class ObjectKernel(Kernel):
    """A kernel on objects of any kind: it computes blocks of values itself.

    Subclasses define :meth:`block`, and where work can be shared between pairs also :meth:`prepare`, which sees both
    collections once; the evaluation then slices what it returns.
    """

    domain: ClassVar[Domain] = "objects"
    relief: ClassVar[str] = (
        "use k.normalize(), smaller objects, or a smaller decay where the kernel has one"  # of overflow
    )
    structured: ClassVar[bool] = False  # whether objects have parts of their own, so that many are never a table
    has_logarithms: ClassVar[bool] = False  # whether values, which are not negative, are known by their logarithms too

    def is_object(self, thing: Any) -> bool:
        """Whether something with a length can only be a single object."""
        return False

    def notation(self, x: Node, z: Node) -> Node:
        """Return k(x, z) as people write it: the name, with the parameters below."""
        name, values = Word(type(self).__name__), self.written_params().values()
        below = [_write_parameter(value) for value in values if value is not None]
        return Apply(Indexed(name, list_values(below)) if below else name, (x, z))

    def prepare(self, X: Rows, Z: Rows) -> tuple[Prepared, Prepared]:
        """Return both collections in a form that can be sliced and given to :meth:`block`."""
        A = as_objects(X, repr(self))
        return A, A if Z is X else as_objects(Z, repr(self))

    def block(self, A: Prepared, B: Prepared) -> np.ndarray:
        """Return the values for every pair of an object of A and an object of B."""
        raise NotImplementedError

    def block_diag(self, A: Prepared) -> np.ndarray:
        """Return the values for every object of A with itself."""
        return np.array([self.block(A[i : i + 1], A[i : i + 1])[0, 0] for i in range(len(A))])

    def log_block(self, A: Prepared, B: Prepared) -> np.ndarray:
        """Return ln k(x, z) for every pair, −inf for 0: what :meth:`normalize` divides, in the range of any number."""
        raise NotImplementedError

    def log_block_diag(self, A: Prepared) -> np.ndarray:
        """Return ln k(x, x) for every object of A."""
        return np.array([self.log_block(A[i : i + 1], A[i : i + 1])[0, 0] for i in range(len(A))])

    def scratch(self, A: Prepared, B: Prepared) -> int:
        """Return the bytes that a block of any rows takes while it is computed, beside its own entries."""
        return 0

    def block_distance(self, A: Prepared, B: Prepared) -> np.ndarray:
        """Return k(x, x) + k(z, z) − 2 k(x, z) for every pair; redefine it where there is a form that cancels less."""
        return self.block_diag(A)[:, None] + self.block_diag(B)[None, :] - 2.0 * self.block(A, B)

    def inner_formulas(self) -> dict[str, Step | None]:
        """None: blocks are computed, whatever of."""
        return {}

    def formula(self, pair: Pair) -> Expression:
        """The block itself is the statistic."""
        return pair.statistic(BlockStatistic, self)


def _write_parameter(value: Any) -> Node:
    """Return a parameter inside a formula."""
    if isinstance(value, bool | Kernel):
        return Word(type(value).__name__ if isinstance(value, Kernel) else str(value))
    if isinstance(value, numbers.Real):
        return given(float(value))
    if isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim == 1):
        return list_values([_write_parameter(item) for item in value], vector=True)
    return Word(value if isinstance(value, str) else show(value))
