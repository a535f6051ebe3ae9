"""Solvers of kernel ridge regression.  A new one is a file of its own and a line in ``SOLVERS``."""

from ..costs import PlannedSolver
from .blocks.solver import BlockDescent
from .cg import ConjugateGradient
from .cholesky import Cholesky
from .partial.solver import PartialCholesky
from .primal.solver import Primal
from .restricted.nystroem import Nystroem
from .spectral import Spectral

SOLVERS: dict[str, type[PlannedSolver]] = {
    solver.name: solver
    for solver in (Primal, Spectral, Cholesky, PartialCholesky, ConjugateGradient, BlockDescent, Nystroem)
}
