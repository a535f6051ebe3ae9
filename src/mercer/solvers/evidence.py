"""Whether a fit is done: decided here for every solver, from the certificate that is reported next to the answer.

A certificate is a number that is 0 at the solution and has no unit: a relative residual, or a relative duality gap.  A
fit has converged if and only if its certificate is at most the tolerance; whatever made a solver stop does not count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer.messages import warn_caller

SCALE = "scale the columns of the data, for example with make_pipeline(StandardScaler(), model)"  # a remedy
RESIDUAL = 1e-5  # of ridge: the root of the relative duality gap, so that objectives are right to ten digits


@dataclass(frozen=True)
class DualityGap:
    """Primal minus dual value, a bound on how far the objective is from its minimum; as a number, the absolute one.

    Parameters
    ----------
    absolute : float
        In the unit of the objective.
    relative : float
        Divided by the objective.
    primal, dual : float
        The two values; NaN where only their difference is known.

    Examples
    --------
    >>> float(DualityGap(absolute=0.5, relative=0.01))
    0.5
    """

    absolute: float
    relative: float
    primal: float = math.nan
    dual: float = math.nan

    def __float__(self) -> float:
        return self.absolute


class Objective(float):
    """L + Ω, what a model has minimised: a number that knows its two parts.

    Parameters
    ----------
    loss : float
        The sum over all points.
    penalty : float
        That of the function's norm.

    Examples
    --------
    >>> value = Objective(loss=2.0, penalty=0.5)
    >>> value, value.loss, value.penalty
    (2.5, 2.0, 0.5)
    """

    loss: float
    penalty: float

    def __new__(cls, loss: float, penalty: float) -> Self:
        """Add the parts."""
        found = super().__new__(cls, loss + penalty)
        found.loss, found.penalty = float(loss), float(penalty)
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.loss, self.penalty)


def is_converged(certificate: float, tolerance: float) -> bool:
    """Whether a certificate is as small as was asked; one that is no number certifies nothing.

    Examples
    --------
    >>> is_converged(1e-9, 1e-6), is_converged(0.45, 1e-6), is_converged(float("nan"), 1e-6)
    (True, False, False)
    """
    return bool(certificate <= tolerance)


def warn_not_converged(
    name: str,
    certificate: float,
    tolerance: float,
    remedy: str,
    *,
    kind: str = "relative residual",
) -> None:
    """Say once what was reached, what was asked for, and what to do."""
    reached = f"{certificate:.1e}" if np.isfinite(certificate) else "not known"
    warn_caller(
        f"{name} has not converged: its {kind} is {reached}, above {tolerance:.1e}; {remedy}", ConvergenceWarning
    )
