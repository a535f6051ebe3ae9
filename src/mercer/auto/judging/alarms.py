"""What has to be looked at before anything else, most alarming first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mercer.words import count_things, shorten

from ..report import Report
from .leaks import judge_perfection, warn_of_leaks
from .targets import ReadTargets, describe_targets

MOST_COLUMNS = 5  # with stray cells that are named
MOST_CELLS = 3  # of each that are shown


def write_warnings(report: Report, leaks: Sequence[str] = (), targets: ReadTargets | None = None) -> tuple[str, ...]:
    """Return the warnings of a fit: leaks, scores that are too good, and cells and targets that were not used.

    Parameters
    ----------
    report : Report
        What else is known.
    leaks : sequence of str
        Columns that give the target away alone.
    targets : ReadTargets, optional
        What became of targets that are odd or missing; rows are named as they were before any were left out.

    Returns
    -------
    tuple of str
    """
    return tuple(_warn(report, leaks, targets))


def _warn(report: Report, leaks: Sequence[str], targets: ReadTargets | None) -> Iterator[str]:
    yield from warn_of_leaks(leaks, report.target)
    used = [column for column in report.columns if column.kind != "ignored"]
    if not leaks and len(report.scores) > 1 and len(used) > 1:
        ours, constant = (score.values[report.metric] for score in report.scores[:2])
        perfect = judge_perfection(report.metric, ours, constant, report.n_test, report.importances, report.target)
        if perfect is not None:
            yield perfect
    if targets is not None:
        yield from describe_targets(targets, report.target)
    stray = [column for column in report.columns if column.n_stray]
    for column in stray[:MOST_COLUMNS]:
        cells = [(row if targets is None else targets.kept[row], text) for row, text in column.stray[:MOST_CELLS]]
        shown = ", ".join(f"row {row} ({shorten(text, 24)!r})" for row, text in cells)
        more = f" and {count_things(column.n_stray - MOST_CELLS, 'other')}" if column.n_stray > MOST_CELLS else ""
        how_many = "1 cell that is" if column.n_stray == 1 else f"{column.n_stray:,} cells that are"
        kind = "numbers" if column.kind == "numeric" else "values"
        yield f"Column {column.name!r} has {how_many} not like its other {kind} and counted as missing: {shown}{more}."
    if len(stray) > MOST_COLUMNS:
        yield f"{count_things(len(stray) - MOST_COLUMNS, 'other column')} have such cells too."
