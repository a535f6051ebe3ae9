"""What every ridge solver is given and gives back.

The problem is min Σᵢ wᵢ (yᵢ − f(xᵢ) − b)² + α‖f‖².  With A = K + α W⁻¹ its solution is c = A⁻¹(y − b1); with an
unpenalised intercept b = 1ᵀA⁻¹y / 1ᵀA⁻¹1, and without one b = 0.  A solver prepares what does not depend on α once, and
then solves for as many α as it is asked, each time with a certificate: the residual it reached.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from mercer.gram import Gram
from mercer.gram.budget import parse_memory
from mercer.kernels import Kernel
from mercer.kernels.data import Rows, length


@dataclass(frozen=True)
class Problem:
    """A kernel, data and targets; everything but the penalty.

    Parameters
    ----------
    kernel : Kernel
        The kernel k.
    X : collection of n objects
        The training points.
    y : array of shape (n, q)
        The targets, one column for each output.
    weights : array of shape (n,), optional
        Positive weights of the points; all 1 if not given.
    fit_intercept : bool
        Whether an unpenalised constant is fitted too.
    memory : int
        Budget in bytes, of the device if there is one.
    device : torch.device, optional
        Where to compute; on the host if not given.
    """

    kernel: Kernel
    X: Rows
    y: np.ndarray
    weights: np.ndarray | None = None
    fit_intercept: bool = False
    memory: int = field(default_factory=lambda: parse_memory(None))
    device: Any = None

    @property
    def n(self) -> int:
        """The number of training points."""
        return length(self.X)

    @property
    def noise(self) -> np.ndarray:
        """The diagonal of W⁻¹, which α multiplies."""
        return np.ones(self.n) if self.weights is None else 1.0 / self.weights

    def gram(self, **options: Any) -> Gram:
        """Return the Gram matrix of the training points."""
        return Gram(self.kernel, self.X, memory=self.memory, device=self.device, **options)


@dataclass(frozen=True)
class Solution:
    """Coefficients of an expansion, with the evidence that they solve the problem.

    Parameters
    ----------
    centers : collection of m objects
        The points the expansion is made of: the training points, or Nyström centres.
    coef : array of shape (m, q)
        Coefficients c.
    intercept : array of shape (q,)
        b, zeros without an intercept.
    alpha : array of shape (q,)
        The penalty of each output.
    residual : float
        The largest ‖y − b − (K + αW⁻¹)c‖ / ‖αW⁻¹c‖ of all outputs, recomputed and not updated; for solvers in other
        coordinates the same relative residual of their normal equations.
    converged : bool
        Whether the residual is as small as was asked.
    n_iter : int
        Iterations, 0 for direct solvers.
    loo : array of shape (n, q), optional
        Leave-one-out residuals yᵢ − f₋ᵢ(xᵢ), if asked for.
    """

    centers: Rows
    coef: np.ndarray
    intercept: np.ndarray
    alpha: np.ndarray
    residual: float
    converged: bool = True
    n_iter: int = 0
    loo: np.ndarray | None = None


class Prepared(Protocol):
    """A problem made ready by a solver: solve it for one α after another."""

    def solve(self, alpha: np.ndarray, *, loo: bool = False) -> Solution:
        """Solve for one α per output, with leave-one-out residuals if asked."""


class Solver(Protocol):
    """One algorithm."""

    name: str

    def prepare(self, problem: Problem) -> Prepared:
        """Do what does not depend on α."""
