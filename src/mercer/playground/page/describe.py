"""What the page is told of a state: plain data, from which it makes its controls."""

from __future__ import annotations

import math
from typing import Any

from mercer.formula.notation.reading import show_mathml

from ..composing import read_kernel
from ..fitting import Fit
from ..learners import LEARNERS, Setting
from ..state import MOST_CLASSES, State
from ..views.certificate import Certificate
from ..views.leave_one_out import PenaltyCurve

MOST_LISTED = 300  # points that can be chosen by number


def describe_state(state: State) -> dict[str, Any]:
    """Return everything that controls show."""
    learner = LEARNERS[state.learner]
    return {
        "task": state.task,
        "count": state.n,
        "points": [[round(float(a), 4), round(float(b), 4)] for a, b in state.positions[:MOST_LISTED]],
        "classes": max(2, min(int(state.y.max(initial=0)) + 2, MOST_CLASSES)) if state.task == "classification" else 0,
        "kernel": state.kernel,
        "formula": show_kernel(state),
        "learner": state.learner,
        "learners": [[one.key, one.title] for one in LEARNERS.values() if state.task in one.tasks],
        "settings": [_describe_setting(one, state) for one in learner.list_settings(state.task)],
        "penalty": learner.penalty,
    }


def _describe_setting(setting: Setting, state: State) -> dict[str, Any]:
    return {
        "name": setting.name, "title": setting.title, "low": setting.low, "high": setting.top(state.n),
        "value": state.values[setting.name], "log": setting.log, "whole": setting.whole, "choices": setting.choices,
    }  # fmt: skip


def show_kernel(state: State) -> str:
    """Return the formula of the kernel as MathML, which the library writes and escapes."""
    return str(show_mathml(read_kernel(state.kernel, state.dim).mathematics()))


def describe_certificate(found: Certificate) -> dict[str, Any]:
    """Return the verdict, its headline and its reasons as HTML, which the library writes and escapes."""
    verdict: Any = found.verdict
    reasons = str(verdict._repr_html_())
    return {"kind": found.kind, "headline": verdict.headline(), "reasons": reasons, "drawn": found.points is not None}


def describe_curve(curve: PenaltyCurve | None, state: State) -> dict[str, Any]:
    """Return what is said below a curve of penalties, or why there is none."""
    learner = LEARNERS[state.learner]
    if curve is None and learner.penalty is None:
        return {"why": f"{learner.title} has no penalty to choose."}
    if curve is None:
        return {"why": f"Leaving out each of {state.n:,} points would take long here, or there are too few of them."}
    best = {"value": curve.best[0], "error": curve.best[1] if math.isfinite(curve.best[1]) else None}
    return {"name": curve.name, "way": curve.way, "error": curve.error_name, "best": best}


def warn_of_size(fit: Fit, many: int) -> str:
    """Return why pictures take longer with very many points; nothing with few."""
    n = fit.state.n
    if n <= many:
        return ""
    return (
        f"{n:,} points: pictures come later, because a fit looks at {n * n / 1e6:.0f} million pairs of points "
        f"(the last took {fit.seconds:.2g} s)."
    )
