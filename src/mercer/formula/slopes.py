"""Slopes in x, derived from a kernel's formula: ∇ₓ k(x, z) for every pair of points.

A formula E depends on x through statistics s of the pair, and through values at (x, x) that normalised kernels hold:

    ∇ₓ k(x, z) = Σ_s ∂E/∂s · ∇ₓ s(x, z) + Σ_D ∂E/∂D · ∇ₓ D(x, x).

One sweep over the formula, from its value to its leaves, gives all ∂E/∂s and ∂E/∂D, which are expressions again and so
are evaluated as kernels are.  Statistics know their own slopes.  At a kink the slope is the mean of those on both
sides: 0 for |x − z| and for the root of a distance at x = z.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from scipy import sparse

from .data import Rows, as_matrix, take
from .evaluation import TILE_ENTRIES, Evaluation, check_overflow
from .expression import Call, Const, Diagonal, Expression, Stat, add, derive_outer, is_diagonal, multiply, nodes
from .program import anonymous
from .statistics import Statistic, VectorStatistic, make_dense


def partials(expression: Expression) -> dict[Stat | Diagonal, Expression]:
    """Return ∂E/∂s for each statistic s of the pair, and ∂E/∂D for each value D at (x, x) or (z, z), in one sweep.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> {leaf.statistic.owner: slope for leaf, slope in partials((3.0 * Linear()).traced()).items()}
    {'Linear()': Param(name='weight', value=3.0)}
    """
    order = list(nodes(expression, is_diagonal))
    found: dict[Expression, Expression] = dict.fromkeys(order, Const(0.0))
    found[expression] = Const(1.0)
    for node in reversed(order):
        if isinstance(node, Call):
            for arg, slope in zip(node.args, _derive(node), strict=True):
                found[arg] = add(found[arg], multiply(found[node], slope))
    return {node: found[node] for node in order if isinstance(node, Stat | Diagonal) and found[node] != Const(0.0)}


def _derive(node: Call) -> tuple[Expression, ...]:
    """Return the derivatives of an operation by its arguments."""
    if node.op == "add":
        return Const(1.0), Const(1.0)
    return node.args[::-1] if node.op == "mul" else (derive_outer(node),)


def partial(expression: Expression, statistic: Statistic) -> Expression:
    """Return ∂k/∂s for the statistic s of the pair (x, z); its values at (x, x) and (z, z) count as constants.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> from mercer.formula.expression import Stat, nodes
    >>> formula = Gaussian(length_scale=[1.0, 2.0]).traced()
    >>> (s,) = [node.statistic for node in nodes(formula) if isinstance(node, Stat)]
    >>> partial(formula, s).args[1]
    Const(value=-0.5)
    """
    return partials(expression).get(Stat(statistic), Const(0.0))


def moving_leaves(expression: Expression) -> dict[Stat | Diagonal, Expression]:
    """Return :func:`partials` by what moves with x, or raise if a statistic has no slope; equal parts are merged."""
    for node in nodes(expression):
        if isinstance(node, Stat):
            node.statistic.check_slopes()
    found = partials(anonymous(expression))
    return {leaf: slope for leaf, slope in found.items() if not (isinstance(leaf, Diagonal) and leaf.side == "right")}


def count_features(X: Rows, owner: str) -> int:
    """Return the number of columns of a table."""
    shape = np.shape(take(X, 0, 1))
    return int(shape[1] if len(shape) == 2 else as_matrix(X, owner).shape[1])


def slopes_of_pairs(expression: Expression, X: Rows, Z: Rows | None, owner: str) -> np.ndarray:
    """Return ∇ₓ k(x, z) for all pairs, of shape (points of X, points of Z, features)."""
    X, Z = (sparse.csr_array(side) if sparse.issparse(side) else side for side in (X, None if Z is X else Z))
    leaves, pairs = moving_leaves(expression), Evaluation(expression, X, Z, owner)
    n, m, d = *pairs.shape, count_features(X, owner)
    out, step = np.zeros((n, m, d)), max(1, TILE_ENTRIES // (m * d))
    for leaf, slope in leaves.items():
        tiles = pairs.of(slope)
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            E = tiles.tile(rows, slice(0, m))[:, :, None]
            if isinstance(leaf, Diagonal):
                out[rows] += E * slope_at_itself(leaf.inner, take(X, rows.start, rows.stop), owner)[:, None, :]
            else:
                statistic = cast(VectorStatistic, leaf.statistic)
                A, B = pairs.prepare(statistic)
                A, B = make_dense(A[rows]), make_dense(B)
                G = E * statistic.slope(A[:, None, :], B[None, :, :])
                out[rows] += statistic.pull_back(G, A, take(X, rows.start, rows.stop))
    result = out.astype(pairs.dtype, copy=False)
    check_overflow(result, owner)
    return result


def slope_at_itself(expression: Expression, X: Rows, owner: str) -> np.ndarray:
    """Return the gradient of k(x, x) for all x, of shape (points, features); that of k(·, x) at x is half of it.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> slope_at_itself(Linear().traced(), [[3.0, 4.0]], "Linear()")
    array([[6., 8.]])
    """
    known: dict[Expression, np.ndarray] = {}
    for node in nodes(Diagonal("left", expression)):
        if isinstance(node, Diagonal) and node.inner not in known:  # those inside others come first
            at = Evaluation(node.inner, X, None, owner)
            known[node.inner] = np.zeros((at.shape[0], count_features(X, owner)))
            for leaf, slope in partials(node.inner).items():
                weights = at.of(slope).diag()[:, None]
                if isinstance(leaf, Diagonal):
                    known[node.inner] += weights * known[leaf.inner]
                else:  # both points move, and by symmetry with the same slope
                    statistic = cast(VectorStatistic, leaf.statistic)
                    A = make_dense(at.prepare(statistic)[0])
                    G = 2.0 * weights * statistic.slope(A, A)
                    known[node.inner] += statistic.pull_back(G[:, None, :], A, X)[:, 0]
    return known[expression]
