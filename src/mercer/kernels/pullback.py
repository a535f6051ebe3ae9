"""Pull-backs: a kernel after a map, of which looking at some columns only is the simplest."""

from __future__ import annotations

import math
import numbers
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.formula.data import Columns
from mercer.formula.expression import Expression
from mercer.formula.pair import Pair
from mercer.formula.parameters import show

from .algebra import show_operand
from .base import ATOM, COMPOSE, Inner, Kernel
from .mapping import LinearMap, Mapped, Multiplied
from .theorem import PULL_BACK, Definiteness, Theorem, merge_points, otherwise


class On(Kernel):
    """A kernel that looks at some columns only, written ``k.on(columns)``.

    ``columns`` is a position, a name, a list of them, or a slice; an open end of a slice is that of the data.
    """

    kernel: Inner
    columns: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            chosen = self.chosen()
        except (TypeError, ValueError):
            chosen = ()
        wrong = [c for c in chosen if isinstance(c, bool) or not isinstance(c, numbers.Integral | str)]
        if wrong or not chosen:
            raise TypeError(
                f"on: columns must be positions or names, got {self.columns!r}; for example k.on([0, 3]), k.on('age') "
                "or k.on(slice(1, None))"
            )
        repeated = sorted(str(c) for c, times in Counter(chosen).items() if times > 1)
        if repeated:
            raise ValueError(f"on: column {repeated[0]} is given more than once in {self.columns!r}; name it once")

    def chosen(self, d: int | None = None) -> tuple[Any, ...]:
        """Return the columns as a tuple, those of a slice for data of d columns, or of the fewest it can be used on."""
        if isinstance(self.columns, slice):
            if not self._open:
                return tuple(range(self.columns.stop)[self.columns])
            bounds = (abs(bound) for bound in (self.columns.start, self.columns.stop, self.columns.step) if bound)
            widths = range(1, sum(bounds) + 2) if d is None else [d]
            return next((found for width in widths if (found := tuple(range(width)[self.columns]))), ())
        if isinstance(self.columns, str | numbers.Integral):
            return (self.columns,)
        return tuple(c.item() if isinstance(c, np.generic) else c for c in self.columns)

    @property
    def _open(self) -> bool:
        """Whether the columns are a slice that depends on how many the data has."""
        if not isinstance(self.columns, slice):
            return False
        start, stop, step = self.columns.start or 0, self.columns.stop, self.columns.step or 1
        return stop is None or min(start, stop, step) < 0

    @property
    def _all(self) -> bool:
        """Whether the columns are all there are, however many."""
        if not isinstance(self.columns, slice) or self.columns.stop is not None:
            return False
        start, step = self.columns.start, self.columns.step or 1
        return (start or 0, step) == (0, 1) or (start, step) == (None, -1)

    def step(self) -> Columns:
        """Return the choice as a step in front of the kernel."""
        if self._open:
            return Columns((), repr(self), (self.columns.start, self.columns.stop, self.columns.step))
        return Columns(self.chosen(), repr(self))

    def width(self, d: int | None) -> int | None:
        """Return how many columns of d there are left, None where that is not known."""
        return None if d is None and self._open else len(self.chosen(d))

    def formula(self, pair: Pair) -> Expression:
        """Look at the columns."""
        return pair.of("kernel", self.step())

    def theorem(self) -> Theorem | None:
        """Pull-back by the projection."""
        return self.prove(f"{PULL_BACK}the choice of columns {show(self.columns)}")

    def definiteness(self, d: int | None) -> Definiteness:
        """As before if all columns are chosen; otherwise points may differ in the others only."""
        inner = self.kernel.definiteness(self.width(d))
        if self._all or (d is not None and len(self.chosen(d)) == d):
            return inner
        known = self.chosen(d) if inner.strict and not (d is None and self._open) else ()
        columns = tuple(c if d is None or isinstance(c, str) else c % d for c in known)
        return merge_points(columns, inner.positive, finite=inner.finite)

    def feature_dim(self, d: int) -> float:
        """Features of as many inputs as there are columns."""
        return self.kernel.feature_dim(len(self.chosen(d)))

    def expression(self) -> str:
        """``k.on(columns)``."""
        return f"{show_operand(self.kernel, ATOM)}.on({show(self.columns)})"


class After(Kernel):
    """The pull-back k(g(x), g(z)), written ``k.after(g)``.

    ``map`` is a :class:`LinearMap`, a fitted transformer, a function of one object, or a function of a whole array that
    treats its rows independently; which of the last two is found out by calling it.
    """

    kernel: Inner
    map: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (callable(self.map) or hasattr(self.map, "transform")):
            raise TypeError(f"after: expected a function or a fitted transformer, got {self.map!r}")

    def step(self) -> Mapped | Multiplied:
        """Return the map as a step in front of the kernel."""
        return (Multiplied if isinstance(self.map, LinearMap) else Mapped)(self.map, repr(self))

    def formula(self, pair: Pair) -> Expression:
        """Apply the map first."""
        return pair.of("kernel", self.step())

    def theorem(self) -> Theorem | None:
        """Pull-back."""
        return self.prove(PULL_BACK + self._show_map())

    def definiteness(self, d: int | None) -> Definiteness:
        """Linear maps keep points apart or not; of others it is not known, but finitely many features stay that."""
        if isinstance(self.map, LinearMap):
            return self._follow_linear(self.map)
        inner = self.kernel.definiteness(None)
        return otherwise(None, inner.positive or None, finite=d is not None and inner.finite)

    def _follow_linear(self, linear: LinearMap) -> Definiteness:
        d, r = linear.matrix.shape
        inner = replace(self.kernel.definiteness(r), columns=())
        if linear.injective is False:
            because = "points that differ in a direction that the linear map takes to 0 have the same features"
            return Definiteness(False, because, separates=False, positive=inner.positive, finite=inner.finite)
        if linear.injective and inner.strict:
            return inner.keep("linear maps that keep points apart", repr(self.kernel))
        if linear.injective and d == r:  # then every point is an image
            return inner
        apart = True if linear.injective and inner.separates else None
        return otherwise(apart, inner.positive, finite=inner.finite)

    def feature_dim(self, d: int) -> float:
        """Features of the images, if the map works on d numbers."""
        images = self.step().apply(np.zeros((2, d)))
        return self.kernel.feature_dim(images.shape[1]) if hasattr(images, "shape") else math.inf

    def expression(self) -> str:
        """``k.after(map)``."""
        return f"{show_operand(self.kernel, ATOM)}.after({self._show_map()})"

    def _show_map(self) -> str:
        return self.map.expression() if isinstance(self.map, LinearMap) else show(self.map)


COMPOSE.update(on=On, after=After)
