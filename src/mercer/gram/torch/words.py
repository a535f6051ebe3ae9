"""Sums over words of pairs of segments, the inner products of signatures, on anti-diagonals of tensors.

What is summed is what the native core sums a row at a time (``native/paths_lanes.cpp``).  With T(r, s) the sum over
words that end at segments (i, j), i taken r times and j s times in a row, and a = ⟨vᵢ, wⱼ⟩,

    T(1, 1) = a k(i−1, j−1),   T(r, 1) = a/r R(r−1),   T(1, s) = a/s C(s−1),   T(r, s) = a/rs T(r−1, s−1),

where R sums T(r, ·) over earlier segments of the row and C sums T(·, s) over earlier ones of the column.  Segments with
i + j = t need those with smaller t only, so they are computed at once, for all pairs of series.  T(r, s) is a
multiple of a^q, q = min(r, s), times the one number of R, k and C that belongs to r − s: powers are formed block by
block, and one matrix product adds them up.

Series are padded in front, by segments of length 0.  All words that end there have a factor a = 0, so that T, R and C
are 0 and k is 1, as it is before the first segment: what follows does not notice, to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np

from mercer.arrays import Array
from mercer.arrays.tensors import load_torch

LINES = 3  # anti-diagonals of k that are kept: the one that is written, and two that it is written from


def sum_words(levels: int, order: int, steps: tuple[int, int], products: Iterable[Array]) -> Array:
    """Return the sum over words for every pair, of any length (``levels`` 0) or up to ``levels``, as float64.

    Parameters
    ----------
    levels, order : int
        Longest words, and how often a segment may come again in a row.
    steps : tuple of int
        Numbers n and m of segments of each series on the left and on the right, at least 1.
    products : iterable of tensors of shape (count, …)
        ⟨vᵢ, wⱼ⟩ for i + j = 0, 1, …, n + m − 2, i rising in the first axis; the others are pairs of series.
    """
    torch = load_torch()
    (n, m), height, shift, middle = steps, levels + 1, int(levels > 0), order - 1
    above, below = slice(shift, None), slice(0, height - shift)  # words of a level begin with those of the one below
    for t, ((rows, columns), a) in enumerate(zip(cut_diagonals(n, m), products, strict=True)):
        if t == 0:
            pairs, weights = a.shape[1:], a.new_tensor(weigh_words(order))
            line = a.new_zeros(height, n + 1, *pairs)
            line[0] = 1.0
            lines = [line, *(line.clone() for _ in range(LINES - 1))]
            across, down = (a.new_zeros(height, order - 1, count, *pairs) for count in steps)
            room = a.new_zeros(height, order**2, min(n, m), *pairs)
        # Row i of a line is that of segment i − 1, so that row 0 lies before all of them.
        new, last, old = (lines[(t - back) % LINES] for back in range(LINES))
        next_rows = slice(rows.start + 1, rows.stop + 1)
        words, corner = room[:, :, : len(a)], old[:, rows]
        torch.mul(a, across[below, :, rows], out=words[above, :middle])
        torch.mul(a, corner[below], out=words[above, middle])
        torch.mul(a, down[below, :, columns], out=words[above, order : 2 * order - 1])
        begin, size = 0, 2 * order - 1
        for q in range(2, order + 1):
            torch.mul(
                a * (1.0 / q**2),
                words[below, begin + 1 : begin + size - 1],
                out=words[above, begin + size : begin + 2 * size - 2],
            )
            begin, size = begin + size, size - 2
        sums = (weights @ words.flatten(2)).unflatten(2, a.shape)
        across[:, :, rows] += sums[:, :middle]
        down[:, :, columns] += sums[:, order:]
        # k(i, j) = k(i, j−1) + k(i−1, j) − k(i−1, j−1) + Σ T(r, s), in the order that loses the fewest digits.
        change = last[:, rows] - corner
        torch.add(last[:, next_rows], change.add_(sums[:, middle]), out=new[:, next_rows])
    return lines[(n + m - 2) % LINES][:, n].sum(0)


def cut_diagonals(n: int, m: int) -> Iterator[tuple[slice, slice]]:
    """Yield the rows i of an n × m table with i + j = 0, 1, …, and their columns j counted from the last one.

    Examples
    --------
    >>> [(rows.start, rows.stop, columns.start, columns.stop) for rows, columns in cut_diagonals(2, 3)]
    [(0, 1, 2, 3), (0, 2, 1, 3), (0, 2, 0, 2), (1, 2, 0, 1)]
    """
    for t in range(n + m - 1):
        first, stop, turned = max(0, t - m + 1), min(n, t + 1), m - 1 - t
        yield slice(first, stop), slice(first + turned, stop + turned)


def weigh_words(order: int) -> np.ndarray:
    """Return what R(r)/(r+1), Σ T and C(s)/(s+1) gain from aᵍ/q!² times R/(r+1), k and C/(s+1).

    Rows are r = order − 1, …, 1, then the sum, then s = 1, …, order − 1; columns are blocks q = 1, 2, …, in each of
    which r − s falls from order − q to q − order.

    Examples
    --------
    >>> weigh_words(2)  # of aR/2, ak, aC/2 and a²k/4
    array([[0. , 0.5, 0.5, 0. ],
           [1. , 1. , 1. , 1. ],
           [0.5, 0.5, 0. , 0. ]])
    """
    columns = [(q, gap) for q in range(1, order + 1) for gap in range(order - q, q - order - 1, -1)]
    out = np.zeros((2 * order - 1, order**2))
    for column, (q, gap) in enumerate(columns):
        apart = abs(gap)
        weight = math.factorial(q) * math.factorial(apart + 1) / math.factorial(apart + q)
        r, s = q + max(gap, 0), q + max(-gap, 0)
        out[order - 1, column] = weight
        if r < order:
            out[order - 1 - r, column] = weight / (r + 1)
        if s < order:
            out[order - 1 + s, column] = weight / (s + 1)
    return out


def count_numbers(levels: int, order: int, n: int, m: int) -> int:
    """Return how many numbers :func:`sum_words` keeps for each pair of series with n and m segments."""
    at_once = order**2 + 4 * order + 2  # words, their sums and the last ones, and what is in the making of them
    return (levels + 1) * (LINES * (n + 1) + (order - 1) * (n + m) + at_once * min(n, m))
