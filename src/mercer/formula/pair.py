"""The two points of k(x, z), in whose statistics a kernel writes its formula."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from .data import Step, Steps
from .expression import Diagonal, Expression, Param, Stat
from .parameters import is_vector
from .statistics import AbsoluteDistance, Dot, ScaledDistance, SquaredDistance, Statistic

if TYPE_CHECKING:
    from mercer.kernels.base import Kernel

WHOLE = Steps()  # the data as the user gave it


@dataclass(frozen=True)
class Pair:
    """The two points of k(x, z), as a kernel sees them while it writes its formula."""

    kernel: Kernel
    view: Steps = WHOLE
    path: str = ""
    known: dict[str, tuple[Steps, Expression]] = field(default_factory=dict, repr=False, compare=False)

    def of(self, name: str, step: Step | None = None) -> Expression:
        """Return the formula of the kernel in parameter ``name``, on the same points or after one more step."""
        inner = self._inner(name, step)
        view, formula = self.known.get(inner.path, (None, None))
        return inner.kernel.formula(inner) if formula is None or view != inner.view else formula

    def formula(self) -> Expression:
        """Return the formula of the kernel, after those of all kernels inside, so that no chain of calls is long."""
        left: list[tuple[Pair, bool]] = [(self, False)]
        while left:
            pair, ready = left.pop()
            if ready or not pair.kernel.inner_formulas():
                self.known[pair.path] = pair.view, pair.kernel.formula(pair)
            else:
                left.append((pair, True))
                left += [(pair._inner(name, step), False) for name, step in pair.kernel.inner_formulas().items()]
        return self.known[self.path][1]

    def _inner(self, name: str, step: Step | None) -> Pair:
        child = cast("Kernel", getattr(self.kernel, name))
        view = self.view if step is None else self.view.then(step)
        return Pair(child, view, f"{self.path}{name}__", self.known)

    def param(self, name: str) -> Param:
        """Return a scalar hyperparameter by name."""
        return Param(self.path + name, float(getattr(self.kernel, name)))

    def params(self, name: str) -> tuple[Param, ...]:
        """Return a hyperparameter that holds one number for each feature."""
        values = getattr(self.kernel, name)
        return tuple(Param(f"{self.path}{name}[{i}]", float(value)) for i, value in enumerate(values))

    def statistic(self, kind: Callable[..., Statistic], *args: Any) -> Expression:
        """Return the matrix of any statistic of the two points."""
        return Stat(kind(self.view, repr(self.kernel), *args))

    def dot(self) -> Expression:
        """xᵀz."""
        return self.statistic(Dot)

    def squared_distance(self, length_scale: str = "length_scale") -> Expression:
        """‖x − z‖², every coordinate divided by the length scale in the parameter of that name."""
        return self.distance(SquaredDistance, length_scale)

    def absolute_distance(self, length_scale: str = "length_scale") -> Expression:
        """‖x − z‖₁, every coordinate divided by the length scale in the parameter of that name."""
        return self.distance(AbsoluteDistance, length_scale)

    def distance(self, kind: type[ScaledDistance], length_scale: str, *args: Any) -> Expression:
        """Return a distance of any kind in units of a length scale.

        A single length scale divides the statistic rather than the data, so that kernels which differ only in
        their length scale share one statistic.
        """
        if is_vector(getattr(self.kernel, length_scale)):
            return self.statistic(kind, self.params(length_scale), None, *args)
        plain = kind(self.view, repr(self.kernel), (), None, *args)
        return Stat(plain) * self.param(length_scale) ** -plain.order

    def left(self, inner: Expression) -> Expression:
        """Return the value of an expression at (x, x)."""
        return Diagonal("left", inner)

    def right(self, inner: Expression) -> Expression:
        """Return the value of an expression at (z, z)."""
        return Diagonal("right", inner)
