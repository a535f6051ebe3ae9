"""Probabilities from decision values: a function of the value for each pair of classes, and what all pairs say of it.

The sigmoid is Platt's, P(first | v) = 1/(1 + exp(Av + B)) of a pair, fitted to values v of points that were left out of
their machine, with targets that are pulled a little towards each other (Lin, Lin and Weng, 2007).  In its place may be
the increasing function of least squares to the same targets, which is isotonic regression.  Pairs are coupled by
min Σ (r_ji p_i − r_ij p_j)² over probabilities p (Wu, Lin and Weng, 2004), as in LIBSVM.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.special import expit

from mercer.arrays.place import Place
from mercer.arrays.shapes import Axes
from mercer.arrays.tensors import host_array
from mercer.formula.data import Rows
from mercer.gram import Gram
from mercer.kernels import Kernel

from .dual import Part
from .pairs import list_pairs
from .problems import MachineProblems
from .smo import SMO

FOLDS = 5
LEAST = 1e-7  # of a probability of a pair, LIBSVM's
STEPS = 100  # of Newton for a sigmoid, which takes about ten
FLAT = 1e-12  # added to the Hessian of the sigmoid, for values that are all equal


@dataclass(frozen=True)
class PairValues:
    """Values of the points of a pair under machines without them, positive for the first of its classes."""

    values: np.ndarray
    first: np.ndarray  # whether a point is of the first class
    weights: np.ndarray


@dataclass(frozen=True)
class Calibration:
    """What turns values of pairs into probabilities: sigmoids, or else knots of increasing functions.

    Parameters
    ----------
    sigmoids : array of shape (2, pairs)
        A and B of each pair; without columns if there are knots.
    knots : list of arrays of shape (2, k)
        Values and probabilities of each pair, between which these are interpolated.
    """

    sigmoids: Annotated[np.ndarray, Axes("2 s")]
    knots: list[np.ndarray]

    def fits(self, pairs: int) -> bool:
        """Whether there is a function for each of so many pairs."""
        numbers = all(isinstance(ends, np.ndarray) and ends.dtype.kind == "f" for ends in self.knots)
        right = numbers and all(ends.shape == (2, ends.size // 2) and ends.size for ends in self.knots)
        return right and {len(self.knots), self.sigmoids.shape[1]} == {0, pairs}


def calibrate(pairs: list[PairValues], way: str) -> Calibration:
    """Return the functions of all pairs; ``way`` is "sigmoid" or "isotonic"."""
    if way == "isotonic":
        return Calibration(np.empty((2, 0)), [fit_isotonic(one.values, one.first, one.weights) for one in pairs])
    return Calibration(np.array([fit_sigmoid(one.values, one.first, one.weights) for one in pairs]).T, [])


def leave_out_folds(
    problems: MachineProblems, kernel: Kernel, points: Rows, solver: SMO, place: Place
) -> list[PairValues]:
    """Return the values of each pair at points left out of its machine by folds."""
    assert problems.classes is not None
    assert problems.folds is not None
    cases = problems.cases()
    held: list[tuple[int, np.ndarray]] = []  # which pair, and which of its points are left out
    parts: list[Part] = []  # and the problem of the others
    for pair, (index, signs) in enumerate(cases):
        places = choose_folds(signs, problems.folds)
        for fold in range(FOLDS):
            fit = places != fold
            if not fit.all() and len(np.unique(signs[fit])) == 2:
                parts.append((index[fit], problems.problem(index[fit], signs[fit], of_fold=True)))
                held.append((pair, ~fit))
    values = [np.zeros(len(index)) for index, _ in cases]  # 0 where no machine tells
    if parts:
        coef, intercepts = np.zeros((len(problems.targets), len(parts))), np.zeros(len(parts))
        for column, found in enumerate(solver.solve_at(place, kernel, points, parts)):
            try:
                coef[parts[column][0], column], intercepts[column] = problems.form.read(found, solver)
            except ValueError:  # without a margin the others say nothing
                continue
        image = Gram(kernel, host_array(points), memory=solver.memory, dtype=np.float64) @ coef + intercepts
        for column, (pair, left_out) in enumerate(held):
            values[pair][left_out] = image[cases[pair][0][left_out], column]
    sign = -1.0 if len(problems.classes) == 2 else 1.0
    return [
        PairValues(sign * v, sign * signs > 0, problems.weights[index])
        for v, (index, signs) in zip(values, cases, strict=True)
    ]


def join_pairs(
    folds: list[tuple[np.ndarray, np.ndarray]], values: list[np.ndarray], codes: np.ndarray, weights: np.ndarray,
    classes: np.ndarray,
) -> list[PairValues]:  # fmt: skip
    """Return the values of each pair of classes at points that folds left out.

    Parameters
    ----------
    folds : list of pairs of arrays
        The points left out, and the classes that the others have.
    values : list of arrays of shape (points left out, pairs of those classes)
        Values of the machines of all pairs, positive for the first class, but of two classes for the second.
    codes, weights : arrays of shape (n,)
        Classes and weights of all points.
    classes : array of shape (classes,)
        The labels.
    """
    nothing = np.zeros(0), np.zeros(0, dtype=bool), np.zeros(0)
    found = {pair: [nothing] for pair in list_pairs(len(classes))}
    for (held, own), image in zip(folds, values, strict=True):
        known, sign = np.searchsorted(classes, own).tolist(), -1.0 if len(own) == 2 else 1.0
        for column, (i, j) in enumerate(list_pairs(len(known))):
            pair = known[i], known[j]
            inside = np.isin(codes[held], pair)
            rows = held[inside]
            found[pair].append((sign * image[inside, column], codes[rows] == pair[0], weights[rows]))
    return [PairValues(*map(np.concatenate, zip(*parts, strict=True))) for parts in found.values()]


def choose_folds(codes: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Return the fold of each point: random, with every class spread evenly.

    Examples
    --------
    >>> np.bincount(choose_folds(np.repeat([0, 1], [10, 5]), np.random.RandomState(0)))
    array([3, 3, 3, 3, 3])
    """
    folds = np.empty(len(codes), dtype=np.intp)
    for code in np.unique(codes):
        members = rng.permutation(np.flatnonzero(codes == code))
        folds[members] = np.arange(len(members)) % FOLDS
    return folds


