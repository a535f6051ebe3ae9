"""What kernels on objects make of collections, once: arrays that all parts share, and some that are cut."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, ClassVar, Self, cast

import numpy as np
from scipy import sparse


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
