"""The proximal method for losses with corners: Newton's method on rounded losses, around slopes that get better.

Each round minimises Σ wᵢ Mᵢ(f(xᵢ) + b + hsᵢ) + α‖f‖², where M is the loss with corners rounded off over a width h, and
s are the slopes found so far (Moreau's envelope, and the multipliers of an augmented Lagrangian).  The slopes of M at
its minimum are the next s.  They are slopes of the loss itself at nearby outputs, so that R = −ws is a point of the
dual: primal minus dual value bounds the error, and is computed as it stands.  Rounds with the exact slopes are exact at
any width; h falls all the same, because that is quicker.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .method import NewtonMinimum, Space, State, evaluate, is_balanced, minimise

ROUNDS = 30
FALL = 0.1  # of the width, from one round to the next, at most
RISE = 3.0  # of the width, after a round that did not end
EASY = 12  # Newton steps of a round after which the next may be sharper
INSIDE = 0.1  # of the gap that rounded corners are expected to leave, or of the tolerance, that rounds are solved to
LESS = 8.0  # times the gap over some rows is to be expected over all, which are not fitted as well


def minimise_corners(
    space: Space, alpha: float, *, tol: float = 1e-6, max_iter: int = 100, most: int | None = None,
    start: State | None = None, rough: NewtonMinimum | None = None,
) -> NewtonMinimum:  # fmt: skip
    """Minimise the penalised loss, from a function if there is one.

    ``max_iter`` bounds the Newton steps of one round, ``most`` those of all rounds; ``rough`` is what was found over
    some of the rows, if the function is their minimum.
    """
    state, steps, expected = start or space.start(), 0, 1.0
    slopes = 0.0 * space.loss.slopes(state.outputs)
    width = space.loss.reach(state.values)
    if rough is not None:
        slopes = space.loss.smooth(rough.width, slopes).slopes(state.outputs)
        width, expected = _sharpen(rough.width, LESS * _compare(rough), tol)
    best: NewtonMinimum | None = None
    for _ in range(ROUNDS):
        rounded = space.judge_by(space.loss.smooth(width, slopes))
        limit = max_iter if most is None else min(max_iter, most - steps)
        inner = minimise(rounded, alpha, tol=INSIDE * max(tol, expected), max_iter=limit, start=state)
        state, slopes, steps = inner.state, rounded.loss.slopes(inner.state.outputs), steps + inner.n_iter
        found = _certify(space, rounded, alpha, replace(inner, slopes=slopes, width=width), tol)
        if best is None or found.gap <= best.gap:
            best = found
        if best.converged or steps == most:
            break
        # Narrow corners make a round long, and a long round is one that has not kept up.
        if inner.n_iter <= EASY:
            width, expected = _sharpen(width, _compare(found), tol)
        elif not inner.converged:
            width *= RISE
    assert best is not None
    return replace(best, n_iter=steps)


def _sharpen(width: float, gap: float, tol: float) -> tuple[float, float]:
    """Return the width of the next round, and the relative gap that it may leave.

    Few slopes are between those of both sides of their corner, as many as the width is wide, and each of them adds as
    much to the gap: that falls with the square of the width.
    """
    fall = float(np.sqrt(tol / gap).clip(FALL, 1.0)) if gap > 0 else 1.0
    return fall * width, min(fall**2 * gap, 1.0)


def _compare(found: NewtonMinimum) -> float:
    """Return the gap relative to the size."""
    return found.gap / found.size if found.size > 0 else np.inf


def _certify(space: Space, rounded: Space, alpha: float, inner: NewtonMinimum, tol: float) -> NewtonMinimum:
    """Return the minimum of a round as one of the loss itself, with the gap to the dual value of the slopes."""
    state = inner.state
    objective = evaluate(space, alpha, state)
    residual, norm2 = rounded.residual(state, alpha)
    # ‖Σ Rᵢk(xᵢ, ·)‖² of R = r + 2αc.
    square = norm2 + 4 * alpha * (alpha * state.norm2 + space.inner(residual, state.coef, state.values))
    gap = objective - space.loss.bound(inner.slopes) + square / (4 * alpha)
    gap = max(gap, 0.0) if is_balanced(rounded, state) else np.inf
    return replace(inner, objective=objective, size=max(objective - space.loss.least, 0.0), gap=gap, tolerance=tol)
