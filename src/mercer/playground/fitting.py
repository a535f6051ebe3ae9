"""From a state to a fitted model, with everything that went wrong in words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from mercer.arrays.threads import silence_warnings
from mercer.certify import Refuted
from mercer.kernels import Kernel

from .composing import read_kernel
from .learners import LEARNERS
from .limits import PlayError
from .state import State


@dataclass(frozen=True)
class Fit:
    """A fitted state.

    Parameters
    ----------
    state : State
        What was fitted.
    kernel : Kernel
        Its kernel.
    model : estimator
        The fitted model.
    seconds : float
        How long the fit took.
    notes : tuple of str
        What to know about it, in words.
    """

    state: State
    kernel: Kernel
    model: Any
    seconds: float
    notes: tuple[str, ...] = ()


def fit_state(state: State) -> Fit:
    """Return the fitted model of a state.

    Raises
    ------
    PlayError
        If there are too few points or classes, or the learner cannot use the kernel; it says what to do.

    Examples
    --------
    >>> from mercer.playground.fitting import fit_state
    >>> from mercer.playground.presets import PRESETS
    >>> fit = fit_state(PRESETS["sine"].make())
    >>> type(fit.model).__name__, fit.notes
    ('KernelRidge', ())
    """
    _check_enough(state)
    kernel, learner = read_kernel(state.kernel, state.dim), LEARNERS[state.learner]
    start = perf_counter()
    with guard(kernel, state.dim):
        model = learner.fit(learner.build(state.task, kernel, state.values), state.x, state.y, state.values)
        _check_usable(state, model)
    return Fit(state, kernel, model, perf_counter() - start, tuple(_find_notes(model)))


@contextmanager
def guard(kernel: Kernel | None = None, dim: int | None = None) -> Iterator[None]:
    """Turn what goes wrong inside the block into a PlayError, and leave warnings to what is read off the model."""
    try:
        with silence_warnings(), np.errstate(all="ignore"):
            yield
    except PlayError:
        raise
    except (ValueError, TypeError, ArithmeticError, np.linalg.LinAlgError, MemoryError) as error:
        raise explain_failure(error, kernel, dim) from error


def explain_failure(error: Exception, kernel: Kernel | None = None, dim: int | None = None) -> PlayError:
    """Return what a model could not do as an error for whoever plays; one of its kernel names the points against it."""
    text = " ".join(str(error).split())
    verdict = kernel.certificate(dim=dim) if kernel is not None and "Refuted" in text else None
    if isinstance(verdict, Refuted):
        reason = verdict.reason.partition(", but")[0].replace("At these", "at some")
        return PlayError(
            f"{verdict.name} is not a kernel: {reason}. The certificate shows where. Change its parameters, or choose "
            "another kernel."
        )
    return PlayError(
        f"{text[:400].rstrip('.') or type(error).__name__}. Change the kernel, the settings or the points."
    )


def _check_enough(state: State) -> None:
    if state.n < 2:
        raise PlayError(f"a fit needs at least 2 points, and there {'is 1' if state.n else 'are none'}. Draw some.")
    if state.task == "classification" and state.learner != "pca" and len(np.unique(state.y)) < 2:
        raise PlayError("all points are of one class. Draw some of another.")


def _check_usable(state: State, model: Any) -> None:
    """Raise if a model was made that cannot say anything, now and not when it is drawn."""
    if state.learner == "parzen":
        model.predict(state.x)  # which a window below 0 is found at
    if state.learner == "import_vectors" and model.n_import_vectors_ == 0:
        raise PlayError("no point tells the classes apart with this kernel. Choose another kernel, or move points.")


def _find_notes(model: Any) -> list[str]:
    """Return what a model says of its own fit."""
    notes = []
    if getattr(model, "converged_", True) is False and hasattr(model, "duality_gap_"):
        notes.append(f"the fit stopped before it was exact: its duality gap is {model.duality_gap_.relative:.1e}")
    elif getattr(model, "converged_", True) is False and hasattr(model, "residual_"):
        notes.append(f"the fit is not exact to rounding (residual {model.residual_:.1e}); a larger penalty makes it so")
    return notes
