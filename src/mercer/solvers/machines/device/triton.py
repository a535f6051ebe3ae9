"""Triton kernels of sequential minimal optimisation.

The steps are those of the compiled core (``native/smo.hpp``): slope = t − Kβ is kept up to date, i has the largest gain
of its group by rising, j the best decrease of the objective along (i, j) to second order, and ties go to the smallest
index.  One program solves one problem, with β and slopes in registers and rows of its small matrix from the cache.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"
from __future__ import annotations

from typing import Any

try:
    import triton
    import triton.language as tl

    jit: Any = triton.jit
    jit_once: Any = triton.jit(do_not_specialize=("width", "R", "N"))  # one kernel for all sizes
except ImportError:  # the module can still be read; nobody calls its kernels then

    def jit(function: Any) -> Any:
        """Leave a function as it is."""
        return function

    jit_once = jit


@jit
def steepest(r1, i1, b1, e1, f1, r2, i2, b2, e2, f2):
    """Return the larger rise with its place, coefficient and end, and the smaller fall."""
    first = (r1 > r2) | ((r1 == r2) & (i1 < i2))
    rise, at = tl.where(first, r1, r2), tl.where(first, i1, i2)
    return rise, at, tl.where(first, b1, b2), tl.where(first, e1, e2), tl.minimum(f1, f2)


@jit
def partner(v1, i1, b1, e1, g1, c1, v2, i2, b2, e2, g2, c2):
    """Return the larger value with its place, coefficient, end, gain and curvature."""
    first = (v1 > v2) | ((v1 == v2) & (i1 < i2))
    value, at = tl.where(first, v1, v2), tl.where(first, i1, i2)
    beta, end = tl.where(first, b1, b2), tl.where(first, e1, e2)
    return value, at, beta, end, tl.where(first, g1, g2), tl.where(first, c1, c2)


@jit
def best(slope, beta, lower, upper, epsilon, mine, at):
    """Return the largest rise of a group, with all that a step needs of its variable, and the smallest fall.

    What is needed travels through the reduction, so that nothing has to be looked up after it.
    """
    infinite = float("inf")
    rise = tl.where((beta < upper) & mine, slope - tl.where(beta >= 0, epsilon, -epsilon), -infinite)
    fall = tl.where((beta > lower) & mine, slope - tl.where(beta > 0, epsilon, -epsilon), infinite)
    # Coefficients stop at the box, and at 0 where epsilon puts a kink.
    end = tl.where(epsilon * beta < 0, 0.0, upper)
    return tl.reduce((rise, at, beta, end, fall), 0, steepest)


@jit
def minimise(K, lower, upper, beta, slope, epsilons, cuts, goals, most, steps, S: tl.constexpr, TWO: tl.constexpr):
    """Solve the problems of working sets of S variables, one program each."""
    problem = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, S)
    here = problem * S + at
    K += problem * S * S
    lo, up, b, s = tl.load(lower + here), tl.load(upper + here), tl.load(beta + here), tl.load(slope + here)
    diagonal = tl.load(K + at * S + at).to(tl.float64)
    epsilon, goal = tl.load(epsilons + problem), tl.load(goals + problem)
    limit, cut = tl.load(most + problem), tl.load(cuts + problem)
    count = limit * 0
    going = limit > 0
    while going:
        mine = at < cut
        rise, i, b_i, end_i, down = best(s, b, lo, up, epsilon, mine, at)
        if TWO:
            rise2, i2, b2, end2, down2 = best(s, b, lo, up, epsilon, at >= cut, at)
            second = rise2 - down2 > rise - down
            rise, i, down = tl.where(second, rise2, rise), tl.where(second, i2, i), tl.where(second, down2, down)
            b_i, end_i = tl.where(second, b2, b_i), tl.where(second, end2, end_i)
            mine = (at >= cut) == second
        going = (rise - down > goal) & (count < limit)
        if going:
            row_i = tl.load(K + i * S + at).to(tl.float64)
            own = tl.load(K + i * S + i).to(tl.float64)
            gain = tl.where((b > lo) & mine, rise - s + tl.where(b > 0, epsilon, -epsilon), 0.0)
            both = own + diagonal
            # Relative to the diagonal as in the compiled core; without one a step goes to the end of the box.
            curvature = tl.maximum(tl.maximum(both - 2.0 * row_i, 0.5e-12 * both), 1e-290)
            value = tl.where(gain > 0, gain * gain / curvature, -1.0)
            end = tl.where(epsilon * b > 0, 0.0, lo)
            value_j, j, b_j, end_j, gain_j, curvature_j = tl.reduce((value, at, b, end, gain, curvature), 0, partner)
            going = value_j > 0
            if going:
                row_j = tl.load(K + j * S + at).to(tl.float64)
                room_i, room_j = end_i - b_i, b_j - end_j
                step = tl.minimum(tl.minimum(gain_j / curvature_j, room_i), room_j)
                new_i = tl.where(step == room_i, end_i, b_i + step)
                new_j = tl.where(step == room_j, end_j, b_j - step)
                b = tl.where(at == i, new_i, tl.where(at == j, new_j, b))
                s -= step * (row_i - row_j)
                count += 1
    tl.store(beta + here, b)
    tl.store(steps + problem, count)


@jit_once
def add_weighted(M, width, rows, columns, weights, counts, out, R, N, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Add weighted rows of a matrix to some columns of a problem, in float64."""
    problem = tl.program_id(1).to(tl.int64)
    place = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    inside = place < N
    column = tl.load(columns + problem * N + place, mask=inside, other=0)
    total = tl.zeros([ROWS, COLUMNS], tl.float64)
    count = tl.load(counts + problem)
    for start in range(0, count, ROWS):
        which = start + tl.arange(0, ROWS)
        there = which < count
        row = tl.load(rows + problem * R + which, mask=there, other=0)
        weight = tl.load(weights + problem * R + which, mask=there, other=0.0)
        values = tl.load(M + row[:, None] * width + column[None, :], mask=there[:, None] & inside[None, :], other=0.0)
        total += weight[:, None] * values.to(tl.float64)
    where = out + problem * N + place
    tl.store(where, tl.load(where, mask=inside, other=0.0) + tl.sum(total, 0), mask=inside)
