"""Pull-backs: a kernel after a map, of which looking at some columns only is the simplest."""

from __future__ import annotations

import math
import numbers
from collections import Counter
from typing import Any

import numpy as np

from .algebra import check_kernels, inside
from .base import ATOM, Kernel
from .data import Columns
from .expression import Expression
from .mapping import Mapped
from .pair import Pair
from .parameters import show
from .theorem import Theorem, pull_back


class On(Kernel):
    """A kernel that looks at some columns only, written ``k.on(columns)``."""

    kernel: Kernel
    columns: Any

    def __post_init__(self) -> None:
        check_kernels(self, "kernel")
        try:
            chosen = self.chosen()
        except TypeError:
            chosen = ()
        wrong = [c for c in chosen if isinstance(c, bool) or not isinstance(c, numbers.Integral | str)]
        if wrong or not chosen:
            raise TypeError(
                f"on: columns must be positions or names, got {self.columns!r}; for example k.on([0, 3]), k.on('age') "
                "or k.on(slice(0, 3)), whose start and end are not negative"
            )
        repeated = sorted(str(c) for c, times in Counter(chosen).items() if times > 1)
        if repeated:
            raise ValueError(f"on: column {repeated[0]} is given more than once in {self.columns!r}; name it once")

    def chosen(self) -> tuple[Any, ...]:
        """Return the columns as a tuple (of slices resolved only as far as their end is known)."""
        if isinstance(self.columns, slice):
            if self.columns.stop < 0 or (self.columns.start or 0) < 0:
                return ()
            return tuple(range(self.columns.stop)[self.columns])
        if isinstance(self.columns, str | numbers.Integral):
            return (self.columns,)
        return tuple(c.item() if isinstance(c, np.generic) else c for c in self.columns)

    def formula(self, pair: Pair) -> Expression:
        """Look at the columns."""
        return pair.of("kernel", Columns(self.chosen(), repr(self)))

    def theorem(self) -> Theorem | None:
        """Pull-back by the projection."""
        proved = self.kernel.theorem()
        return None if proved is None else pull_back(self, proved, f"the choice of columns {show(self.columns)}")

    def feature_dim(self, d: int) -> float:
        """Features of as many inputs as there are columns."""
        return self.kernel.feature_dim(len(self.chosen()))

    def expression(self) -> str:
        """``k.on(columns)``."""
        return f"{inside(self.kernel, ATOM)}.on({show(self.columns)})"


class After(Kernel):
    """The pull-back k(g(x), g(z)), written ``k.after(g)``.

    ``map`` is a fitted transformer, a function of one object, or a function of a whole array that treats its rows
    independently; which of the two is found out by calling it.
    """

    kernel: Kernel
    map: Any

    def __post_init__(self) -> None:
        check_kernels(self, "kernel")
        if not (callable(self.map) or hasattr(self.map, "transform")):
            raise TypeError(f"after: expected a function or a fitted transformer, got {self.map!r}")

    def formula(self, pair: Pair) -> Expression:
        """Apply the map first."""
        return pair.of("kernel", Mapped(self.map, repr(self)))

    def theorem(self) -> Theorem | None:
        """Pull-back."""
        proved = self.kernel.theorem()
        return None if proved is None else pull_back(self, proved, show(self.map))

    def feature_dim(self, d: int) -> float:
        """Features of the images, if the map works on d numbers."""
        images = Mapped(self.map, repr(self)).apply(np.zeros((2, d)))
        return self.kernel.feature_dim(images.shape[1]) if hasattr(images, "shape") else math.inf

    def expression(self) -> str:
        """``k.after(map)``."""
        return f"{inside(self.kernel, ATOM)}.after({show(self.map)})"
