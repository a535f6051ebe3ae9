"""Eigenvalues and singular values of arrays, in one long call each that Ctrl-C does not wait for.

A decomposition cannot be cut into parts as a factor can.  It runs in a thread of its own, without Python's lock, while
the main thread waits and hears signals.  What was interrupted comes to its end unseen, and its result is dropped.  A
process that ends meanwhile waits for that, as it does for any thread: BLAS cannot be unloaded while it computes.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import TypeVar

import numpy as np

from .unlocked import call_routine

HEARD = 0.1  # seconds after which a signal is heard
LONG = 500  # rows from which a decomposition takes long enough for somebody to press Ctrl-C
Result = TypeVar("Result")


def wait_for(work: Callable[[], Result]) -> Result:
    """Return what a function returns or raise what it raises, from another thread if signals are heard in this one.

    Examples
    --------
    >>> wait_for(lambda: 6 * 7)
    42
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    found: list[Result] = []
    failures: list[BaseException] = []
    done = threading.Event()

    def run() -> None:
        try:
            found.append(work())
        except BaseException as failure:
            failures.append(failure)
        finally:
            done.set()

    threading.Thread(target=copy_context().run, args=(run,)).start()
    while not done.wait(HEARD):  # another thread may have been told of the signal
        pass
    if failures:
        raise failures[0]
    return found[0]


def decompose(A: np.ndarray, *, overwrite: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Return all eigenvalues of a symmetric matrix, in ascending order, and its eigenvectors, one in each column.

    Parameters
    ----------
    A : array of shape (n, n)
        The matrix, of which the lower half is read.
    overwrite : bool
        Whether eigenvectors may take its place, which they do if it is in Fortran order and float64.

    Examples
    --------
    >>> values, vectors = decompose(np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> values.round(12).tolist(), np.abs(vectors).round(4).tolist()
    ([1.0, 3.0], [[0.7071, 0.7071], [0.7071, 0.7071]])
    """
    Q = np.array(A, dtype=np.float64, order="F", copy=None if overwrite else True)
    n = len(Q)
    values = np.empty(n)
    if n == 0:
        return values, Q
    job, half, size = ctypes.c_char(b"V"), ctypes.c_char(b"L"), ctypes.c_int(n)
    _run_with_scratch("dsyevd", (job, half, size, Q, size, values), n)
    return values, Q


def decompose_largest(A: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest eigenvalues of a symmetric matrix, in ascending order, and their eigenvectors.

    Examples
    --------
    >>> values, vectors = decompose_largest(np.diag([1.0, 5.0, 3.0]), 2)
    >>> values.tolist(), np.abs(vectors).tolist()
    ([3.0, 5.0], [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    """
    n = len(A)
    copy = np.array(A, dtype=np.float64, order="F")
    values, vectors = np.empty(n), np.empty((n, count), order="F")
    if n == 0 or count == 0:
        return values[:0], vectors
    support, found = np.empty(2 * count, dtype=np.intc), ctypes.c_int(0)
    size, nothing = ctypes.c_int(n), ctypes.c_double(0.0)
    _run_with_scratch(
        "dsyevr",
        (
            ctypes.c_char(b"V"), ctypes.c_char(b"I"), ctypes.c_char(b"L"), size, copy, size, nothing, nothing,
            ctypes.c_int(n - count + 1), ctypes.c_int(n), nothing, found, values, vectors, size, support,
        ),
        n,
    )  # fmt: skip
    return values[:count].copy(), vectors


def decompose_singular(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return U, the singular values in descending order, and Vᵀ of A = U diag(s) Vᵀ.

    Examples
    --------
    >>> decompose_singular(np.diag([2.0, 3.0]))[1].tolist()
    [3.0, 2.0]
    """
    return wait_for(lambda: np.linalg.svd(A)) if min(A.shape, default=0) >= LONG else np.linalg.svd(A)


def _run_with_scratch(name: str, arguments: tuple[object, ...], n: int) -> None:
    """Ask a routine how much scratch it needs, and run it with that."""
    asked, asked_whole, query, failed = np.empty(1), np.empty(1, dtype=np.intc), ctypes.c_int(-1), ctypes.c_int(0)
    call_routine(name, *arguments, asked, query, asked_whole, query, failed)
    work, whole = np.empty(int(asked[0])), np.empty(int(asked_whole[0]), dtype=np.intc)
    sizes = ctypes.c_int(len(work)), ctypes.c_int(len(whole))

    def run() -> None:
        call_routine(name, *arguments, work, sizes[0], whole, sizes[1], failed)

    if n >= LONG:
        wait_for(run)
    else:
        run()
    if failed.value:
        raise np.linalg.LinAlgError(
            f"the eigenvalues of a {n} × {n} matrix were not found, as if it had entries that are no numbers: check "
            "that data and kernel parameters are finite"
        )
