"""Does a sample fit a density that is known up to a constant?  Stein's discrepancy, from the slope of its logarithm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse

from mercer.arrays import Array
from mercer.arrays.budget import require
from mercer.arrays.namespace import namespace, put_beside
from mercer.arrays.place import Place
from mercer.arrays.tensors import host_array, is_tensor
from mercer.checks import check_count
from mercer.formula.data import Rows, as_matrix
from mercer.formula.expression import Expression, Stat, evaluate, nodes
from mercer.formula.program import UnsupportedError, anonymous, lower
from mercer.formula.slopes import partial
from mercer.formula.statistics import SquaredDistance
from mercer.gram.torch.tiles import STATISTICS, evaluate_tile
from mercer.kernels import Kernel, RationalQuadratic
from mercer.learning.length_scales import median_distance

from .discrepancy import sum_forms
from .outcome import Outcome, compare, settle_ties
from .resampling import draw_signs, make_generator
from .samples import Kernels, check_level, read_kernels

PASSES = 8  # arrays of the size of the matrix while it is computed
ENTRIES = 2**21  # of the matrix at a time
NEAR, SMOOTH = 1e-10, 1e-3  # a squared distance next to none, and by how much slopes may change over it

Score = Callable[[np.ndarray], Any] | np.ndarray


def stein_discrepancy(
    X: Rows,
    score: Score,
    kernel: Kernel | None = None,
    *,
    estimator: Literal["unbiased", "biased"] = "unbiased",
    memory: float | str | None = None,
    device: Any = None,
) -> float:
    """Return the squared kernel Stein discrepancy between a sample and a density p of which only ∇ log p is known.

    It is the mean over pairs of points of

        u(x, y) = s(x)ᵀs(y) k + s(x)ᵀ∇_y k + s(y)ᵀ∇ₓ k + tr ∇ₓ∇_y k,  s = ∇ log p,

    whose expectation under p is 0, so that the constant of p does not matter.

    Parameters
    ----------
    X : array of shape (n, d)
        The sample.
    score : callable or array of shape (n, d)
        ∇ log p: its values at the points, or the function that gives them for all points at once.
    kernel : Kernel, optional
        A smooth function of one squared distance, such as ``Gaussian`` or ``RationalQuadratic``; if not given,
        ``RationalQuadratic(alpha=0.5)``, the inverse multiquadric, of the median distance.
    estimator : {"unbiased", "biased"}, default="unbiased"
        Over pairs of different points, or over all pairs, which is never negative.
    memory : int or str, optional
        Budget in bytes, or a text such as "2GB"; 60 % of what is free if not given.
    device : str or torch.device, optional
        Where to compute, such as "cuda"; tensors are computed with where they are.  A function for the score is given
        arrays of the host.

    Returns
    -------
    float

    Examples
    --------
    The score of the standard normal distribution is −x:

    >>> import numpy as np
    >>> from mercer.embeddings import stein_discrepancy
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> stein_discrepancy(X, lambda x: -x) < 0.02 < stein_discrepancy(X + 1.0, lambda x: -x)
    True
    """
    if estimator not in ("unbiased", "biased"):
        raise ValueError(f"stein_discrepancy: estimator must be 'unbiased' or 'biased', got {estimator!r}")
    found = read_kernels("stein_discrepancy", kernel, several=False)
    place = Place.find(device, memory, X)
    X, S = _check_scores("stein_discrepancy", X, score, 2 if estimator == "unbiased" else 1)
    U = stein_matrix(_default(X) if found is None else found[0], X, S, place)
    n = len(X)
    if estimator == "biased":
        return float(U.mean())
    return float((U.sum() - namespace(U).linalg.trace(U)) / (n * (n - 1)))


def stein_matrix(kernel: Kernel, X: np.ndarray, S: np.ndarray, place: Place) -> Array:
    """Return u(x, y) for all pairs of points with their scores, as an array of the place.

    With k = g(q) of q = Σ aⱼ(xⱼ − yⱼ)² it is g s(x)ᵀs(y) − 2g′ (s(x) − s(y))ᵀA(x − y) − 2g′ Σaⱼ − 4g″ Σ aⱼ²(xⱼ − yⱼ)².
    """
    g, slope, bend, a = _derive(kernel, X.shape[1])
    n = len(X)
    step = min(n, max(1, ENTRIES // n))
    room = 8.0 * n * (n + PASSES * step)
    require(room, place.memory, f"the Stein kernel between {n} points", "give more memory or thin the sample first")
    X = X - X.mean(axis=0)  # differences alone count, and keep more digits
    scaled, weighted, scores = (place.put(values) for values in (X * np.sqrt(a), X * a, S))
    xp, total = namespace(scores), float(a.sum())
    out, own = xp.empty((n, n), dtype=xp.float64, device=scores.device), (scores * weighted).sum(1)
    for start in range(0, n, step):
        rows = slice(start, start + step)
        value, first, second = _evaluate_rows((g, slope, bend), scaled[rows], scaled)
        along = own[rows, None] + own - scores[rows] @ weighted.T - weighted[rows] @ scores.T
        far = _square_distances(weighted[rows], weighted)
        out[rows] = value * (scores[rows] @ scores.T) - 2.0 * first * (along + total) - 4.0 * second * far
    size = float(_square_distances(scaled[:1], scaled).mean())
    if not bool(xp.all(xp.isfinite(out))) or not _is_smooth(slope, bend, size):
        raise ValueError(
            f"Stein's discrepancy needs a kernel with two slopes everywhere, and {kernel!r} has none where two points "
            "meet, or overflows; use Gaussian() or RationalQuadratic(alpha=0.5)"
        )
    return out


def _evaluate_rows(formulas: tuple[Expression, ...], A: Array, B: Array) -> list[Array]:
    """Return formulas of the squared distance between all rows of A and B, which have no length scales any more."""
    if not is_tensor(A):
        q = _square_distances(A, B)
        return [_evaluate(formula, q) for formula in formulas]
    try:
        return [evaluate_tile(lower(formula), [(A, B)], [], []) for formula in formulas]
    except UnsupportedError:  # a constant, or an operation that only the host has
        q = host_array(_square_distances(A, B))
        return [put_beside(A, _evaluate(formula, q)) for formula in formulas]


def _is_smooth(slope: Expression, bend: Expression, size: float) -> bool:
    """Whether ∇ₓ∇_y k has a value where two points meet, which formulas with a kink there do not tell."""
    near = np.array([0.0, NEAR * size])
    first, second = _evaluate(slope, near), _evaluate(bend, near)
    return bool(abs(first[1] - first[0]) + abs(second[1] * near[1]) <= SMOOTH * abs(first[1]))


def _square_distances(A: Array, B: Array) -> Array:
    if is_tensor(A):
        return STATISTICS["sqdist"](A, B)
    from scipy.spatial.distance import cdist

    return cdist(A, B, "sqeuclidean")


def _evaluate(expression: Expression, values: np.ndarray) -> np.ndarray:
    found = evaluate(expression, lambda _: values, lambda _: np.zeros(1))
    return np.broadcast_to(np.asarray(found, dtype=np.float64), values.shape)


def _derive(kernel: Kernel, d: int) -> tuple[Expression, Expression, Expression, np.ndarray]:
    """Return g, g′ and g″ as formulas of the one squared distance of a kernel, and the weights of its coordinates."""
    formula = anonymous(kernel.traced())
    found = {node.statistic for node in nodes(formula) if isinstance(node, Stat)}
    statistic = found.pop() if len(found) == 1 else None
    if not isinstance(statistic, SquaredDistance) or statistic.view.steps or statistic.column is not None:
        raise ValueError(
            "Stein's discrepancy needs a kernel that is a smooth function of one squared distance between vectors, and "
            f"{kernel!r} is not; use Gaussian() or RationalQuadratic(alpha=0.5)"
        )
    if statistic.scale and len(statistic.scale) != d:
        raise ValueError(f"{kernel!r} has {len(statistic.scale)} length scales, but the points have {d} features")
    weights = np.array([param.value for param in statistic.scale]) ** -2.0 if statistic.scale else np.ones(d)
    slope = partial(formula, statistic)
    return formula, slope, partial(slope, statistic), weights


def _default(X: np.ndarray) -> Kernel:
    return RationalQuadratic(median_distance(X), alpha=0.5)


def _check_scores(owner: str, X: Rows, score: Any, least: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points and scores as float64 arrays of one shape."""
    points = as_matrix(host_array(X), owner, allow_sparse=True).astype(np.float64)
    points = points.toarray() if sparse.issparse(points) else points
    if len(points) < least:
        raise ValueError(f"{owner} needs at least {least} points in X, got {len(points)}; draw a larger sample")
    S = np.asarray(host_array(score(points) if callable(score) else score), dtype=np.float64)
    if S.shape != points.shape:
        raise ValueError(
            f"{owner}: the score ∇ log p has one slope for each feature of each point, shape {points.shape}; got shape "
            f"{S.shape}"
        )
    if not np.isfinite(S).all():
        bad = int(np.flatnonzero(~np.isfinite(S).all(axis=1))[0])
        raise ValueError(f"{owner}: the score must be finite, but that of point {bad} is {S[bad]}")
    return points, S


