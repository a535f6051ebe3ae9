"""The result in one sentence, whichever way it went."""

from dataclasses import replace

import pytest

from mercer.auto.judging.comparison import write_comparison
from mercer.auto.report import Report, RivalComparison, Score
from mercer.report._words import find_best_baseline, find_own_score, write_headline


def report_of(metric, own, **others):
    scores = (Score("mean", {metric: others.pop("mean")}, 0.0),) if "mean" in others else ()
    scores += (Score("mercer SVC", {metric: own}, 1.0),)
    scores += tuple(Score(name, {metric: value}, 1.0) for name, value in others.items())
    return Report("regression", "y", 200, 46, 154, (), (), metric, scores, "", "", "", "", (), 2.0, None)


@pytest.mark.parametrize(
    ("report", "words"),
    [
        (report_of("RMSE", 0.41, mean=2.0, Trees=0.66), "RMSE 0.41 on 154 held-out rows: 38 % below Trees."),
        (report_of("RMSE", 0.5, mean=2.0, Trees=0.4),
         "RMSE 0.5 on 154 held-out rows: 25 % above Trees, which is better here."),
        (report_of("RMSE", 2.5, mean=2.0, Trees=3.0),
         "RMSE 2.5 on 154 held-out rows: 25 % above mean, which is better here."),
        (report_of("RMSE", 0.998, Trees=1.0), "RMSE 0.998 on 154 held-out rows: 0.2 % below Trees."),
        (report_of("accuracy", 0.93, mean=0.5, Trees=0.9),
         "Accuracy 0.93 on 154 held-out rows: 0.03 above Trees."),
        (report_of("accuracy", 0.71, Trees=0.75),
         "Accuracy 0.71 on 154 held-out rows: 0.04 below Trees, which is better here."),
        (report_of("accuracy", 0.75, Trees=0.75), "Accuracy 0.75 on 154 held-out rows: as good as Trees."),
        (report_of("accuracy", 0.75), "Accuracy 0.75 on 154 held-out rows."),
        (report_of("RMSE", 12345.6, Trees=24691.2), "RMSE 12,346 on 154 held-out rows: 50 % below Trees."),
        (report_of("RMSE", float("nan"), Trees=1.0),
         "Fitted to 200 rows; none were held out, so there is no score."),
    ],
    ids=range(10),
)  # fmt: skip
def test_the_headline_says_what_came_out(report, words):
    assert write_headline(report) == words


def test_without_held_out_rows_there_is_no_score():
    report = replace(report_of("RMSE", 1.0), scores=())
    assert find_own_score(report) is None
    assert find_best_baseline(report) is None
    assert write_headline(report) == "Fitted to 200 rows; none were held out, so there is no score."


def test_few_rows_show_no_difference_however_large_it_is():
    report = replace(report_of("RMSE", 1.0, Trees=3.0), n_test=12)
    few, many = (replace(report, comparison=RivalComparison("Trees", 2.0, 1.5, 2.5, n)) for n in (12, 154))
    assert "no difference from Trees that these rows could show" in write_headline(few)
    assert write_comparison(few).startswith("12 rows held out cannot tell whether Trees is better")
    assert "67 % below Trees" in write_headline(many)


def test_percent_are_said_only_of_what_is_less_than_the_score_of_the_rival():
    report = report_of("log-loss", 0.0421, majority=0.676, Trees=2e-5)
    report = replace(report, comparison=RivalComparison("Trees", -0.0421, -0.119, -0.00128, 154))
    words = "0.0421 above Trees (90 % interval: 0.00128 to 0.119), which is better here"
    assert write_headline(report) == f"Log-loss 0.0421 on 154 held-out rows: {words}."
