"""Which method made an interval, why, and what it promises."""

from __future__ import annotations

from dataclasses import dataclass

from mercer.markup import show_card, show_text

ALIKE = "if points are exchangeable"


@dataclass(frozen=True)
class IntervalPlan:
    """How intervals were made.

    Parameters
    ----------
    method : {"jackknife+", "cv+", "full", "quantile", "local", "split"}
        What made them.
    reason : str
        Why this one, in one sentence.
    guarantee : str
        What it promises of new targets, in words.
    coverage : float
        What was asked for.
    points : int
        How many points with known targets the ends come from.
    folds : int
        How many models were fitted again, each without some points; 0 if none.

    Examples
    --------
    >>> print(IntervalPlan("full", "it was asked for", promise("full", 0.9, 50), 0.9, 50))
    full, because it was asked for: holds at least 90 % of new targets, if points are exchangeable
    """

    method: str
    reason: str
    guarantee: str
    coverage: float
    points: int
    folds: int = 0

    def __str__(self) -> str:
        return f"{self.method}, because {self.reason}: {self.guarantee}"

    def _repr_html_(self) -> str:
        """Return the method, the reason and the promise, for a notebook."""
        return show_card(f"Intervals: {self.method}", show_text(f"because {self.reason}"), show_text(self.guarantee))


def promise(method: str, coverage: float, points: int, folds: int = 0) -> str:
    """Return what a method promises, in words.

    Examples
    --------
    >>> promise("jackknife+", 0.9, 200)
    'holds at least 80 % of new targets, if points are exchangeable, and about 90 % in practice'
    >>> promise("cv+", 0.9, 200, 10)
    'holds at least 71.4 % of new targets, if points are exchangeable, and about 90 % in practice'
    """
    if method in ("full", "split"):
        return f"holds at least {_percent(coverage)} of new targets, {ALIKE}"
    least = 2.0 * coverage - 1.0
    if folds and folds < points:
        size = points / folds
        least -= min(2.0 * (1.0 - 1.0 / folds) / (size + 1.0), (1.0 - folds / points) / (folds + 1.0))
    worst = f"at least {_percent(least)} of new targets, {ALIKE}, and " if least > 0 else ""
    unsure = "" if least > 0 else " (with so few points, or so little coverage, nothing is promised)"
    return f"holds {worst}about {_percent(coverage)} in practice{unsure}"


def _percent(share: float) -> str:
    return f"{100.0 * share:.3g} %"