@dataclass(frozen=True)
class SteinTest:
    """The test of fit by Stein's discrepancy: whether a sample comes from a density known up to a constant.

    Under the hypothesis pairs of points have u(x, y) of mean 0, and random signs of the points leave its sum as it is;
    the level holds for many points.

    Parameters
    ----------
    kernel : Kernel or list of Kernel, optional
        As for :func:`stein_discrepancy`; of several the soft maximum counts, against that of each draw.
    lag : float, default=0
        Over how many points dependence fades to 1/e, such as in a Markov chain; 0 for independent points.
    n_draws : int, default=999
        How many draws of signs.
    level : float, default=0.05
        The p-value up to which the hypothesis is rejected.
    random_state : int, Generator, RandomState or None, default=None
        The seed.
    memory : int or str, optional
        Budget in bytes, or a text such as "2GB"; 60 % of what is free if not given.
    device : str or torch.device, optional
        Where to compute, such as "cuda"; tensors are computed with where they are.  A function for the score is given
        arrays of the host.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.embeddings import SteinTest
    >>> X = np.random.default_rng(0).standard_t(3, size=(300, 1))
    >>> SteinTest(random_state=0).test(X, lambda x: -x)  # against the normal distribution
    <rejected: X comes from the density (p = 0.005)>
    >>> SteinTest(random_state=0).test(X, lambda x: -4 * x / (3 + x**2)).rejected  # against its own
    False
    """

    kernel: Kernels = None
    lag: float = 0.0
    n_draws: int = 999
    level: float = 0.05
    random_state: Any = None
    memory: float | str | None = None
    device: Any = None

    def test(self, X: Rows, score: Score) -> Outcome:
        """Compare a sample with a density.

        Parameters
        ----------
        X : array of shape (n, d)
            The sample.
        score : callable or array of shape (n, d)
            ∇ log p, at all points.

        Returns
        -------
        Outcome
            With the unbiased discrepancy as ``statistic``.
        """
        level, count = check_level("SteinTest", self.level), check_count("SteinTest", "n_draws", self.n_draws)
        kernels, place = read_kernels("SteinTest", self.kernel), Place.find(self.device, self.memory, X)
        X, S = _check_scores("SteinTest", X, score, 2)
        kernels = (_default(X),) if kernels is None else kernels
        n, rng = len(X), make_generator(self.random_state)
        weights = np.column_stack([np.ones(n), draw_signs(n, count, self.lag, rng, "SteinTest")])
        rows = []
        for kernel in kernels:
            U = stein_matrix(kernel, X, S, place)
            scale, own = float(abs(U).mean()), namespace(U).arange(n, device=U.device)
            U[own, own] = 0.0
            forms = np.asarray(host_array(sum_forms(U, weights))) / (n * (n - 1))
            rows.append(settle_ties(forms[None], scale, float(np.finfo(np.float64).eps))[0])
        which, observed, null, p = compare(np.array(rows))
        return Outcome(
            float(rows[which][0]), p, observed, null, kernels[which], kernels, "X comes from the density",
            "Stein's discrepancy", "draws of signs", level,
        )  # fmt: skip
