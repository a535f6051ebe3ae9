"""Kernels for encoded tables, and their length scales by the gradient of the leave-one-out error."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from mercer.formula.data import Rows, length, pick
from mercer.kernels import Gaussian, Kernel, Matern, Overlap, Spectrum
from mercer.kernels.algebra import Scaled, Sum
from mercer.learning import length_scales
from mercer.learning.choice import choose
from mercer.learning.length_scales import is_length_scale
from mercer.learning.tuning import most_steps, race
from mercer.solvers.base import Problem

from ..tables.encoder import TableEncoder

SUBSET, LARGE_SUBSET, MANY = 600, 1000, 3000  # points of a tuning step; the second from so many rows on
STEPS = 60
STEP_BYTES = 64  # for each pair of points of a tuning step
WEIGHTS = (0.1, 0.3, 1.0, 3.0)  # of the parts for categories and texts, beside 1 for numbers
WEIGHING = 400  # rows that weights are chosen on
DIGITS = 4  # of a tuned length scale, so that formulas can be read


def propose_kernels(encoder: TableEncoder, rows: Rows) -> list[Kernel]:
    """Return the kernels to tune for a table: Matérn and Gaussian on numbers, and other parts added to them.

    Numbers start with a length scale of √d for each of d columns that are spread like a normal distribution.
    """
    names = encoder.names("numeric")
    choices = encoder.place("categorical")
    others: list[Kernel] = [float(f"{1 / len(choices):.3g}") * Overlap().on(choices)] if choices else []
    others += [Spectrum(3).normalize().on([column]) for column in encoder.place("text")]
    if not names:
        return [sum(others[1:], others[0])] if others else [Gaussian()]
    spread = np.asarray(rows if encoder.is_numeric else rows[names].to_numpy() if hasattr(rows, "columns") else
                        rows[:, encoder.place("numeric")], dtype=np.float64).std(axis=0)  # fmt: skip
    scales = (np.where(spread > 0, spread, 1.0) * np.sqrt(len(names))).tolist()
    bases: list[Kernel] = [Matern(1.5, scales), Matern(2.5, scales), Gaussian(scales)]
    if encoder.is_numeric:
        return [Matern(0.5, scales), *bases]
    place = encoder.place("numeric")
    return [sum(others, base.on(place)) for base in (bases[0], bases[2])]


def weigh_parts(
    kernels: Sequence[Kernel], rows: Rows, targets: np.ndarray, rng: np.random.RandomState, memory: int
) -> list[Kernel]:
    """Return the kernels with the weights of their parts chosen together, by the leave-one-out error of the first."""
    parts = _split_sum(kernels[0])
    if len(parts) == 1:
        return list(kernels)
    some = rng.permutation(length(rows))[:WEIGHING]
    grids = list(itertools.product(WEIGHTS, repeat=min(2, len(parts) - 1)))
    # Texts share a weight: a grid over more than two parts would take longer than it is worth.
    combinations = [(1.0, grid[0], *[grid[-1]] * (len(parts) - 2)) for grid in grids]
    tried = [_join_parts(parts, weights) for weights in combinations]
    problem = Problem(tried[0], pick(rows, some), targets[some], None, True, memory)
    best = combinations[tried.index(choose(problem, tried).kernel)]
    return [_join_parts(_split_sum(kernel), best) for kernel in kernels]


def count_steps(kernels: Sequence[Kernel], n: int) -> int:
    """Return how many steps :func:`tune_kernel` takes at most."""
    return most_steps(len(kernels), _limit_steps(n))


def tune_kernel(
    kernels: Sequence[Kernel], rows: Rows, targets: np.ndarray, rng: np.random.RandomState, memory: int,
    on_step: Callable[[], bool], steps: int = STEPS,
) -> Kernel:  # fmt: skip
    """Return the best of some kernels with its length scales tuned, until ``on_step`` returns True."""
    n = length(rows)
    size = max(2, min(SUBSET if n < MANY else LARGE_SUBSET, int((memory / STEP_BYTES) ** 0.5)))
    problem = Problem(kernels[0], rows, targets, None, True, memory)
    found = race(
        kernels, problem, rng, size=size, steps=min(steps, _limit_steps(n)), on_step=lambda step, error: on_step()
    )
    return round_scales(found.kernel)


def round_scales(kernel: Kernel) -> Kernel:
    """Return a kernel whose length scales have few digits.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> round_scales(Gaussian([1.23456789, 1234.56789]))
    Gaussian(length_scale=[1.235, 1235.0])
    """
    values = kernel.hyperparameters()
    short = {name: float(f"{value:.{DIGITS}g}") for name, value in values.items() if is_length_scale(name)}
    return kernel.with_hyperparameters(short) if short else kernel


def stretch(kernel: Kernel, factor: float) -> Kernel:
    """Return a kernel with all its length scales multiplied, and rounded.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> stretch(Gaussian([1.0, 3.0]) + Linear(), 2.0)
    Gaussian(length_scale=[2.0, 6.0]) + Linear()
    """
    return round_scales(length_scales.stretch(kernel, factor))


def propose_scales(rows: np.ndarray) -> list[float]:
    """Return length scales around the typical distance of rows."""
    typical = float(np.sqrt(2.0 * rows.var(axis=0).sum())) or 1.0
    return [float(f"{typical * share:.{DIGITS}g}") for share in (0.15, 0.3, 0.6, 1.2)]


def is_alike(first: Kernel, second: Kernel) -> bool:
    """Whether two kernels differ in nothing but length scales."""
    scales = {name: value for name, value in second.hyperparameters().items() if is_length_scale(name)}
    try:
        return first.with_hyperparameters(scales) == second
    except (ValueError, KeyError, TypeError):
        return False


def _limit_steps(n: int) -> int:
    return int(min(STEPS, 10 + n // 4))


def _split_sum(kernel: Kernel) -> list[Kernel]:
    """Return the terms of a sum."""
    return [*_split_sum(kernel.k1), *_split_sum(kernel.k2)] if isinstance(kernel, Sum) else [kernel]


def _join_parts(parts: Sequence[Kernel], weights: Sequence[float]) -> Kernel:
    terms = []
    for part, weight in zip(parts, weights, strict=False):
        own, kernel = (part.weight, part.kernel) if isinstance(part, Scaled) else (1.0, part)
        terms.append(kernel if own * weight == 1.0 else float(f"{own * weight:.3g}") * kernel)
    return sum(terms[1:], terms[0])
