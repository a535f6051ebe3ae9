"""A factor that grows and shrinks is that of the matrix of the rows that are there."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.linalg import growing
from mercer.linalg.growing import GrowingCholesky

N = 90
ROOT = np.random.default_rng(0).normal(size=(N, 12))
K = ROOT @ ROOT.T
SHIFT = np.random.default_rng(1).uniform(0.5, 2.0, N)


def _append(factor, there, new):
    return factor.append(K[np.ix_(there, new)], K[np.ix_(new, new)], SHIFT[new])


def _check(factor, there):
    A, V = K[np.ix_(there, there)] + np.diag(SHIFT[there]), np.random.default_rng(2).normal(size=(len(there), 2))
    np.testing.assert_allclose(factor.solve(V), np.linalg.solve(A, V), atol=1e-11)
    np.testing.assert_allclose(factor @ V, K[np.ix_(there, there)] @ V, atol=1e-11)
    np.testing.assert_allclose(factor.inverse_diagonal(), np.linalg.inv(A).diagonal(), atol=1e-11)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_it_is_the_factor_of_the_rows_that_are_there_whatever_came_and_went(data):
    factor, there, waiting = GrowingCholesky(), np.empty(0, dtype=int), np.arange(N)
    for _ in range(data.draw(st.integers(1, 6))):
        count = data.draw(st.integers(1, max(1, min(40, len(waiting)))))
        new, waiting = waiting[:count], waiting[count:]
        if len(new):
            assert _append(factor, there, new)
            there = np.concatenate([there, new])
        gone = data.draw(st.sets(st.integers(0, len(there) - 1), max_size=len(there) - 1))
        if gone:
            factor.remove(np.array(sorted(gone)))
            there = np.delete(there, sorted(gone))
        if data.draw(st.booleans()):  # after which it follows the rows rather than being computed
            _check(factor, there)
    _check(factor, there)


@pytest.mark.parametrize("size", [1, 3, 7])
def test_blocks_of_any_size_give_the_same(monkeypatch, size):
    for name in ("SUBSTITUTED", "APPENDED", "ROTATED", "MULTIPLIED", "MOVED"):
        monkeypatch.setattr(growing, name, size)
    factor, there = GrowingCholesky(), np.arange(50)
    assert _append(factor, there[:0], there)
    factor.inverse_diagonal()
    factor.remove(np.array([0, 13, 14]))
    _check(factor, np.delete(there, [0, 13, 14]))


def test_a_row_that_leaves_no_positive_definite_matrix_is_refused_and_changes_nothing():
    factor, there = GrowingCholesky(), np.arange(20)
    assert _append(factor, there[:0], there)
    assert not factor.append(K[:20, [3]], np.array([[K[3, 3] - 10.0]]), np.zeros(1))
    _check(factor, there)


def test_rows_at_the_end_leave_the_factor_of_those_before_untouched():
    factor, there = GrowingCholesky(), np.arange(30)
    assert _append(factor, there[:0], there)
    before = factor.forward(np.eye(30))
    factor.remove(np.arange(20, 30))
    np.testing.assert_array_equal(factor.forward(np.eye(20)), before[:20, :20])


def test_room_grows_by_a_share_of_itself_so_that_points_one_by_one_are_seldom_moved():
    factor, moves = GrowingCholesky(), 0
    for i in range(N):
        moves += factor.capacity_for(i + 1) > factor.capacity_for(i)
        assert _append(factor, np.arange(i), np.array([i]))
    assert moves < 30


def test_another_shift_is_that_of_a_new_matrix():
    factor = GrowingCholesky()
    assert _append(factor, np.arange(0), np.arange(40))
    assert factor.refactor(3.0 * SHIFT[:40])
    V = np.ones((40, 1))
    np.testing.assert_allclose(factor.solve(V), np.linalg.solve(K[:40, :40] + np.diag(3.0 * SHIFT[:40]), V), atol=1e-12)
    assert not factor.refactor(np.full(40, -1.0))
