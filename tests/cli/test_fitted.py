"""A report on a terminal of 80 columns."""

from dataclasses import replace

import pytest

from mercer.auto import Candidate, Column, Importance, Report, RivalComparison, Score
from mercer.cli import _fitted


@pytest.fixture
def report():
    scores = (
        Score("mercer combination of 2 models", {"RMSE": 1234.5, "MAE": 900.0, "R²": 0.91}, 12.0),
        Score("mean", {"RMSE": 4000.0, "MAE": 3000.0, "R²": 0.0}, 0.0),
        Score("HistGradientBoosting", {"RMSE": 1300.0, "MAE": 950.0, "R²": 0.9}, 0.3),
    )
    candidates = (
        Candidate(
            "ridge in a learned metric", "Matern(nu=2.5, length_scale=[1.0, 2.0, 3.0, 4.0])", 1240.0, 4.0, True, "", 0.7
        ),
        Candidate("support vectors", "Gaussian(length_scale=2.0)", 1260.0, 2.0, True, "", 0.3),
        Candidate("ridge, linear", "Linear()", 2000.0, 0.1, False),
    )
    return Report(
        "regression", "price", 1000, 800, 200, (Column("area", "numeric", "standardised", 0, 9),), candidates, "RMSE",
        scores, "KernelRidge", "Matern()", "direct", "Proved: this is a kernel.", ("More rows.",), 14.0, None,
        tuple(Importance(f"column {j}" * (1 + 4 * (j == 2)), 900.0 / (1 + j), 12.5) for j in range(12)),
        RivalComparison("HistGradientBoosting", 65.5, 13.0, 130.0, 200),
        ("Column 'paid' alone gives 'price' away. Is it known before 'price' is? If not, leave it out.",),
    )  # fmt: skip


def test_everything_fits_eighty_columns_and_warnings_come_first(report, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    _fitted.show_report(report)
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert max(map(len, lines)) <= 80
    assert next(line for line in lines if line) == "!! Look at this first !!"
    words = " ".join(out.split())
    assert "Better than HistGradientBoosting by 5 % in RMSE (90 % interval: 1 to 10 %)." in words
    assert "… and 2 more columns, which matter less" in words
    weights = [line.split()[1] for line in lines if line.lstrip().startswith("→")]
    assert weights == ["70%", "30%"]
    bars = [line.count("█") for line in lines if "±" in line]
    assert bars[0] == 20
    assert bars == sorted(bars, reverse=True)


def test_a_model_alone_has_an_arrow_and_no_weight(report, capsys):
    alone = (replace(report.candidates[0], weight=1.0), *(replace(c, chosen=False) for c in report.candidates[1:]))
    _fitted.show_candidates(replace(report, candidates=alone))
    out = capsys.readouterr().out
    assert "weight" not in out
    assert out.count("→") == 1


def test_what_there_is_not_is_not_shown(report, capsys):
    bare = replace(report, importances=(), comparison=None, warnings=())
    for show in (_fitted.show_warnings, _fitted.show_importances):
        show(bare)
    assert capsys.readouterr().out == ""


def test_formulas_with_hundreds_of_numbers_are_counted_and_not_shown(report, capsys, monkeypatch):
    places = list(range(100, 300))
    scales = "[" + ", ".join("[" + ", ".join("0.25" for _ in range(40)) + "]" for _ in range(40)) + "]"
    formula = f"(Gaussian(length_scale=1.0).on({places}) * Linear()).after(LinearMap({scales}))"
    long = replace(report, kernel=formula, candidates=(replace(report.candidates[0], kernel=formula),))
    for width in ("80", "120"):
        monkeypatch.setenv("COLUMNS", width)
        _fitted.show_report(long)
        out = capsys.readouterr().out
        assert max(map(len, out.splitlines())) <= int(width)
        assert "299" not in out
        assert "0.25" not in out
        words = " ".join(out.split())
        assert "(Gaussian().on(200 columns) * Linear()).after(LinearMap(40 × 40))" in words


def test_what_is_of_the_heaviest_part_says_so(report, capsys):
    _fitted.show_choice(report)
    assert "Its heaviest part: ridge in a learned metric" in capsys.readouterr().out
    _fitted.show_choice(replace(report, candidates=report.candidates[2:]))
    assert "heaviest" not in capsys.readouterr().out
