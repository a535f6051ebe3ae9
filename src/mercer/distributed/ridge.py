"""Kernel ridge regression over partitions: explicit features, Nyström centres, or conjugate gradients on all pairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import qr, solve_triangular
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer.arrays.budget import MemoryBudgetError, parse_memory, require, show_bytes
from mercer.arrays.place import refuse_several
from mercer.estimators.kernel_argument import kernel_argument
from mercer.formula.data import Rows, pick
from mercer.gram import Gram
from mercer.kernels import Kernel
from mercer.linalg.cholesky import pick_independent
from mercer.solvers.base import Problem, Solution
from mercer.solvers.centers import draw_rows
from mercer.solvers.evidence import RESIDUAL
from mercer.solvers.plan import Plan, count_columns, plan
from mercer.solvers.ridge.cg import ConjugateGradient, PreparedConjugateGradient
from mercer.solvers.ridge.fit import RidgeFit, record_fit
from mercer.solvers.ridge.primal.rows import PrimalWeights, SecondPass, features_of
from mercer.solvers.ridge.primal.solver import REMEDY, PrimalPrepared, PrimalSolution
from mercer.solvers.ridge.restricted.nystroem import Nystroem, PreparedNystroem
from mercer.solvers.ridge.restricted.system import LeftOut, RestrictedRidge

from ._block import RowBlock
from ._graph import find_place
from ._ridge_rows import PairProducts, PrimalView, RestrictedView, TablePrimalRows, TableRestrictedRows, make_problem
from .cluster import connect
from .predict import assemble
from .table import RowTable, read_table

SPANNING = 2  # rows for each feature, among which those are looked for whose features span all others
EXACT = 1e-10  # of the weights: what an expansion of few rows may leave out
MOST = 2**62  # bytes: no limit
TOLERANCE = 1e-10  # of conjugate gradients, so that the answer is that of one machine to eight digits
EQUATIONS = "the equations of few unknowns"


@dataclass(frozen=True)
class TableSolution:
    """A solution, what ran where, and how its rows would be predicted without themselves."""

    solution: Solution
    workers: str  # what ran there
    client: str  # and what ran here
    problem: Problem | None = None  # the problem with all its rows, if they had to come here
    # returns Σ we² of the leave-one-out residuals, for each output; None where only all pairs would tell
    squared_errors: Callable[[], np.ndarray] | None = None


@dataclass(frozen=True)
class TableRidge:
    """How a table is fitted."""

    solver: str = "auto"
    n_centers: int | None = None  # centres of a Nyström model
    random_state: Any = None
    device: Any = None  # where workers compute
    name: str = "fit_table"  # whose fit it is

    def choose(self, table: RowTable, problem: Problem, penalty: np.ndarray) -> Plan:
        """Return which solver and why; those that hold the n × n matrix on one machine are not among them."""
        n, kernel = table.n, problem.kernel
        if self.solver not in ("auto", "primal", "nystroem", "cg"):
            raise ValueError(
                f"{self.name}: solver={self.solver!r} needs the {n} × {n} matrix on one machine; for rows in "
                "partitions there are 'primal', 'nystroem' and 'cg', which has the same answer, and 'auto' chooses "
                "among them"
            )
        if (penalty == 0).any():
            raise ValueError(f"{self.name}: rows in partitions need a positive alpha, got {penalty.min():g}")
        make_plan = partial(
            plan, kernel, n, count_columns(kernel, table.head), outputs=len(penalty), alphas=len(np.unique(penalty)),
            memory=problem.memory, n_centers=self.n_centers,
        )  # fmt: skip
        # Sums over rows take no more for more rows, and what is beside them is looked at where it is made.
        sums = partial(make_plan, memory=MOST)
        if self.solver in ("primal", "nystroem"):
            return sums(solver=self.solver)
        if self.solver == "cg":
            return make_plan(solver="cg")
        if self.n_centers is not None:
            return replace(sums(solver="nystroem"), reason=f"{self.n_centers} centres were asked for")
        try:
            found = make_plan()
        except MemoryBudgetError:
            return replace(sums(solver="nystroem"), reason=f"nothing else fits into {show_bytes(problem.memory)}")
        if found.solver in ("spectral", "cholesky"):
            reason = f"{found.reason}, and products with it in partitions give the same answer without holding it"
            return replace(make_plan(solver="cg"), reason=reason)
        return found

    def solve_nystroem(self, table: RowTable, problem: Problem, penalty: np.ndarray) -> TableSolution:
        """Solve on the functions that a few centres span, from sums over all rows."""
        rows: Any = partial(TableRestrictedRows, table, device=self.device)
        prepared = PreparedNystroem(Nystroem(self.n_centers, random_state=self.random_state), problem, rows)
        solution = prepared.attempt(penalty)

        def sum_squares() -> np.ndarray:
            ridge: Any = prepared.system
            return np.asarray(ridge.rows.squared_errors(ridge.left_out(penalty, ridge.solve(penalty).beta)))

        m, where = len(solution.coef), f", on {self.device}" if self.device else ""
        return TableSolution(
            solution, f"kernel values at {m} centres and their sums of products{where}",
            f"the choice of centres among the rows picked for it, and {EQUATIONS} ({m} × {m})",
            squared_errors=sum_squares,
        )  # fmt: skip

    def solve_primal(self, table: RowTable, problem: Problem, penalty: np.ndarray) -> TableSolution:
        """Solve in explicit features, from sums over all rows."""
        kernel, d = problem.kernel, count_columns(problem.kernel, table.head)
        assert d is not None  # the plan has seen to it
        D = int(kernel.feature_dim(d))
        require(32.0 * D * D, problem.memory, f"the normal equations of {D} features", "use solver='nystroem'")
        rows: Any = TablePrimalRows(table, problem, kernel.feature_map(d), D)
        prepared = PrimalPrepared(problem, rows)
        found = prepared.weights([penalty])
        centers, coef = _span_features(table, rows.feature_map, found, D, self.random_state)
        solution = PrimalSolution(
            centers, coef, found.intercept, found.alpha, float(found.residuals.max()), remedy=REMEDY, w=found.w,
            feature_map=rows.feature_map, parts=found.parts,
        )  # fmt: skip
        return TableSolution(
            solution, f"{D} explicit features of each row and their sums of products", f"{EQUATIONS} ({D} × {D})",
            squared_errors=lambda: rows.squared_errors(prepared.second_pass(found, True)),
        )  # fmt: skip

    def solve_cg(self, table: RowTable, problem: Problem, penalty: np.ndarray) -> TableSolution:
        """Solve (K + αW⁻¹)c = y − b over all pairs of partitions, as well as rounding allows; all points come here."""
        points = table.gather("X", self.name, problem.memory // 2)
        y = table.gather("y", "the right-hand side", problem.memory).reshape(table.n, -1)
        weights = table.gather("weights", "the weights", problem.memory) if table.survey.weighted else None
        whole = replace(problem, X=points, y=np.asarray(y, dtype=np.float64), weights=weights)
        solver = ConjugateGradient(TOLERANCE, random_state=self.random_state)
        pairs = len(table.blocks) * (len(table.blocks) + 1) // 2
        workers = f"kernel values of {pairs} pairs of partitions and their products with the iterate, once an iteration"
        if table.cluster.here:
            place = find_place(self.device, problem.memory // 2)  # points have the other half
            prepared = solver.prepare(replace(whole, memory=place.memory, device=place.device))
            workers = "its rows, which are held here"
        else:
            table = replace(table, blocks=table.cluster.keep_rows(table.blocks))
            products: Any = PairProducts(table, problem.kernel, problem.memory, self.device)
            prepared = PreparedConjugateGradient(solver, replace(whole, X=table.column("X")), products)
        # There is a warning only where the residual is worse than one machine would be content with.
        solution = replace(prepared.attempt(penalty), tolerance=RESIDUAL, centers=points)
        remedy = (
            f"conjugate gradients stopped after {solution.n_iter} iterations: raise alpha, or use solver='nystroem'"
        )
        return TableSolution(
            replace(solution, remedy=remedy), workers,
            f"the iterate and the preconditioner of rank {prepared.preconditioner.rank}", whole,
        )  # fmt: skip


def fit_table(
    table: RowTable, kernel: Kernel, penalty: np.ndarray, *, fit_intercept: bool, memory: float | str | None = None,
    loo: bool = False, **options: Any,
) -> RidgeFit:  # fmt: skip
    """Fit to targets in partitions, α of each output, with the R² of leave-one-out predictions where sums give it."""
    how = TableRidge(**options)
    refuse_several(how.device)
    problem = make_problem(table, kernel, fit_intercept, parse_memory(memory))
    chosen = how.choose(table, problem, penalty)
    found: TableSolution = getattr(how, f"solve_{chosen.solver}")(table, problem, penalty)
    told = table.cluster.plan(chosen, len(table.blocks), found.workers, found.client)
    record = record_fit(told, found.solution, kernel, flat=table.survey.flat, name=how.name)
    if found.problem is not None:
        targets = found.problem.y[:, 0] if table.survey.flat else found.problem.y
        return replace(record, problem=found.problem, points=found.problem.X, targets=targets)
    if not loo or found.squared_errors is None:
        return record
    moments = table.survey.y_moments
    assert moments is not None  # y holds targets
    return replace(record, loo_score=float(np.mean(1.0 - found.squared_errors() / moments.squares)))


def _span_features(
    table: RowTable, feature_map: Any, found: PrimalWeights, D: int, seed: Any
) -> tuple[Rows, np.ndarray]:
    """Return rows z and coefficients with Σ cⱼ φ(zⱼ) = w, so that f is an expansion without all rows."""
    rng, count = check_random_state(seed), SPANNING * D
    while True:
        rows = table.pick("X", draw_rows(rng, table.n, count))
        q, r, order = qr(features_of(feature_map, rows).T, mode="economic", pivoting=True)
        size = np.abs(np.diagonal(r))
        rank = int(np.sum(size > 1e-13 * max(float(size[0]), np.finfo(float).tiny)))
        inside = q[:, :rank].T @ found.w
        missed = np.linalg.norm(found.w - q[:, :rank] @ inside)
        if missed <= EXACT * np.linalg.norm(found.w) or count >= min(table.n, 64 * D):
            return pick(rows, order[:rank]), np.asarray(solve_triangular(r[:rank, :rank], inside))
        count *= 2


def leave_one_out(model: Any, X: Any, y: Any, sample_weight: Any = None, *, client: Any = None) -> Any:
    """Return what a model would predict at each row it was fitted to, had it been fitted without that row.

    The sums over all rows are computed now, as in the fit; the predictions are lazy.

    Parameters
    ----------
    model : KernelRidge
        Fitted to these very rows in explicit or Nyström features; the centres stay as they are.
    X, y, sample_weight
        The data of the fit.
    client : distributed.Client, optional
        The current one if not given.

    Returns
    -------
    dask array of shape (n,) or (n, targets)
        Of the rows that have a weight.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from mercer import distributed
    >>> from mercer.kernels import Constant, Linear
    >>> from mercer.models import KernelRidge
    >>> X = da.from_array(np.array([[1.0], [4.0], [6.0], [9.0]]), chunks=(2, 1))
    >>> y = da.from_array(np.array([0.8, 4.1, 6.2, 8.5]), chunks=2)
    >>> model = KernelRidge(alpha=1.0, kernel=Linear() + Constant(1.0)).fit(X, y)
    >>> distributed.leave_one_out(model, X, y).compute().round(3)
    array([1.203, 3.875, 5.69 , 9.058])
    """
    check_is_fitted(model)
    record: RidgeFit = model._record
    if record.problem is not None:
        raise ValueError(
            f"this model was solved by {record.plan.solver} and has its rows with it: model.leave_one_out() is what "
            "you want"
        )
    function, alpha = record.expansion, record.penalty
    intercept, memory = bool(model.fit_intercept), parse_memory(model.memory)
    with connect(client) as cluster:
        table = read_table(cluster, kernel_argument(clone(model)), "targets", X, y, sample_weight)
        if function.explicit is not None:
            problem = make_problem(table, function.kernel, intercept, memory)
            rows: Any = TablePrimalRows(table, problem, function.explicit.feature_map, len(function.explicit.w))
            prepared = PrimalPrepared(problem, rows)
            rule: Any = prepared.second_pass(prepared.weights([alpha]), True)
            tasks = cluster.map("leave-one-out", _leave_out_primal, table.blocks, rows.view, rule)
        else:
            gram = Gram(function.kernel, function.centers, memory=memory, dtype=np.float64)
            kept, triangle = pick_independent(gram.dense())
            centers = pick(function.centers, kept)
            problem = Problem(function.kernel, centers, np.empty((0, len(alpha))), None, intercept, memory)
            rows = partial(TableRestrictedRows, table, device=model.device)
            ridge = RestrictedRidge(problem, np.arange(len(kept)), triangle, rows)
            rule = ridge.left_out(alpha, ridge.solve(alpha).beta)
            view = RestrictedView(problem.kernel, centers, intercept, table.survey.outputs, model.device)
            tasks = cluster.map("leave-one-out", _leave_out_restricted, table.blocks, view, rule)
    example = np.empty((0,) if table.survey.flat else (0, table.survey.outputs))
    return assemble(tasks, table.counts.tolist(), example)


def _leave_out_primal(block: RowBlock, view: PrimalView, rule: SecondPass) -> np.ndarray:
    _, residuals = view(block).second_pass(rule)
    return block.y - np.asarray(residuals).reshape(block.y.shape)


def _leave_out_restricted(block: RowBlock, view: RestrictedView, rule: LeftOut) -> np.ndarray:
    out = np.empty((len(block), len(rule.alpha)))
    for part, values, y, weights in view(block).pieces():
        out[part] = y - rule(values, y, weights)
    return out.reshape(block.y.shape)
