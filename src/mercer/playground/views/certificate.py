"""Whether what was composed is a kernel: the proof, or points that anyone can check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mercer.certify import Proved, Refuted, Verdict

from ..composing import read_kernel
from ..fitting import guard
from ..state import State


@dataclass(frozen=True, eq=False)
class Certificate:
    """A verdict, and where it can be seen.

    Parameters
    ----------
    verdict : Verdict
        Proved, Refuted or Unknown.
    kind : {"proved", "refuted", "unknown"}
        Which.
    text : str
        The proof, the points or what was tried, to read.
    points : array of shape (m, 2), optional
        Of a refutation, where the points are in the picture; those of one input are at half of its height.
    coefficients : array of shape (m,), optional
        The numbers aᵢ with Σ aᵢaⱼ k(xᵢ, xⱼ) < 0.
    """

    verdict: Verdict
    kind: str
    text: str
    points: np.ndarray | None
    coefficients: np.ndarray | None


def certify_state(state: State, stop: Callable[[], bool] = lambda: False) -> Certificate | None:
    """Return the verdict on the kernel of a state, for as many inputs as its points have.

    Parameters
    ----------
    state : State
        What is looked at.
    stop : function, optional
        Asked before and after the search, which takes a few seconds at most.

    Returns
    -------
    Certificate or None
        None if somebody stopped it.

    Examples
    --------
    >>> from mercer.playground.presets import PRESETS
    >>> from mercer.playground.views.certificate import certify_state
    >>> state = PRESETS["moons"].make()
    >>> certify_state(state).kind, certify_state(state.with_kernel("Sigmoid()")).points.shape
    ('proved', (2, 2))
    """
    if stop():
        return None
    with guard():
        verdict = read_kernel(state.kernel, state.dim).certificate(dim=state.dim)
    if stop():
        return None
    if isinstance(verdict, Refuted):
        points = np.asarray(verdict.points, dtype=np.float64).reshape(-1, state.dim)
        if state.dim == 1:
            points = np.column_stack([points[:, 0], np.full(len(points), (state.view[2] + state.view[3]) / 2)])
        return Certificate(verdict, "refuted", verdict.explain(), points, np.asarray(verdict.coefficients))
    kind = "proved" if isinstance(verdict, Proved) else "unknown"
    return Certificate(verdict, kind, verdict.explain(), None, None)
