"""Sums of squares are the same by any number of threads, and BLAS is as it was afterwards."""

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from mercer.arrays.place import Place
from mercer.arrays.threads import blas_threads
from mercer.linalg import sums
from mercer.linalg.sums import SquareSum

HOST = Place.find(None, 2**30)


@pytest.fixture(params=[1, 2, 5], ids=lambda count: f"{count} threads")
def threads(request, monkeypatch):
    """So many processors, and as many threads of BLAS."""
    monkeypatch.setattr(sums, "default_threads", lambda: request.param)
    monkeypatch.setattr(sums, "LARGE", 2)
    with threadpool_limits(request.param, user_api="blas"):
        yield request.param


def test_a_square_of_any_blocks_is_the_square_of_all_columns(threads):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(7, 60))
    blocks = [A[:, :3], A[:, 3:4], np.asfortranarray(A[:, 4:40]), A[:, 40:55].copy(), A[:, 55::2], A[:, 56::2]]
    with SquareSum(HOST, 7, 2**20) as found:
        for block in blocks:
            found.add(block)
    np.testing.assert_allclose(np.tril(found.total), np.tril(A @ A.T), rtol=1e-12)


def test_threads_share_only_where_their_sums_have_room(threads, monkeypatch):
    seen = []
    monkeypatch.setattr(sums, "add_square_of_part", lambda A, C: seen.append(blas_threads()))
    for room in (1, threads):
        with SquareSum(HOST, 100, 8 * 100 * 100 * room) as found:
            assert len(found._sums) == room
            found.add(np.ones((100, 20)))
            assert blas_threads() == threads  # what comes between two blocks has all of them
    assert seen == [1] * threads * (threads > 1)


def test_what_fails_in_a_thread_is_raised_and_blas_gets_its_threads_back(threads):
    if threads == 1:
        return
    found = SquareSum(HOST, 2, 2**20)
    with found:
        found._sums = [np.zeros((2, 2), dtype=np.float32, order="F")] * threads
        with pytest.raises(ValueError, match="float64"):
            found.add(np.ones((2, 6)))
    assert blas_threads() == threads


def test_where_another_thread_rules_blas_its_calls_keep_their_threads(threads, monkeypatch):
    found = []

    def add():
        with SquareSum(HOST, 2, 2**20) as squares:
            squares.add(np.array([[1.0, 2.0], [3.0, 4.0]]))
        found.append(squares.total.tolist())

    monkeypatch.setattr(sums, "add_square_of_part", None)  # which nobody calls
    other = threading.Thread(target=add)
    other.start()
    other.join()
    assert found == [[[5.0, 0.0], [11.0, 25.0]]]
    assert blas_threads() == threads
