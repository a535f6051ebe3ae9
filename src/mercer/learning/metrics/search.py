"""Learn the metric of a kernel: recursive features, descent, and the exact leave-one-out error to choose by.

Rows are cut in two.  Metrics are learned from one part, in rounds of recursive features and by following the gradient
of the leave-one-out error; the leave-one-out errors of the other part choose among them.  The chosen one is then
learned from all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from mercer.arrays.namespace import put_beside
from mercer.arrays.tensors import host_array
from mercer.arrays.threads import default_threads, share_of_threads
from mercer.kernels import Kernel
from mercer.solvers.base import Problem
from mercer.solvers.ridge.fit import pick_points

from ..length_scales import measure_columns
from .descent import descend
from .judge import Judgement, MetricTrial, measure_spread
from .metric import Metric, Structure
from .rounds import advance

JUDGED = 1000  # rows that metrics are judged by, a third of all at most
BESIDE = (400, 0.3, 1200)  # rows that they are fitted with: this many, this share of all, and no more than so many
FEWEST = 12  # rows from which on they are cut in two
TRUSTED = 50  # rows for each number to learn from which on they are not
SCALE_ROWS = (200, 500)  # rows that a scale is found from: at least, at most
ROUND_ROWS = 1200  # rows that a round averages over
STEP_ROWS = (650, 25, 1200)  # rows of a step of a descent: at least, one more for so many rows, and at most
PAIR_BYTES = 40  # that a task takes for each pair of its rows; as many tasks as there are threads run side by side
COARSE = 2.0 ** np.arange(-3.0, 6.0)  # multiples of a metric, at whose unit the mean squared distance is 1
NEAR = 2.0 ** np.arange(-1.0, 1.1)  # the same around the last one
ROUNDS = 2
FULL = 500  # features up to which a whole metric is tried
STEPS = {True: 32, False: 45}  # of a descent: of a diagonal, and of a whole metric
SHORT = 16  # steps from recursive features to a better diagonal
EFFORT = (0.25, 10000)  # the share of these steps that small data gets, and the rows that add 1 to it
POLISH = {True: 32, False: 20}  # steps from all rows at the end
Task = Callable[[], list[MetricTrial]]
OnStep = Callable[[int, float], bool]


@dataclass(frozen=True)
class LearnedMetric:
    """The kernel and metric that were chosen, and those that they were chosen from."""

    kernel: Kernel  # in the metric
    metric: Metric
    tried: tuple[MetricTrial, ...]
    fair: Kernel  # as it was before the rows that it was judged by were learned from


def learn_metric(
    problem: Problem,
    kernels: Sequence[Kernel],
    *,
    metric: str = "auto",
    blocks: Sequence[Sequence[int]] | None = None,
    refine: bool = True,
    rounds: int = ROUNDS,
    rng: np.random.RandomState,
    on_step: OnStep = lambda step, error: False,
    judged: np.ndarray | None = None,
    finish: bool = True,
) -> LearnedMetric:
    """Return a kernel in a metric that is learned from data.

    Parameters
    ----------
    problem : Problem
        Points that are a matrix of numbers, and targets of shape (n, q) in units of their own.
    kernels : sequence of Kernel
        Those to choose from; the metric is learned with the first.
    metric : {"auto", "full", "blocks", "diagonal"}
        What to learn.
    blocks : sequence of sequences of int, optional
        Columns that belong together, such as the indicators of a category.
    refine : bool
        Whether the gradient of the leave-one-out error is followed after the rounds of recursive features.
    rounds : int
        Of recursive features.
    rng : RandomState
        The seed of parts and subsets.
    on_step : callable
        Told the number and the error of each step; the search ends with what it has if it returns True.
    judged : array of int, optional
        The rows to judge metrics by, whose targets ``fair`` does not know; some at random if not given.
    finish : bool
        Whether the chosen metric is learned from all rows in the end; otherwise it is ``fair``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Matern
    >>> rng = np.random.RandomState(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = np.sin(2.0 * (X[:, :1] + X[:, 1:2]))  # one direction matters
    >>> found = learn_metric(Problem(Matern(), X, y, fit_intercept=True), [Matern(1.5)], rng=rng)
    >>> values, vectors = np.linalg.eigh(found.metric.matrix)
    >>> np.abs(vectors[:, -1]).round(1)
    array([0.7, 0.7, 0. ])
    """
    X = problem.place.put(problem.X)
    spread, varies = measure_columns(host_array(X))
    if not varies.any():  # nothing to tell points apart by
        flat = Metric(np.zeros(len(spread)))
        return LearnedMetric(flat.put_before(kernels[0]), flat, (), flat.put_before(kernels[0]))
    search = Search(
        replace(problem, X=X / put_beside(X, spread)), kernels, _list_structures(metric, blocks, len(spread)),
        refine=refine, rounds=rounds, rng=rng, on_step=on_step, judged=judged,
    )  # fmt: skip
    best = search.run(finish)
    fair = search.find_best()
    units = np.where(varies, 1.0 / spread, 0.0)
    whole = best.metric.weigh(units)
    return LearnedMetric(
        whole.put_before(best.kernel), whole, tuple(search.tried), fair.metric.weigh(units).put_before(fair.kernel)
    )


def _list_structures(metric: str, blocks: Sequence[Sequence[int]] | None, d: int) -> list[Structure]:
    """Return which metrics to learn, simplest first."""
    found = {"diagonal": Structure("diagonal"), "full": Structure("full")}
    if blocks is not None:
        found["blocks"] = Structure.of_blocks(blocks)
    if metric != "auto":
        return [found[metric]]
    order = ["diagonal", *(["blocks"] if blocks is not None else []), *(["full"] if d <= FULL else [])]
    return [found[name] for name in order]


class Search:
    """The steps of learning a metric from standardised rows.

    Parameters
    ----------
    problem : Problem
        Points whose columns have deviation 1, and targets in units of their own.
    kernels : sequence of Kernel
        Those to choose from; the metric is learned with the first.
    structures : sequence of Structure
        Which metrics to learn, simplest first.
    refine : bool
        Whether descents follow the rounds.
    rounds : int
        Of recursive features.
    rng : RandomState
        The seed of parts and subsets.
    on_step : callable
        Told the number and error of each step; the search ends with what it has if it returns True.
    judged : array of int, optional
        The rows to judge by, and not to learn from; some at random if not given.
    """

    def __init__(
        self,
        problem: Problem,
        kernels: Sequence[Kernel],
        structures: Sequence[Structure],
        *,
        refine: bool,
        rounds: int,
        rng: np.random.RandomState,
        on_step: OnStep = lambda step, error: False,
        judged: np.ndarray | None = None,
    ) -> None:
        order = rng.permutation(problem.n)  # so that the first rows are a sample of all
        if judged is not None:
            order = order[np.argsort(~np.isin(order, judged), kind="stable")]
        problem = pick_points(problem, order)
        self.problem, self.kernels, self.structures = problem, kernels, structures
        self.refine, self.rounds, self.rng, self._on_step = refine, rounds, rng, on_step
        tasks = default_threads() if problem.place.on_host else 1
        self.most = max(FEWEST, int((problem.memory / (PAIR_BYTES * tasks)) ** 0.5))  # rows that fit into memory
        self.size = min(STEP_ROWS[0] + problem.n // STEP_ROWS[1], STEP_ROWS[2], self.most)
        self.effort = min(1.0, EFFORT[0] + problem.n / EFFORT[1])
        self.haste = self.effort**-0.5  # fewer steps are longer
        self._count, self._stopped = 0, False
        every, d = np.arange(problem.n), problem.X.shape[1]
        # Where there are many rows for each number that is learned, no row knows its own target from the metric.
        alike = problem.n < FEWEST or problem.n >= TRUSTED * max(one.count_entries(d) for one in structures)
        beside = min(round(BESIDE[0] + BESIDE[1] * problem.n), BESIDE[2], self.most)
        first = min(beside, problem.n) if alike else min(JUDGED, problem.n // 3, self.most)
        left = every if alike and judged is None else every[first if judged is None else len(judged) :]
        self.rest = pick_points(problem, left) if len(left) < problem.n else problem
        count = first if judged is None else min(JUDGED, len(judged), self.most)
        self.judge = Judgement(pick_points(problem, np.union1d(every[:count], left)[: max(count, beside)]), count)
        scaled = min(SCALE_ROWS[1], SCALE_ROWS[0] + problem.n // 20, self.rest.n, self.most)
        sample = pick_points(self.rest, np.arange(scaled))
        self.scaler = Judgement(sample, sample.n)
        self.tried: list[MetricTrial] = []

    def run(self, finish: bool = True) -> MetricTrial:
        """Return the best, learned from all rows if it is to be finished."""
        # Small matrices gain less from threads of their own than from each other.
        with threadpool_limits(1, user_api="blas") if self.problem.place.on_host else nullcontext():
            best = self._run()
            start = self.tried[0]
            done = self._stopped or not finish or best.structure is None
            return best if done else self._learn_from_all(start, best)

    def _run(self) -> MetricTrial:
        plain = Metric(np.ones(self.problem.X.shape[1]))
        ((start,),) = self._do([partial(self._find_start, MetricTrial(self.kernels[0], plain, 1.0, np.inf))])
        simple = [one for one in self.structures if one.is_diagonal]
        others = [one for one in self.structures if not one.is_diagonal]
        rounds = [partial(self._follow_rounds, start, one) for one in (*simple, *others)] if self.rounds else []
        found = self._do([*self._plan_descents([(start, one) for one in simple]), *rounds])
        best, again = self.find_best(), list[tuple[MetricTrial, Structure]]()
        for structure in simple:  # learned twice: from the start, and from what is near after some rounds
            near = [one for some in found for one in some if one.structure is structure and one.rounds]
            again += [(min(near, key=lambda one: one.error), structure)] if near else []
        self._do(self._plan_descents([*((best, structure) for structure in others), *again]))
        best = self.find_best()
        rivals = [replace(best, kernel=kernel) for kernel in self.kernels[1:]]  # may do better in the metric found
        self._do([partial(self._try_again, rival) for rival in rivals])
        return self.find_best()

    def _plan_descents(self, starts: Sequence[tuple[MetricTrial, Structure]]) -> list[Task]:
        """Return a descent from each trial to a metric of each structure, if they are wanted."""
        found: list[Task] = []
        for start, structure in starts if self.refine else ():
            steps = SHORT if structure.is_diagonal and start.structure is not None else STEPS[structure.is_diagonal]
            steps = max(1, round(steps * self.effort))
            found.append(partial(self._follow_descent, start, steps, structure, self._seed()))
        return found

    def _do(self, tasks: Sequence[Task]) -> list[list[MetricTrial]]:
        """Run tasks side by side, remember what they find, and report it."""
        if self._stopped or not tasks:
            return []
        threads = min(default_threads(), len(tasks)) if self.problem.place.on_host else 1
        if threads > 1:
            with ThreadPoolExecutor(threads) as pool:
                share = max(1, default_threads() // threads)
                found = list(pool.map(partial(_run_beside, share), tasks))
        else:
            found = [task() for task in tasks]
        for one in (one for some in found for one in some):
            self.tried.append(one)
            self._count += 1
            self._stopped = bool(self._on_step(self._count, one.error)) or self._stopped
        return found

    def _seed(self) -> np.random.RandomState:
        return np.random.RandomState(self.rng.randint(2**31))

    def find_best(self) -> MetricTrial:
        """Return the best of those that were judged."""
        return min(self.tried, key=lambda one: one.error)

    def _rescale(self, one: MetricTrial) -> MetricTrial:
        return self.scaler.find_scale(one, NEAR * measure_spread(one.metric.map(self.scaler.problem.X)))

    def _find_start(self, one: MetricTrial) -> list[MetricTrial]:
        return [self.judge(self.scaler.find_scale(one, COARSE))]

    def _try_again(self, one: MetricTrial) -> list[MetricTrial]:
        return [self.judge(self._rescale(one))]

    def _follow_rounds(self, start: MetricTrial, structure: Structure) -> list[MetricTrial]:
        return [self.judge(one) for one in self._make_rounds(start, structure, self.rest)]

    def _make_rounds(self, start: MetricTrial, structure: Structure, rows: Problem) -> list[MetricTrial]:
        """Return what is found after each round of recursive features."""
        some, found = pick_points(rows, np.arange(min(ROUND_ROWS, rows.n, self.most))), [start]
        for count in range(1, self.rounds + 1):
            metric = advance(some, found[-1], structure)
            found.append(self._rescale(replace(found[-1], metric=metric, structure=structure, rounds=count)))
        return found[1:]

    def _follow_descent(
        self, start: MetricTrial, steps: int, structure: Structure, rng: np.random.RandomState
    ) -> list[MetricTrial]:
        """Return what a descent has found, if it has gone anywhere."""
        last = descend(start, self.rest, structure, rng, size=self.size, steps=steps, share=self.haste)
        moved = replace(last, structure=structure, rounds=0, steps=steps)
        return [] if last.metric is start.metric else [self.judge(moved)]

    def _learn_from_all(self, start: MetricTrial, best: MetricTrial) -> MetricTrial:
        """Return the best again, learned from all rows instead of those that were not judged."""
        structure = best.structure
        assert structure is not None
        if not best.steps:
            return self._make_rounds(replace(start, kernel=best.kernel), structure, self.problem)[best.rounds - 1]
        steps, share = max(1, round(POLISH[structure.is_diagonal] * self.effort)), 0.5 if structure.is_diagonal else 1.0
        return descend(best, self.problem, structure, self.rng, size=self.size, steps=steps, share=share * self.haste)


def _run_beside(share: int, task: Task) -> list[MetricTrial]:
    with share_of_threads(share):
        return task()