def fit_sigmoid(values: np.ndarray, first: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """Return A and B of 1/(1 + exp(Av + B)), the probability of the first class, by Newton steps on the log-loss.

    Examples
    --------
    >>> A, B = fit_sigmoid(np.array([-2.0, -1.0, 1.0, 2.0]), np.array([False, False, True, True]), np.ones(4))
    >>> A < 0, abs(B) < 1e-9
    (True, True)
    """
    weights = weights * (len(weights) / weights.sum())
    size = float(np.abs(values).max()) or 1.0  # values in their own unit, so that steps do not depend on it
    v, ahead, behind = values / size, float(weights[first].sum()), float(weights[~first].sum())
    target = np.where(first, (ahead + 1) / (ahead + 2), 1 / (behind + 2))
    A, B = 0.0, float(np.log((behind + 1) / (ahead + 1)))

    def loss(A: float, B: float) -> float:
        z = A * v + B  # −ln p = ln(1 + exp(z)), and −ln(1 − p) = that minus z
        return float(weights @ (np.logaddexp(0.0, z) - (1 - target) * z))

    lowest = loss(A, B)
    for _ in range(STEPS):
        p = expit(-(A * v + B))
        gap, bend = weights * (target - p), weights * p * (1 - p)
        gradient = np.array([gap @ v, gap.sum()])
        if np.abs(gradient).max() <= 1e-10 * len(v):
            break
        H = np.array([[bend @ v**2, bend @ v], [bend @ v, bend.sum()]]) + FLAT * len(v) * np.eye(2)
        step, t = np.linalg.solve(H, gradient), 1.0
        while t > 1e-10 and not loss(A - t * step[0], B - t * step[1]) <= lowest - 1e-4 * t * float(gradient @ step):
            t /= 2
        if t <= 1e-10:
            break
        A, B = A - t * float(step[0]), B - t * float(step[1])
        lowest = loss(A, B)
    return A / size, B


def fit_isotonic(values: np.ndarray, first: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the ends of the steps of the increasing function nearest to the classes, and its values, shape (2, k).

    Points of equal value count as one.  The targets are those of the sigmoid, so that nothing is ever certain.

    Examples
    --------
    >>> fit_isotonic(np.array([-2.0, -1.0, 1.0, 2.0]), np.array([False, True, False, True]), np.ones(4))
    array([[-2.  , -1.  ,  1.  ,  2.  ],
           [ 0.25,  0.5 ,  0.5 ,  0.75]])
    """
    ahead, behind = float(weights[first].sum()), float(weights[~first].sum())
    unit = len(weights) / (ahead + behind)  # of weights, of which only ratios count
    target = np.where(first, (unit * ahead + 1) / (unit * ahead + 2), 1 / (unit * behind + 2))
    places, group = np.unique(values, return_inverse=True)
    mass = np.bincount(group, weights)
    found = isotonic_regression(np.bincount(group, weights * target) / mass, weights=mass).x
    # Inside of a step nothing bends: its ends say all.
    ends = np.r_[True, np.diff(found) > 0] | np.r_[np.diff(found) > 0, True]
    return np.stack([places[ends], found[ends]])


def pair_probabilities(values: np.ndarray, found: Calibration) -> np.ndarray:
    """Return the probability of the first class of each pair, from values (points, pairs) positive for the first."""
    if found.knots:
        p = np.column_stack([np.interp(v, *ends) for v, ends in zip(values.T, found.knots, strict=True)])
    else:
        A, B = found.sigmoids
        p = expit(-(A * values + B))
    return np.clip(p, LEAST, 1 - LEAST)


def couple_pairs(pairs: np.ndarray, count: int) -> np.ndarray:
    """Return the probabilities of all classes that agree best with those of pairs, shape (points, pairs).

    Examples
    --------
    >>> couple_pairs(np.array([[0.75, 0.5, 0.25]]), 3).round(6)  # p = (3, 1, 3)/7 agrees with all pairs
    array([[0.428571, 0.142857, 0.428571]])
    """
    if count == 2:
        return np.column_stack([pairs[:, 0], 1 - pairs[:, 0]])
    system = np.zeros((len(pairs), count + 1, count + 1))  # with a multiplier for Σp = 1
    for column, (i, j) in enumerate(list_pairs(count)):
        r = pairs[:, column]  # of i against j
        system[:, i, i] += (1 - r) ** 2
        system[:, j, j] += r**2
        system[:, i, j] = system[:, j, i] = -r * (1 - r)
    system[:, :count, count] = system[:, count, :count] = 1.0
    right = np.zeros((len(pairs), count + 1, 1))
    right[:, count] = 1.0
    p = np.maximum(np.linalg.solve(system, right)[:, :count, 0], 0.0)
    return np.asarray(p / p.sum(axis=1, keepdims=True))
