"""Penalties Ω(‖f‖): the other half of what the representer theorem is about, any function of the norm that grows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.formula.parameters import Positive, show
from mercer.kernels.value import Value

GRID = np.concatenate([[0.0], np.logspace(-6, 6, 241)])  # norms at which a function is looked at
POINTS = 401  # of a search for the largest rN − Ω(r)
STEP = 1e-6  # of a norm, for slopes


class Penalty(Value):
    """Ω(r) of the norm r = ‖f‖, which does not fall."""

    @property
    def convex(self) -> bool:
        """Whether the slope never falls, so that the answer can be certified."""
        return True

    def value(self, r: float) -> float:
        """Return Ω(r)."""
        raise NotImplementedError

    def slope(self, r: float) -> float:
        """Return Ω'(r)."""
        step = STEP * r or STEP
        low, high = max(r - step, 0.0), r + step
        return (self.value(high) - self.value(low)) / (high - low)

    def conjugate(self, s: float, alpha: float, most: float) -> float:
        """Return the largest sr − αΩ(r) over norms r up to ``most``."""
        norms = np.concatenate([[0.0], most * np.logspace(-8, 0, POINTS)])
        values = [s * r - alpha * self.value(float(r)) for r in norms]
        best = int(np.argmax(values))
        low, high = float(norms[max(best - 1, 0)]), float(norms[min(best + 1, POINTS)])
        options = {"xatol": 1e-12 * high}
        from scipy.optimize import minimize_scalar  # whose import takes long

        found = minimize_scalar(
            lambda r: alpha * self.value(r) - s * r, bounds=(low, high), method="bounded", options=options
        )
        return max(float(values[best]), -float(found.fun))

    def __repr__(self) -> str:
        inside = ", ".join(f"{field.name}={show(getattr(self, field.name))}" for field in self._fields())
        return f"{type(self).__name__}({inside})"


class SquaredNorm(Penalty):
    """r², the penalty of ridge, machines and logistic regression.

    Examples
    --------
    >>> SquaredNorm().value(3.0)
    9.0
    """

    def value(self, r: float) -> float:
        """Return r²."""
        return float(r) ** 2


class NormBound(Penalty):
    """No penalty up to a radius, and none but infinity beyond: ‖f‖ ≤ R.

    Parameters
    ----------
    radius : float
        R > 0.

    Examples
    --------
    >>> NormBound(2.0).value(1.0), NormBound(2.0).value(3.0)
    (0.0, inf)
    """

    radius: Positive

    def value(self, r: float) -> float:
        """Return 0 or ∞."""
        return 0.0 if r <= self.radius else np.inf

    def conjugate(self, s: float, alpha: float, most: float) -> float:
        """Return Rs."""
        return float(self.radius) * s


class NormFunction(Penalty):
    """Any function of the norm that grows.

    Parameters
    ----------
    function : callable
        Ω, of one number.

    Examples
    --------
    >>> NormFunction(lambda r: r).slope(2.0)
    1.0
    >>> NormFunction(lambda r: 1 - r)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: a penalty must grow with the norm, but it falls from 1 at norm 0 to 0.999999 at norm 1e-06; ...
    """

    function: Callable[[float], float]

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"NormFunction: expected a function of the norm, got {self.function!r}")
        values = np.array([self._evaluate(r) for r in GRID.tolist()])
        falls = np.flatnonzero(values[1:] < values[:-1])
        if len(falls):
            i = int(falls[0])
            raise ValueError(
                f"a penalty must grow with the norm, but it falls from {values[i]:g} at norm {GRID[i]:g} to "
                f"{values[i + 1]:g} at norm {GRID[i + 1]:g}; give a function such as lambda r: r, or use 'squared'"
            )
        if values[0] == values[-1]:
            raise ValueError(
                f"a penalty must grow with the norm, but this one is {values[0]:g} everywhere; give a function such as "
                "lambda r: r, or use 'squared'"
            )

    @property
    def convex(self) -> bool:
        """Whether the slope never falls, as far as a grid can tell."""
        values = np.array([self._evaluate(r) for r in GRID.tolist()])
        some = np.isfinite(values)
        slopes = np.diff(values[some]) / np.diff(GRID[some])
        return bool((slopes[1:] >= slopes[:-1] - 1e-6 * np.abs(slopes[:-1])).all())

    def _evaluate(self, r: float) -> float:
        try:
            with np.errstate(over="ignore"):
                found = float(self.function(r))
        except OverflowError:
            return np.inf
        except Exception as error:
            raise ValueError(
                f"a penalty is a function of one number, the norm; at {r:g} it raised {type(error).__name__}: {error}"
            ) from error
        if np.isnan(found):
            raise ValueError(f"a penalty is a number at every norm, but at norm {r:g} it is {found}")
        return found

    def value(self, r: float) -> float:
        """Return Ω(r)."""
        return self._evaluate(float(r))


def as_penalty(value: Any) -> Penalty:
    """Return the penalty that a model was given.

    Examples
    --------
    >>> as_penalty("squared"), as_penalty(NormBound(2.0))
    (SquaredNorm(), NormBound(radius=2.0))
    """
    if isinstance(value, Penalty):
        return value
    if isinstance(value, str) and value == "squared":
        return SquaredNorm()
    if callable(value):
        return NormFunction(value)
    raise ValueError(
        "penalty must be 'squared', a function of the norm that grows such as lambda r: r, or a bound such as "
        f"mercer.losses.NormBound(3.0); got {value!r}"
    )
