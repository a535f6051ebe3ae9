"""A fit that changes everything or nothing, and whose errors name rows as the caller counts them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from mercer.arrays.tensors import host_array, is_out_of_memory, is_tensor, out_of_memory
from mercer.features.validate import takes_vectors
from mercer.formula.data import Rows, pick
from mercer.formula.evaluation import Evaluation
from mercer.formula.expression import Stat, nodes
from mercer.formula.statistics import VectorStatistic
from mercer.kernels import Custom, FromFeatures, Kernel
from mercer.kernels.mapping import LinearMap
from mercer.kernels.pullback import After

_GIVEN: ContextVar[list[tuple[object, Rows]] | None] = ContextVar("data of the fit that runs", default=None)


@contextmanager
def all_or_nothing(estimator: Any) -> Iterator[None]:
    """Undo every change to an estimator if the block fails or is interrupted.

    Solvers see points sorted by class, or some of them.  If one is refused there, the data is read again as it was
    given, so that the message has the position that the caller knows; a fit that succeeds does not pay for that.
    """
    before, given = dict(vars(estimator)), list[tuple[object, Rows]]()
    token = _GIVEN.set(given)
    try:
        yield
    except BaseException as reason:
        vars(estimator).clear()
        vars(estimator).update(before)
        if is_out_of_memory(reason):
            raise out_of_memory(reason, type(estimator).__name__) from None
        if given and isinstance(reason, TypeError | ValueError):
            try:
                _read(*given[0])
            except (TypeError, ValueError) as located:
                raise located from located.__cause__  # an error of a function of the caller's own
        raise
    finally:
        _GIVEN.reset(token)


def remember_rows(kernel: object, X: Rows) -> None:
    """Keep the data of the fit that runs, if there is one, for its messages."""
    given = _GIVEN.get()
    if given is not None:
        given.append((kernel, X))


def check_objects(kernel: object, X: Rows) -> None:
    """Raise what a kernel has to say about the first object that it cannot take, if there is one.

    Examples
    --------
    >>> from mercer.kernels import Spectrum
    >>> check_objects(Spectrum(2), ["ab", None])
    Traceback (most recent call last):
    ...
    TypeError: Spectrum(length=2, shortest=None) compares sequences ...; object 1 is None, of type NoneType. ...
    """
    if isinstance(kernel, Kernel) and not takes_vectors(kernel):
        _read(kernel, X)


def _read(kernel: object, X: Rows) -> None:
    if isinstance(kernel, Kernel) and not is_tensor(X):  # tensors are numbers already
        Evaluation(kernel.traced(), X, None, repr(kernel)).prepared()


def check_kept(kernel: Kernel, X: Rows, first: int = 0) -> None:
    """Check objects at once where a fit only keeps them: all, or the first of them if the kernel calls a function."""
    if not _calls_functions(kernel):
        (_read if _has_domain(kernel) else check_objects)(kernel, X)
    kernel.diag(host_array(pick(X, [first])))


def _has_domain(kernel: Kernel) -> bool:
    """Whether a kernel on vectors does not take all of them, such as negative counts."""
    found = [node.statistic for node in nodes(kernel.traced()) if isinstance(node, Stat)]
    return any(isinstance(each, VectorStatistic) and type(each).check is not VectorStatistic.check for each in found)


def _calls_functions(kernel: Kernel) -> bool:
    parts = [part for part in kernel.get_params(deep=False).values() if isinstance(part, Kernel)]
    called = isinstance(kernel, After) and not isinstance(kernel.map, LinearMap)
    return called or isinstance(kernel, Custom | FromFeatures) or any(map(_calls_functions, parts))
