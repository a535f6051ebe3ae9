"""Kernels on objects, and what they make of collections, once: arrays that all parts share, and some that are cut.

Objects may be missing altogether.  Where they are to be an object of their own, that one has a feature of its own, so
that a kernel stays one: k = 1 with itself, and 0 with all others.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any, ClassVar, Literal, Self, cast

import numpy as np
from scipy import sparse

from mercer.formula.data import Present, Rows, Step, as_objects, is_missing_object
from mercer.formula.expression import Expression
from mercer.formula.notation.tree import Apply, Indexed, Node, Word, given, list_values
from mercer.formula.pair import Pair
from mercer.formula.parameters import show
from mercer.formula.statistics import BlockStatistic, Prepared

from .base import Domain, Kernel
from .theorem import Theorem


class HeldArrays:
    """A dataclass of arrays that knows how much memory they take."""

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(_count_bytes(getattr(self, each.name)) for each in fields(cast(Any, self)))


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


def check_missing(kernel: object, name: str) -> None:
    """Raise unless a parameter says what to do with missing objects."""
    value = getattr(kernel, name)
    if value not in ("refuse", "own"):
        raise ValueError(
            f"{type(kernel).__name__}: {name} must be 'refuse', or 'own' for an object of its own, got {value!r}"
        )


Missing = Annotated[Literal["refuse", "own"], check_missing]


class StructuredKernel(ObjectKernel):
    """A kernel on objects that have parts, of which some may be missing altogether (None, NaN)."""

    structured: ClassVar[bool] = True
    options: ClassVar[tuple[str, ...]] = ("missing",)

    missing: Missing = field(default="refuse", kw_only=True)

    def formula(self, pair: Pair) -> Expression:
        """The block itself is the statistic, with rows and columns for missing objects if they are to have them."""
        return pair.statistic(BlockStatistic, self if self.missing == "refuse" else OwnMissing(self))


@dataclass(frozen=True)
class OwnMissing:
    """What a kernel computes, on collections in which objects may be missing."""

    kernel: StructuredKernel
    structured: ClassVar[bool] = True

    @property
    def relief(self) -> str:
        """What to do about overflow."""
        return self.kernel.relief

    @property
    def has_logarithms(self) -> bool:
        """Whether the kernel knows the logarithms of its values."""
        return self.kernel.has_logarithms

    def theorem(self) -> Theorem | None:
        """The kernel's own: one more feature changes nothing."""
        return self.kernel.theorem()

    def is_object(self, thing: Any) -> bool:
        """Whether something with a length can only be a single object."""
        return self.kernel.is_object(thing)

    def notation(self, x: Node, z: Node) -> Node:
        """Return what the kernel calls itself."""
        return self.kernel.notation(x, z)

    def prepare(self, X: Rows, Z: Rows) -> tuple[Gapped, Gapped]:
        """Let the kernel prepare the objects that are there."""
        left, here = split_missing(X, repr(self.kernel))
        right, there = (left, here) if Z is X else split_missing(Z, repr(self.kernel))
        if len(left) and len(right):
            A, B = self.kernel.prepare(left, right)
        else:
            A, B = (self.kernel.prepare(some, some)[0] if len(some) else None for some in (left, right))
        first = Gapped(A, here)
        return first, first if Z is X else Gapped(B, there)

    def block(self, A: Gapped, B: Gapped) -> np.ndarray:
        """1 for two missing objects, and 0 for one of them."""
        return self._fill(A, B, self.kernel.block, np.zeros((len(A), len(B))), 1.0)

    def log_block(self, A: Gapped, B: Gapped) -> np.ndarray:
        """Logarithms of these."""
        return self._fill(A, B, self.kernel.log_block, np.full((len(A), len(B)), -np.inf), 0.0)

    def block_distance(self, A: Gapped, B: Gapped) -> np.ndarray:
        """k(x, x) + 1 to a missing object, and 0 between two of them."""
        own = self.block_diag(A)[:, None] + self.block_diag(B)[None, :]
        return self._fill(A, B, self.kernel.block_distance, own, 0.0)

    def block_diag(self, A: Gapped) -> np.ndarray:
        """1 for missing objects."""
        return _fill_there(A, self.kernel.block_diag, np.ones(len(A)))

    def log_block_diag(self, A: Gapped) -> np.ndarray:
        """0 for missing objects."""
        return _fill_there(A, self.kernel.log_block_diag, np.zeros(len(A)))

    def scratch(self, A: Gapped, B: Gapped) -> int:
        """Return the kernel's own need of memory."""
        return 0 if A.objects is None or B.objects is None else self.kernel.scratch(A.objects, B.objects)

    def _fill(
        self, A: Gapped, B: Gapped, compute: Callable[[Prepared, Prepared], np.ndarray], out: np.ndarray, alike: float
    ) -> np.ndarray:
        if A.there.any() and B.there.any():
            out[np.ix_(A.there, B.there)] = compute(A.present, B.present)
        out[np.ix_(~A.there, ~B.there)] = alike
        return out


def _fill_there(A: Gapped, compute: Callable[[Prepared], np.ndarray], out: np.ndarray) -> np.ndarray:
    if A.there.any():
        out[A.there] = compute(A.present)
    return out


@dataclass(frozen=True, eq=False)
class Gapped:
    """A collection in prepared form, in which objects may be missing."""

    objects: Prepared | None  # those that are there, all of the collection this one was cut from
    place: np.ndarray  # the number of each object among them, −1 if it is missing

    @property
    def there(self) -> np.ndarray:
        """Whether each object is there."""
        return self.place >= 0

    @property
    def present(self) -> Prepared:
        """The objects that are there."""
        places, objects = self.place[self.there], cast(Any, self.objects)
        in_order = bool((np.diff(places) == 1).all())
        return objects[int(places[0]) : int(places[-1]) + 1] if in_order else objects[places]

    @property
    def shape(self) -> tuple[int]:
        """The number of objects."""
        return (len(self),)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return int(getattr(self.objects, "nbytes", 0)) + self.place.nbytes

    def __len__(self) -> int:
        return len(self.place)

    def __getitem__(self, index: slice | np.ndarray) -> Gapped:
        return replace(self, place=self.place[index])


def split_missing(X: Rows, owner: str) -> tuple[Present, np.ndarray]:
    """Return the objects that are there, with the rows they have in X, and the number of each row among them."""
    objects = as_objects(X, owner)
    rows = [row for row, item in enumerate(objects) if not is_missing_object(item)]
    place = np.full(len(objects), -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    return Present([objects[row] for row in rows], rows), place


def _write_parameter(value: Any) -> Node:
    """Return a parameter inside a formula."""
    if isinstance(value, bool | Kernel):
        return Word(type(value).__name__ if isinstance(value, Kernel) else str(value))
    if isinstance(value, numbers.Real):
        return given(float(value))
    if isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim == 1):
        return list_values([_write_parameter(item) for item in value], vector=True)
    return Word(value if isinstance(value, str) else show(value))
