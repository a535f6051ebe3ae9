"""Sums over words on anti-diagonals against the recursion cell by cell, and padding that changes no bit."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from mercer.gram.torch.words import cut_diagonals, sum_words  # noqa: E402

pytestmark = pytest.mark.torch

RNG = np.random.default_rng(5)


@pytest.fixture(params=["cpu"])
def device(request):
    return request.param


def turn(table, device):
    """Yield the anti-diagonals of tables of shape (n, m, …)."""
    table = torch.tensor(table, device=device)
    for t in range(table.shape[0] + table.shape[1] - 1):
        rows = [i for i in range(table.shape[0]) if 0 <= t - i < table.shape[1]]
        yield torch.stack([table[i, t - i] for i in rows])


def recur(table, levels, order):
    """Return the sum over words that end anywhere, with T(r, s) of every cell and every length kept."""
    n, m = table.shape
    longest = levels or order * min(n, m)
    T = np.zeros((longest + 1, n, m, order + 1, order + 1))  # by the length of words
    for length in range(1, longest + 1):
        before = T[length - 1]
        for i in range(n):
            for j in range(m):
                a = table[i, j]
                T[length, i, j, 1, 1] = a * ((length == 1) + before[:i, :j].sum())
                for r in range(2, order + 1):
                    T[length, i, j, r, 1] = a / r * before[i, :j, r - 1].sum()
                    T[length, i, j, 1, r] = a / r * before[:i, j, :, r - 1].sum()
                    for s in range(2, order + 1):
                        T[length, i, j, r, s] = a / (r * s) * before[i, j, r - 1, s - 1]
    return 1.0 + T.sum()


@pytest.mark.parametrize(("levels", "order"), [(0, 1), (0, 2), (0, 3), (0, 5), (1, 1), (3, 1), (4, 2), (3, 3)])
@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (3, 2), (4, 3)], ids=str)
def test_anti_diagonals_sum_what_the_recursion_sums_cell_by_cell(levels, order, shape, device):
    tables = RNG.normal(size=(*shape, 2, 3))
    found = sum_words(levels, order, shape, turn(tables, device)).cpu().numpy()
    expected = [[recur(tables[:, :, a, b], levels, order) for b in range(3)] for a in range(2)]
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(("levels", "order"), [(0, 1), (0, 4), (3, 2)])
def test_segments_of_length_zero_in_front_change_no_bit(levels, order, device):
    table = RNG.normal(size=(5, 4, 3))
    padded = np.zeros((7, 9, 3))
    padded[2:, 5:] = table
    plain = sum_words(levels, order, (5, 4), turn(table, device))
    assert torch.equal(sum_words(levels, order, (7, 9), turn(padded, device)), plain)


def test_diagonals_hold_every_cell_once():
    cells = [
        (i, 3 - c)
        for rows, columns in cut_diagonals(5, 4)
        for i, c in zip(range(5)[rows], range(4)[columns], strict=True)
    ]
    assert sorted(cells) == [(i, j) for i in range(5) for j in range(4)]
    assert [i + j for i, j in cells] == sorted(i + j for i, j in cells)
