"""Solvers: one algorithm a file, prepare once and solve for many penalties, each with its certificate."""

from .base import Prepared, PreparedRidge, Problem, Solution, Solver
from .plan import Plan, plan
from .residuals import relative_residuals
from .ridge.banded import Banded
from .ridge.blocks.solver import BlockDescent
from .ridge.cg import ConjugateGradient
from .ridge.cholesky import Cholesky
from .ridge.partial.solver import PartialCholesky
from .ridge.primal.solver import Primal
from .ridge.restricted.nystroem import Nystroem
from .ridge.spectral import Spectral

__all__ = [
    "Banded",
    "BlockDescent",
    "Cholesky",
    "ConjugateGradient",
    "Nystroem",
    "PartialCholesky",
    "Plan",
    "Prepared",
    "PreparedRidge",
    "Primal",
    "Problem",
    "Solution",
    "Solver",
    "Spectral",
    "plan",
    "relative_residuals",
]
