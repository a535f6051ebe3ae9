"""How far points are from what is said of them: residuals, or margins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..fitting import Fit, guard
from ..limits import PlayError
from .surface import score_classes

MOST = 1500  # points up to which leaving each out is quick


@dataclass(frozen=True, eq=False)
class Residuals:
    """What is left of the targets, or how clearly points are on their side.

    Parameters
    ----------
    fitted : array of shape (n,), optional
        Fitted values, of a regression.
    residuals : array of shape (n,), optional
        Targets minus these.
    left_out : array of shape (n,), optional
        Targets minus what the model says of each point without it; None where that is not cheap.
    margins : array of shape (n,), optional
        y·f of each point in increasing order, of a classification: negative where the class is wrong.  For more than
        two classes it is the lead of the true one.
    order : int array of shape (n,)
        Which point each entry belongs to.
    """

    fitted: np.ndarray | None
    residuals: np.ndarray | None
    left_out: np.ndarray | None
    margins: np.ndarray | None
    order: np.ndarray


def draw_residuals(fit: Fit) -> Residuals:
    """Return residuals of a regression, or sorted margins of a classification.

    Examples
    --------
    >>> from mercer.playground.fitting import fit_state
    >>> from mercer.playground.presets import PRESETS
    >>> from mercer.playground.views.residuals import draw_residuals
    >>> found = draw_residuals(fit_state(PRESETS["three"].make()))
    >>> bool((abs(found.left_out) > abs(found.residuals)).all())
    True
    """
    state = fit.state
    if state.learner == "pca":
        raise PlayError("principal components predict nothing, so that nothing is left over. Choose another learner.")
    with guard(fit.kernel, state.dim):
        if state.task == "regression":
            fitted = np.asarray(fit.model.predict(state.x), dtype=np.float64)
            left_out = leave_out(fit)
            left = None if left_out is None else state.y - left_out
            return Residuals(fitted, state.y - fitted, left, None, np.arange(state.n))
        _, scores = score_classes(fit, state.x)
    margins = find_margins(fit, scores)
    order = np.argsort(margins, kind="stable")
    return Residuals(None, None, None, margins[order], order)


def find_margins(fit: Fit, scores: np.ndarray) -> np.ndarray:
    """Return y·f of two classes, and for more the score of the true one less the best of the others."""
    codes = np.searchsorted(fit.model.classes_, fit.state.y)
    if scores.ndim == 1:
        return np.where(codes == 1, scores, -scores)
    rows = np.arange(len(codes))
    others = scores.copy()
    others[rows, codes] = -np.inf
    return np.asarray(scores[rows, codes] - others.max(axis=1))


def leave_out(fit: Fit) -> np.ndarray | None:
    """Return what ridge says of each point without it, exactly; None for other learners and very many points."""
    model = getattr(fit.model, "regressor_", fit.model)
    if fit.state.learner != "ridge" or not 3 <= fit.state.n <= MOST:  # others take a moment, as their curve does
        return None
    values = np.asarray(model.leave_one_out(), dtype=np.float64)
    return values if np.isfinite(values).all() else None
