"""Warnings come from what is known, most alarming first."""

from dataclasses import replace

import pytest

from mercer.auto import Column, Importance, Report, Score
from mercer.auto.judging.alarms import write_warnings
from mercer.auto.judging.targets import read_targets

COLUMNS = (Column("area", "numeric", "", 0, 9), Column("paid", "numeric", "", 0, 9))


@pytest.fixture
def report():
    scores = (Score("mercer", {"RMSE": 0.5}, 0.0), Score("mean", {"RMSE": 1.0}, 0.0))
    return Report("regression", "price", 90, 60, 30, COLUMNS, (), "RMSE", scores, "", "", "", "", (), 0.0, None)


def test_there_is_nothing_to_warn_of(report):
    assert write_warnings(report) == ()
    assert write_warnings(replace(report, scores=())) == ()


def test_a_leak_comes_first_and_explains_a_perfect_score(report):
    perfect = replace(report, scores=(Score("mercer", {"RMSE": 0.001}, 0.0), report.scores[1]))
    targets = read_targets([1.0, None], "regression")
    found = write_warnings(perfect, ["paid"], targets)
    assert "'paid' alone gives 'price' away" in found[0]
    assert "is missing there: row 1" in found[1]
    assert len(found) == 2


def test_a_perfect_score_alone_names_what_matters(report):
    perfect = replace(report, scores=(Score("mercer", {"RMSE": 0.001}, 0.0), report.scores[1]))
    (sentence,) = write_warnings(replace(perfect, importances=(Importance("paid", 1.0, 0.01),)))
    assert "almost perfectly" in sentence
    assert "'paid'" in sentence
    assert write_warnings(replace(perfect, columns=COLUMNS[:1])) == ()  # the target of a table of one column is simple


def test_stray_cells_are_named_by_column_and_row(report):
    stray = Column("area", "numeric", "", 4, 9, ((3, "big"), (8, "?!"), (9, "x"), (11, "y")), 4)
    (sentence,) = write_warnings(replace(report, columns=(stray, COLUMNS[1])))
    assert sentence == (
        "Column 'area' has 4 cells that are not like its other numbers and counted as missing: row 3 ('big'), "
        "row 8 ('?!'), row 9 ('x') and 1 other."
    )
    shifted = write_warnings(replace(report, columns=(stray,)), (), read_targets([None, *range(30)], "regression"))
    assert "row 4 ('big')" in shifted[1]  # a row before it has no target
    many = write_warnings(replace(report, columns=(stray,) * 7))
    assert len(many) == 6
    assert many[-1] == "2 other columns have such cells too."
