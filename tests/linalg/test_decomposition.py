"""Decompositions of arrays, which a signal does not wait for."""

import os
import signal
import threading

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.linalg import decomposition
from mercer.linalg.decomposition import decompose, decompose_largest, decompose_singular, wait_for


def symmetric(n, seed=0):
    A = np.random.default_rng(seed).normal(size=(n, n))
    return A + A.T


@settings(deadline=None, max_examples=20)
@given(n=st.integers(0, 30), scale=st.sampled_from([1e-200, 1.0, 1e200]), data=st.data())
def test_eigenvectors_are_orthonormal_and_make_up_the_matrix(n, scale, data):
    A = scale * symmetric(n)
    values, Q = decompose(np.tril(A))  # only the lower half is read
    np.testing.assert_allclose(Q.T @ Q, np.eye(n), atol=1e-13)
    np.testing.assert_allclose((Q * values) @ Q.T, A, atol=1e-12 * scale * (n + 1))
    assert (np.diff(values) >= 0).all()
    count = data.draw(st.integers(0, n))
    some, vectors = decompose_largest(A, count)
    np.testing.assert_allclose(some, values[n - count :], atol=1e-12 * scale * (n + 1))
    np.testing.assert_allclose(A @ vectors, vectors * some, atol=1e-11 * scale * (n + 1))


@pytest.mark.parametrize("n", [40, decomposition.LONG])
def test_short_and_long_decompositions_are_those_of_scipy(n):
    A = symmetric(n)
    expected = scipy.linalg.eigvalsh(A)
    kept = A.copy()
    np.testing.assert_allclose(decompose(A)[0], expected, atol=1e-10)
    np.testing.assert_allclose(decompose_largest(A, 3)[0], expected[-3:], atol=1e-10)
    np.testing.assert_allclose(decompose_singular(A)[1], np.sort(np.abs(expected))[::-1], atol=1e-10)
    np.testing.assert_array_equal(A, kept)


def test_eigenvectors_take_the_place_of_a_matrix_that_may_be_overwritten():
    A = np.asfortranarray(symmetric(20))
    assert decompose(A, overwrite=True)[1] is A


def test_a_matrix_without_numbers_is_refused_with_a_remedy():
    with pytest.raises(np.linalg.LinAlgError, match="check that data and kernel parameters are finite"):
        decompose(np.full((3, 3), np.nan))


def test_a_signal_is_heard_while_long_work_goes_on():
    begun, released = threading.Event(), threading.Event()

    def work():
        begun.set()
        released.wait(60)

    def interrupt():
        begun.wait(60)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            wait_for(work)
        assert not released.is_set()
    finally:
        released.set()


def test_what_fails_in_another_thread_fails_here():
    def work():
        raise OverflowError("too large")

    with pytest.raises(OverflowError, match="too large"):
        wait_for(work)
