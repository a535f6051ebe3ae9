"""What a fit says of itself, as a list of numbers with their meanings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..fitting import Fit, guard
from .residuals import find_margins, leave_out
from .spectrum import draw_spectrum
from .surface import find_vectors, score_classes

MOST = 400  # points up to which a spectrum is computed for one number


@dataclass(frozen=True)
class Quantity:
    """A number with its meaning.

    Parameters
    ----------
    name, text, meaning : str
        What it is called, its value as people read it, and what it says.
    """

    name: str
    text: str
    meaning: str


def list_numbers(fit: Fit) -> list[Quantity]:
    """Return what is known of a fit: objective, evidence, degrees of freedom, errors, vectors and effort.

    Examples
    --------
    >>> from mercer.playground.fitting import fit_state
    >>> from mercer.playground.presets import PRESETS
    >>> from mercer.playground.views.numbers import list_numbers
    >>> [found.name for found in list_numbers(fit_state(PRESETS["three"].make()))][:3]
    ['loss', 'penalty', 'residual']
    """
    with guard(fit.kernel, fit.state.dim):
        return [*_list_evidence(fit), *_list_errors(fit), *_list_effort(fit)]


def _list_evidence(fit: Fit) -> list[Quantity]:
    model, found = fit.model, []
    objective: Any = getattr(model, "objective_", None)
    if objective is not None:
        found += [
            Quantity("loss", show(objective.loss), "the part of what was minimised that the points make"),
            Quantity("penalty", show(objective.penalty), "the part that the norm of f makes"),
        ]
    if hasattr(model, "residual_"):
        meaning = "how exactly the equations were solved: 0 is to rounding"
        found.append(Quantity("residual", show(float(model.residual_)), meaning))
    gap: Any = getattr(model, "duality_gap_", None)
    if gap is not None:
        gap = max(np.atleast_1d([each.relative for each in (gap if isinstance(gap, list | tuple) else [gap])]))
        found.append(Quantity("duality gap", show(float(gap)), "by how much the minimum could be lower, relatively"))
    if fit.state.learner == "ridge" and fit.state.n <= MOST:
        freedom = draw_spectrum(fit).degrees_of_freedom
        if freedom is not None:
            meaning = "of the n points, how many the function follows freely"
            found.append(Quantity("degrees of freedom", f"{freedom:.1f} of {fit.state.n}", meaning))
    if fit.state.learner == "pca":
        meaning = "the variance of the features along the component"
        found.append(Quantity("eigenvalue", show(float(model.eigenvalues_[-1])), meaning))
    return found


def _list_errors(fit: Fit) -> list[Quantity]:
    state = fit.state
    if state.learner == "pca":
        return []
    left_out = leave_out(fit)
    if state.task == "regression":
        error = _root(state.y - np.asarray(fit.model.predict(state.x)))
        found = [Quantity("training error", show(error), "root of the mean squared residual")]
        if left_out is not None:
            meaning = "the same of each point under the fit without it, exactly"
            found.append(Quantity("leave-one-out error", show(_root(state.y - left_out)), meaning))
        return found
    codes, _ = score_classes(fit, state.x)
    wrong = int((codes != state.y).sum())
    found = [Quantity("training error", f"{wrong} of {state.n}", "points whose class is wrong")]
    if left_out is not None:
        wrong = int((find_margins(fit, left_out) <= 0).sum())
        meaning = "points whose class is wrong under the fit without them, exactly"
        found.append(Quantity("leave-one-out error", f"{wrong} of {state.n}", meaning))
    return found


def _list_effort(fit: Fit) -> list[Quantity]:
    found = []
    vectors, label = find_vectors(fit)
    if label:
        found.append(Quantity(label, f"{len(vectors)} of {fit.state.n}", "the points that f is made of"))
    if hasattr(fit.model, "n_mistakes_"):
        found.append(Quantity("mistakes made", str(fit.model.n_mistakes_), "steps at which the perceptron changed"))
    steps = np.sum(getattr(fit.model, "n_iter_", 0))
    if steps and fit.state.learner != "perceptron":
        found.append(Quantity("iterations", str(int(steps)), "steps of the solver"))
    found.append(Quantity("time", f"{1e3 * fit.seconds:.1f} ms", "of the last fit"))
    return found


def _root(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))


def show(value: float) -> str:
    """Return a number in few digits.

    Examples
    --------
    >>> from mercer.playground.views.numbers import show
    >>> show(0.123456), show(1.2e-9), show(1234.5)
    ('0.123', '1.2e-09', '1230')
    """
    small = value != 0 and abs(value) < 1e-3
    return f"{value:.1e}" if small or abs(value) >= 1e5 else f"{float(f'{value:.3g}'):g}"
