"""What to try next, from what was seen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mercer.kernels import Kernel
from mercer.learning.length_scales import is_length_scale
from mercer.words import count_things, show_budget

from ..report import ENOUGH, Report
from ..tables.encoder import TableEncoder
from .baselines import BOOSTING
from .comparison import describe_comparison

FEW_ROWS = 100
MOST_NAMES = 8  # columns that a sentence lists
CLEARLY = 1.645  # standard errors of a score that 95 of 100 lie below
NOTHING = 0.002  # share of the score that a column which matters costs at least
IRRELEVANT = 30.0  # times the spread of a column: with such a length scale it hardly matters


@dataclass(frozen=True)
class Findings:
    """What advice is made of, beside the report."""

    validation: float  # what the model scored on training rows left out
    encoder: TableEncoder
    kernel: Kernel
    skipped: list[str]  # candidates that were not tried for want of time
    spent: float  # seconds that the others took
    shares: np.ndarray  # of the classes; empty for regression
    notes: list[str]  # about the last fit


def write_advice(report: Report, found: Findings) -> tuple[str, ...]:
    """Return what to try next, most important first."""
    sentences = [*_judge(report, found), *found.notes]
    if report.warnings:
        sentences.insert(0, "Look at the warnings before anything else.")
    return tuple(
        sentences
        or ["Nothing stands out. More rows, or columns that say more about the target, are what would help most."]
    )


def _judge(report: Report, found: Findings) -> Iterator[str]:
    yield from _judge_scores(report, found)
    if found.skipped:
        names, enough = _list_candidates(found.skipped), show_budget(3 * found.spent + 1)
        yield f"Not tried for want of time: {names}. A budget of about {enough} would allow them."
    if report.n_train < FEW_ROWS and (not report.scores or report.n_test >= ENOUGH):  # else it was said already
        yield f"Only {report.n_train} rows to learn from: scores are rough, and more rows would help most."
    weak = find_unimportant(report) if report.importances else find_irrelevant(found.encoder, found.kernel)
    if weak:
        yield f"These columns hardly matter and could be left out: {_list_names(weak)}."
    total = max(1, report.n_train)
    gaps = [column.name for column in report.columns if column.kind != "ignored" and column.missing > 0.5 * total]
    if gaps:
        yield f"More than half of the values are missing in: {_list_names(gaps)}. Is there a better source?"
    if len(found.shares) and found.shares.min() < 0.05:
        yield (
            f"The rarest class has {found.shares.min():.1%} of the rows: accuracy says little about it. Look at "
            "predict_proba, and choose a threshold by what errors cost."
        )


def _judge_scores(report: Report, found: Findings) -> Iterator[str]:
    if not report.scores:
        yield "No rows were held out, so the validation score, which models were chosen by, is slightly optimistic."
        return
    if report.n_test < ENOUGH:
        yield f"Only {report.n_test} rows were held out, too few to judge the model by: more rows would help most."
        return

    def lack(value: float) -> float:
        return value if report.lower_is_better else 1.0 - value

    ours, constant, boosting = (lack(score.values[report.metric]) for score in report.scores[:3])
    if ours >= 0.98 * constant:
        what = report.scores[1].name
        yield f"The model is hardly better than the {what} of the target: these columns say little about it."
    compared = report.comparison
    if boosting < 0.95 * ours if compared is None else compared.high < 0:
        how = ""
        if compared is not None:
            how = f" (the model is {describe_comparison(compared, boosting, report.metric)})"
        yield (
            f"{BOOSTING} is better here{how}. Try a larger budget, more rows, other columns (differences, ratios), or "
            "use it instead."
        )
    left_out, error = lack(found.validation), report.scores[0].error
    if (
        ours - CLEARLY * np.nan_to_num(error) > 1.5 * left_out + 0.02 * (report.task == "classification")
        and report.n_train >= FEW_ROWS
    ):
        yield (
            "Rows held out are predicted clearly worse than training rows left out one at a time or in folds: is there "
            "a time, a place or a group that rows share? Then split by it."
        )


def find_unimportant(report: Report) -> list[str]:
    """Return the columns that cost the model next to nothing when their values are permuted, for sure."""
    if report.n_test < FEW_ROWS or not report.scores:
        return []
    little = NOTHING * abs(report.scores[0].values[report.metric])
    return [each.name for each in report.importances if each.value + 2 * each.error < little]


def _list_candidates(names: list[str]) -> str:
    """Return names of candidates, what they share once.

    Examples
    --------
    >>> _list_candidates(["ridge, smooth", "ridge, linear", "ridge on logarithms"])
    'ridge (smooth, linear), ridge on logarithms'
    """
    groups: dict[str, list[str]] = {}
    for name in names:
        noun, *family = name.split(", ", 1)
        groups.setdefault(noun, []).extend(family)
    return ", ".join(f"{noun} ({', '.join(families)})" if families else noun for noun, families in groups.items())


def _list_names(names: list[str]) -> str:
    rest = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {count_things(rest, 'other')}" if rest > 0 else "")


def find_irrelevant(encoder: TableEncoder, kernel: Kernel) -> list[str]:
    """Return the columns whose length scale is so long that the kernel hardly depends on them."""
    names = encoder.names("numeric")
    scales = [value for name, value in kernel.hyperparameters().items() if is_length_scale(name)]
    if len(scales) != len(names) or len(scales) < 2:
        return []
    return [name for name, scale in zip(names, scales, strict=True) if scale > IRRELEVANT * np.sqrt(len(names))]
