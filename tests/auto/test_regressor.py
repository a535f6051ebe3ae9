"""AutoRegressor understands tables, chooses well, reports honestly and keeps scikit-learn's conventions."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import root_mean_squared_error
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import AutoRegressor
from mercer.auto import fitting
from mercer.auto.search import members
from mercer.auto.search._regression import RegressionSearch
from mercer.auto.search.base import STATISTICS
from mercer.kernels import Gaussian, Linear, Overlap

REORDERED = {"check_dataframe_column_names_consistency": "columns are found by name, whatever their order"}


@pytest.fixture(scope="module")
def smooth():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(-2, 2, size=(120, 3)), columns=["a", "b", "noise"])
    y = pd.Series(np.sin(2 * X["a"]) + X["b"] ** 2 + 0.05 * rng.normal(size=120), name="height")
    return X, y


@pytest.fixture(scope="module")
def fitted(smooth):
    return AutoRegressor(random_state=0).fit(*smooth)


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(1)
    n = 80
    X = pd.DataFrame(
        {
            "size": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "colour": rng.choice(["red", "green", "blue"], size=n),
            "id": np.arange(n),
        }
    )
    y = X["size"].fillna(1.0) + 2.0 * (X["colour"] == "red") + 0.1 * rng.normal(size=n)
    return X, y


@parametrize_with_checks(
    [AutoRegressor("ridge", kernel=Gaussian(), test=None), AutoRegressor("parzen", random_state=0)],
    expected_failed_checks=lambda estimator: REORDERED,
)
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


def test_a_smooth_target_is_predicted_better_than_by_boosting(fitted):
    ours, mean, boosting = (score.values["RMSE"] for score in fitted.report_.scores)
    assert ours < boosting < mean


def test_the_report_tells_what_was_done(fitted, smooth):
    report = fitted.report_
    assert (report.task, report.target, report.metric) == ("regression", "height", "RMSE")
    assert (report.n_rows, report.n_train, report.n_test) == (120, 96, 24)
    assert [column.name for column in report.columns] == ["a", "b", "noise"]
    assert sum(candidate.chosen for candidate in report.candidates) == len(fitted.members_)
    assert all(type(member.estimator).__name__ in report.model for member in fitted.members_)
    assert report.kernel == repr(fitted.kernel_)
    assert "Proved" in report.certificate
    assert " because " in report.plan
    assert report.advice
    assert len(report.held_out.truth) == 24


def test_the_report_tells_how_columns_are_spread_and_what_predictions_make_of_them(fitted, smooth):
    report, (X, _) = fitted.report_, smooth
    assert [found.name for found in report.distributions] == ["a", "b", "noise"]
    assert report.target_distribution.name == "height"
    assert report.when.endswith("UTC")
    curves = {found.name: found for found in report.dependences}
    assert {"a", "b"} <= set(curves)
    grid, values = np.array(curves["b"].grid), np.array(curves["b"].values[0])
    assert np.corrcoef(values, grid**2)[0, 1] > 0.99
    assert X["b"].min() <= grid[0] < grid[-1] <= X["b"].max()
    assert report.scores[0].error > 0
    assert report.calibration is None


def test_candidates_are_ordered_by_the_score_that_is_reported(fitted):
    report = fitted.report_
    scores = [candidate.score for candidate in report.candidates]
    assert scores == sorted(scores)
    assert report.metric in report.scores[0].values
    assert all(candidate.chosen == (candidate.weight > 0) for candidate in report.candidates)
    assert sum(candidate.weight for candidate in report.candidates) == pytest.approx(1.0)


def test_the_best_validation_score_wins_where_nothing_is_combined(smooth, thresholds_only, monkeypatch):
    monkeypatch.setattr(fitting, "MOST_MEMBERS", (1, 1))
    X, y = smooth
    report = AutoRegressor("ridge", random_state=0).fit(X.iloc[:60], y.iloc[:60]).report_
    assert [candidate.chosen for candidate in report.candidates] == [True] + [False] * (len(report.candidates) - 1)


def test_predictions_are_the_weighted_sum_of_the_members(combined, mixed):
    model = AutoRegressor("ridge", random_state=0).fit(*mixed)
    weights = [member.weight for member in model.members_]
    assert weights == [0.75, 0.25]  # heaviest first
    assert model.report_.model.count("KernelRidge") == 2
    parts = [member.estimator.predict(member.encoder.transform(mixed[0])) for member in model.members_]
    np.testing.assert_allclose(model.predict(mixed[0]), np.dot(weights, parts), rtol=1e-12)
    shown = {candidate.name: candidate.weight for candidate in model.report_.candidates if candidate.chosen}
    assert shown == {member.name: member.weight for member in model.members_}
    errors = np.sort(np.abs(model.report_.held_out.truth - model.report_.held_out.prediction))
    low, high = model.predict_interval(mixed[0], 0.5).T
    np.testing.assert_allclose((high - low) / 2, errors[int(np.ceil(0.5 * (len(errors) + 1))) - 1])


def test_scores_are_those_of_the_predictions_held_out(fitted):
    held, score = fitted.report_.held_out, fitted.report_.scores[0]
    assert score.values["RMSE"] == pytest.approx(root_mean_squared_error(held.truth, held.prediction))


def test_the_held_out_rows_take_no_part_in_anything_before(smooth):
    X, y = smooth
    model = AutoRegressor("ridge", kernel=Gaussian(), random_state=0, refit=False).fit(X, y)
    truth = model.report_.held_out.truth
    held = np.isin(y.to_numpy(), truth)
    changed = y.to_numpy().copy()
    changed[held] += 100.0
    again = AutoRegressor("ridge", kernel=Gaussian(), random_state=0, refit=False).fit(X, changed)
    np.testing.assert_array_equal(again.report_.held_out.prediction, model.report_.held_out.prediction)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_refitting_uses_all_rows(smooth):
    X, y = smooth
    model = AutoRegressor("ridge", kernel=Gaussian(), random_state=0).fit(X, y)
    assert len(model.model_.X_fit_) == 120
    assert len(AutoRegressor("ridge", kernel=Gaussian(), refit=False).fit(X, y).model_.X_fit_) == 96


def test_without_rows_held_out_there_are_no_scores(smooth):
    report = AutoRegressor("ridge", kernel=Gaussian(), test=None).fit(*smooth).report_
    assert report.scores == ()
    assert report.held_out is None
    assert report.n_test == 0
    assert "No rows were held out" in report.advice[0]


def test_mixed_tables_are_predicted_and_explained(mixed):
    model = AutoRegressor("ridge", random_state=0).fit(*mixed)
    kinds = {column.name: column.kind for column in model.report_.columns}
    assert kinds == {"size": "numeric", "colour": "categorical", "id": "ignored"}
    assert model.report_.columns[0].missing == mixed[0]["size"].isna().sum()
    assert model.report_.scores[0].values["R²"] > 0.9
    assert {candidate.name for candidate in model.report_.candidates} == {
        "ridge, thresholds",
        "ridge, one scale",
        "ridge, smooth",
        "ridge, sum over categories",
        "ridge, mixed columns",
        "ridge, linear",
    }
    new = pd.DataFrame({"size": [None, 1.0], "colour": ["violet", None], "id": [1, 2]})
    assert np.isfinite(model.predict(new)).all()


def test_average_targets_of_many_categories_are_tried(thresholds_only):
    rng = np.random.default_rng(0)
    towns = rng.integers(0, 30, size=160)
    level = rng.normal(size=30)
    X = pd.DataFrame({"town": [f"t{i}" for i in towns], "size": rng.normal(size=160)})
    y = 3.0 * level[towns] + X["size"] + 0.1 * rng.normal(size=160)
    model = AutoRegressor("ridge", random_state=0).fit(X, y)
    assert f"ridge, {STATISTICS}" in [candidate.name for candidate in model.report_.candidates]
    assert model.report_.scores[0].values["R²"] > 0.8
    assert np.isfinite(model.predict(pd.DataFrame({"town": ["elsewhere"], "size": [0.0]}))).all()


def test_texts_are_compared_by_their_letters():
    rng = np.random.default_rng(0)
    animals, places = ["a dog", "a cat", "an eel"], ["in the garden", "on the roof", "under the bridge"]
    said = [f"{rng.choice(animals)} {rng.choice(places)} {rng.integers(10**6)}" for _ in range(120)]
    y = np.array([3.0 * ("eel" in text) + ("roof" in text) for text in said])
    model = AutoRegressor("ridge", random_state=0).fit(pd.DataFrame({"said": said}), y)
    assert model.report_.columns[0].kind == "text"
    assert model.report_.scores[0].values["R²"] > 0.8


def test_polars_and_pandas_give_the_same_predictions(mixed):
    X, y = mixed
    settings = {"model": "ridge", "kernel": Gaussian().on(["size"]) + Overlap().on(["colour"]), "random_state": 0}
    one = AutoRegressor(**settings).fit(X, y).predict(X)
    other = AutoRegressor(**settings).fit(pl.from_pandas(X), y.to_numpy()).predict(pl.from_pandas(X))
    np.testing.assert_allclose(other, one, rtol=1e-9)


def test_a_given_kernel_is_used_as_it_is_by_the_names_of_columns(mixed):
    kernel = Gaussian().on(["size"]) + Overlap().on(["colour"])
    model = AutoRegressor("ridge", kernel=kernel, random_state=0).fit(*mixed)
    assert model.kernel_ == kernel


def test_a_kernel_can_be_a_text(smooth):
    model = AutoRegressor("ridge", kernel="Gaussian(2.0) + Linear()").fit(*smooth)
    assert model.kernel_ == Gaussian(2.0) + Linear()


@pytest.mark.parametrize("name", ["svm", "neighbors", "parzen"])
def test_every_model_can_be_asked_for(smooth, name):
    X, y = smooth
    model = AutoRegressor(name, random_state=0).fit(X.iloc[:80], y.iloc[:80])
    assert model.predict(X.iloc[:3]).shape == (3,)
    assert np.isfinite(model.report_.candidates[0].score)


def test_a_positive_target_with_a_long_tail_is_also_tried_as_a_logarithm(thresholds_only):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(-1, 1, size=(90, 2)), columns=["a", "b"])
    y = np.exp(5.0 * X["a"] + 2.0 * X["b"] + 0.02 * rng.normal(size=90))
    model = AutoRegressor("ridge", random_state=0).fit(X, y)
    assert "logarithm" in next(c.name for c in model.report_.candidates if c.chosen)
    assert model.report_.scores[0].values["R²"] > 0.9
    first = model.members_[0]
    assert first.extra["transform"] == "log"
    logs = first.estimator.predict(first.encoder.transform(X))
    part = first.extra["factor"] * np.exp(np.minimum(logs, first.extra["largest"]))
    others = [member.weight * member.estimator.predict(member.encoder.transform(X)) for member in model.members_[1:]]
    np.testing.assert_allclose(model.predict(X), first.weight * part + sum(others), rtol=1e-10)
    low, high = model.predict_interval(X).T
    assert np.mean((low <= y) & (y <= high)) > 0.8


def test_intervals_of_a_model_of_logarithms_alone_are_positive(thresholds_only, monkeypatch):
    monkeypatch.setattr(fitting, "MOST_MEMBERS", (1, 1))
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(60, 1))
    y = np.exp(6.0 * X[:, 0] + 0.2 * rng.normal(size=60))
    model = AutoRegressor("ridge", random_state=0).fit(X, y)
    assert model.extra_["transform"] == "log"
    low, high = model.predict_interval(X).T
    assert (low > 0).all()
    assert np.mean((low <= y) & (y <= high)) > 0.8


def test_intervals_cover_what_they_should(smooth):
    X, y = smooth
    model = AutoRegressor("ridge", kernel=Gaussian(0.7), random_state=0).fit(X.iloc[:80], y.iloc[:80])
    low, high = model.predict_interval(X.iloc[80:], 0.9).T
    assert 0.75 <= np.mean((low <= y.iloc[80:]) & (y.iloc[80:] <= high)) <= 1.0
    expected = model.model_.predict_interval(model.encoder_.transform(X.iloc[80:]), 0.9)
    np.testing.assert_array_equal(np.column_stack([low, high]), expected)


def test_models_without_a_jackknife_take_the_errors_held_out(smooth):
    X, y = smooth
    model = AutoRegressor("neighbors", kernel=Gaussian(), random_state=0).fit(X, y)
    errors = np.sort(np.abs(model.report_.held_out.truth - model.report_.held_out.prediction))
    low, high = model.predict_interval(X.iloc[:4], 0.5).T
    np.testing.assert_allclose((high - low) / 2, errors[int(np.ceil(0.5 * 25)) - 1])
    with pytest.raises(ValueError, match="coverage must lie between 0 and 1"):
        model.predict_interval(X, 2.0)


def test_a_tiny_budget_still_gives_a_model_and_says_what_was_left(smooth):
    model = AutoRegressor(budget=1e-3, random_state=0).fit(*smooth)
    assert len(model.report_.candidates) == 1
    assert any("Not tried for want of time" in sentence for sentence in model.report_.advice)


def test_many_rows_are_compared_on_some_of_them(monkeypatch):
    monkeypatch.setattr(fitting, "TUNING_ROWS", 100)
    sizes = []
    judge = RegressionSearch.judge_learned

    def look(self, name, learned, way):
        sizes.append(len(self.y))
        return judge(self, name, learned, way)

    monkeypatch.setattr(RegressionSearch, "judge_learned", look)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    model = AutoRegressor("ridge", kernel=Gaussian(), random_state=0).fit(X, X[:, 0])
    assert sizes == [100]
    assert len(model.model_.X_fit_) == 400


def test_centres_stand_for_all_rows_when_time_is_short(monkeypatch):
    monkeypatch.setattr(members, "PATIENCE", 1e-4)
    monkeypatch.setattr(members, "EXACT_ROWS", 100)
    monkeypatch.setattr(members, "LEAST_CENTERS", 20)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 2))
    model = AutoRegressor("ridge", kernel=Gaussian(), random_state=0).fit(X, X[:, 0] + rng.normal(size=800))
    assert model.model_.plan_.solver == "nystroem"
    assert any("Nyström" in sentence for sentence in model.report_.advice)
    assert model.predict_interval(X[:2]).shape == (2, 2)


def test_columns_are_found_by_name(fitted, smooth):
    X, _ = smooth
    expected = fitted.predict(X)
    np.testing.assert_array_equal(fitted.predict(X[["noise", "b", "a"]].assign(other=1)), expected)
    with pytest.raises(ValueError, match="columns of the fit are missing: 'b'"):
        fitted.predict(X[["a", "noise"]])


def test_seeds_decide_everything(smooth):
    X, y = smooth[0].iloc[:40], smooth[1].iloc[:40]
    one, two = (AutoRegressor(random_state=3, budget="1h").fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(one.predict(X), two.predict(X))
    assert [c.score for c in one.report_.candidates] == [c.score for c in two.report_.candidates]


def test_clone_and_pickle(fitted, smooth):
    assert clone(fitted).get_params() == fitted.get_params()
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(smooth[0]), fitted.predict(smooth[0]))


def test_a_failed_fit_changes_nothing(smooth):
    X, y = smooth
    model = AutoRegressor("ridge", kernel=Gaussian(), test=None).fit(X, y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="infinite"):
        model.fit(X.assign(a=np.inf), y)
    assert vars(model).keys() == before.keys()
    assert model.report_ is before["report_"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": "forest"}, "model must be one of"),
        ({"test": 1.5}, "test must be the share of rows"),
        ({"budget": "later"}, "budget must be"),
        ({"memory": "much"}, "memory must be"),
    ],
)
def test_wrong_parameters_are_named(smooth, settings, message):
    with pytest.raises(ValueError, match=message):
        AutoRegressor(**settings).fit(*smooth)


def test_a_kernel_that_is_none_is_refused(smooth):
    with pytest.raises(TypeError, match="kernel must be a mercer kernel or the text of one"):
        AutoRegressor(kernel=3.0).fit(*smooth)


def test_nothing_is_predicted_before_the_fit():
    with pytest.raises(NotFittedError):
        AutoRegressor().predict([[1.0]])


class Recorder:
    """A callback that writes down the tasks of a fit, and may ask to stop."""

    def __init__(self, stop=False):
        self.stop, self.tasks, self.ended = stop, [], 0

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        self.tasks.append((context.task_name, context.max_subtasks))

    def on_fit_task_end(self, estimator, context):
        self.ended += 1
        return self.stop

    def teardown(self, estimator, context):
        pass


def test_progress_is_a_tree_of_known_size(smooth):
    recorder = Recorder()
    model = AutoRegressor(random_state=0).set_callbacks(recorder).fit(smooth[0].iloc[:40], smooth[1].iloc[:40])
    names = [name for name, _ in recorder.tasks if name != "step"]
    tried = [candidate.name for candidate in model.report_.candidates]
    assert names[1] == "baselines"
    assert sorted(names[2:-3]) == sorted(tried)
    assert names[-3:] == ["more rows", "fit of the training rows", "fit of all rows"]
    assert recorder.tasks[0][1] == len(names) - 1
    assert recorder.ended == len(recorder.tasks)
    steps = sum(name == "step" for name, _ in recorder.tasks)
    assert 0 < steps <= sum(count for name, count in recorder.tasks if name in tried)


def test_a_callback_can_end_the_tuning(smooth, thresholds_only):
    patient, hasty = Recorder(), Recorder(stop=True)
    for recorder in (patient, hasty):
        AutoRegressor("ridge", random_state=0).set_callbacks(recorder).fit(*smooth)
    assert len(hasty.tasks) < len(patient.tasks) / 2
