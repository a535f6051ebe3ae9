"""What every ridge solver is given and gives back.

The problem is min Σᵢ wᵢ (yᵢ − f(xᵢ) − b)² + α‖f‖².  With A = K + α W⁻¹ its solution is c = A⁻¹(y − b1); with an
unpenalised intercept b = 1ᵀA⁻¹y / 1ᵀA⁻¹1, and without one b = 0.  A solver prepares what does not depend on α once, and
then solves for as many α as it is asked, each time with a certificate: the residual it reached.

With the residual r = y − b − (K + αW⁻¹)c of any c (1ᵀc = 0 if there is an intercept) the objective P(c) is above its
minimum by at most the duality gap rᵀWr, and that bounds all errors at once:

    Σ wᵢ(f(xᵢ) + b − f*(xᵢ) − b*)² + α‖f − f*‖² = P(c) − P* ≤ rᵀWr.

So √(rᵀWr / S) is the certificate of every ridge solver, with S = P(c) + (1e-3)² Σ wᵢ(yᵢ − ȳ)²: a fit that is closer to
the targets than a thousandth of them is not judged by how much closer it could be (weights above their median count as
the median there).  It has no unit: neither targets nor
kernel nor weights change it when they are multiplied by a number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, Protocol

import numpy as np

from mercer.arrays.budget import parse_memory
from mercer.arrays.place import Place
from mercer.arrays.shapes import Axes
from mercer.arrays.tensors import host_array
from mercer.formula.data import Rows, length
from mercer.gram import Gram
from mercer.kernels import Kernel

from .evidence import RESIDUAL, SCALE, Objective, is_converged, warn_not_converged


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
    X: Annotated[Rows, Axes("n …")]
    y: Annotated[np.ndarray, Axes("n q")]
    weights: Annotated[np.ndarray, Axes("n")] | None = None
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

    @cached_property
    def diagonal(self) -> np.ndarray:
        """The kernel k(x, x) of the training points."""
        found = self.kernel.diag(self.X) if self.place.on_host else host_array(self.gram().diag())
        return np.asarray(found, dtype=np.float64)

    @property
    def place(self) -> Place:
        """Where to compute, and the budget there."""
        return Place(self.device, self.memory)

    @property
    def on_host(self) -> Problem:
        """The same problem with its points here, wherever they were."""
        if self.place.on_host:
            return self
        return replace(self, X=host_array(self.X), memory=parse_memory(None), device=None)

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
        The certificate, the largest of all outputs: √(rᵀWr / S) with r = y − b − (K + αW⁻¹)c and S as above, both
        computed from c and not updated; solvers in other coordinates bound the same gap there.
    tolerance : float
        The residual up to which the solution counts as found.
    n_iter : int
        Iterations, 0 for direct solvers.
    loo : array of shape (n, q), optional
        Leave-one-out residuals yᵢ − f₋ᵢ(xᵢ), if asked for.
    remedy : str
        What to do if it has not converged.
    parts : array of shape (2, q), optional
        Σ wᵢ(yᵢ − f(xᵢ) − b)² and α‖f‖² of each output, from the errors that made the certificate.
    """

    centers: Rows
    coef: np.ndarray
    intercept: np.ndarray
    alpha: np.ndarray
    residual: float
    tolerance: float = RESIDUAL
    n_iter: int = 0
    loo: np.ndarray | None = None
    remedy: str = f"raise alpha, or {SCALE}"
    parts: np.ndarray | None = None

    @property
    def converged(self) -> bool:
        """Whether the residual is as small as was asked."""
        return is_converged(self.residual, self.tolerance)

    @property
    def objective(self) -> Objective:
        """What was minimised, all outputs together; NaN of solvers that do not tell."""
        return Objective(*((math.nan, math.nan) if self.parts is None else map(sum, self.parts.tolist())))

    def explicit(self, columns: Any = slice(None)) -> Any:
        """Return the function in explicit features, if it was found there; the coefficients are all there is here."""
        return None


class Prepared(Protocol):
    """A problem made ready by a solver: solve it for one α after another."""

    def solve(self, alpha: np.ndarray, *, loo: bool = False) -> Solution:
        """Solve for one α per output, with leave-one-out residuals if asked."""


class Solver(Protocol):
    """One algorithm.

    Those that a plan may choose also have ``exact``, ``cost(sizes)`` and ``explain(sizes)``, the reason for them where
    they are the quickest (see :mod:`mercer.solvers.costs`).
    """

    name: str

    def prepare(self, problem: Problem) -> Prepared:
        """Do what does not depend on α."""


class PreparedRidge:
    """What the prepared solvers here share: :meth:`solve` is an attempt, and a warning if it did not converge."""

    name = "ridge"

    def solve(self, alpha: Any, *, loo: bool = False) -> Any:
        """Solve for one α per output, with leave-one-out residuals if asked."""
        solution = self.attempt(alpha, loo=loo)
        if not solution.converged:
            warn_not_converged(self.name, solution.residual, solution.tolerance, solution.remedy)
        return solution

    def attempt(self, alpha: Any, *, loo: bool = False) -> Any:
        """Solve as well as this solver can, and leave it to the caller to look at the residual."""
        raise NotImplementedError
