"""What the page is told of a state: plain data, from which it makes its controls."""

from __future__ import annotations

import html
from typing import Any

from ..composing import read_kernel
from ..learners import LEARNERS, Setting
from ..state import MOST_CLASSES, State
from .history import History

MOST_LISTED = 300  # points that can be chosen by number


def describe_state(state: State, history: History) -> dict[str, Any]:
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
        "undo": history.can_undo,
        "redo": history.can_redo,
    }


def _describe_setting(setting: Setting, state: State) -> dict[str, Any]:
    return {
        "name": setting.name, "title": setting.title, "low": setting.low, "high": setting.top(state.n),
        "value": state.values[setting.name], "log": setting.log, "whole": setting.whole, "choices": setting.choices,
    }  # fmt: skip


def show_kernel(state: State) -> str:
    """Return the formula of the kernel as HTML."""
    kernel: Any = read_kernel(state.kernel)
    return kernel._repr_html_() if hasattr(kernel, "_repr_html_") else f"<code>{html.escape(repr(kernel))}</code>"


def describe_certificate(found: Any, state: State) -> dict[str, Any]:
    """Return the verdict, its headline and its reasons as HTML."""
    verdict = found.verdict
    written = getattr(verdict, "_repr_html_", None)
    reasons = written() if written else f"<pre>{html.escape(verdict.explain())}</pre>"
    drawn = getattr(found, "points", None) is not None
    return {"kind": type(verdict).__name__.lower(), "headline": verdict.headline(), "reasons": reasons, "drawn": drawn}
