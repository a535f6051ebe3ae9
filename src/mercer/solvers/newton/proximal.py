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

from mercer.arrays import Array

from .method import NewtonMinimum, Space, State, evaluate, is_balanced, minimise

ROUNDS = 30
FALL = 0.1  # of the width, from one round to the next
RISE = 3.0  # of the width, after a round that did not end
EASY = 12  # Newton steps of a round after which the next may be sharper
INSIDE = 0.1  # of the tolerance, that rounds are solved to


def minimise_corners(
    space: Space, alpha: float, *, tol: float = 1e-6, max_iter: int = 100, start: State | None = None
) -> NewtonMinimum:
    """Minimise the penalised loss; ``max_iter`` bounds the Newton steps of one round."""
    state, steps = start or space.start(), 0
    slopes = 0.0 * space.loss.slopes(state.outputs)
    width = space.loss.reach(state.values)
    best: NewtonMinimum | None = None
    for _ in range(ROUNDS):
        rounded = space.judge_by(space.loss.smooth(width, slopes))
        inner = minimise(rounded, alpha, tol=INSIDE * tol, max_iter=max_iter, start=state)
        state, slopes, steps = inner.state, rounded.loss.slopes(inner.state.outputs), steps + inner.n_iter
        found = _certify(space, rounded, alpha, inner, slopes, tol)
        if best is None or found.gap <= best.gap:
            best = found
        if best.converged:
            break
        # Narrow corners make a round long, and a long round is one that has not kept up.
        width *= FALL if inner.n_iter <= EASY else 1.0 if inner.converged else RISE
    assert best is not None
    return replace(best, n_iter=steps)


def _certify(
    space: Space, rounded: Space, alpha: float, inner: NewtonMinimum, slopes: Array, tol: float
) -> NewtonMinimum:
    """Return the minimum of a round as one of the loss itself, with the gap to the dual value of the slopes."""
    state = inner.state
    objective = evaluate(space, alpha, state)
    residual, norm2 = rounded.residual(state, alpha)
    # ‖Σ Rᵢk(xᵢ, ·)‖² of R = r + 2αc.
    square = norm2 + 4 * alpha * (alpha * state.norm2 + space.inner(residual, state.coef, state.values))
    gap = objective - space.loss.bound(slopes) + square / (4 * alpha)
    gap = max(gap, 0.0) if is_balanced(rounded, state) else np.inf
    return replace(
        inner, objective=objective, size=max(objective - space.loss.least, 0.0), gap=gap, tolerance=tol, slopes=slopes
    )
