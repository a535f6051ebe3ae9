"""Grids of support vector machines: scikit-learn's scores cell by cell, the best refit, bad input and good company."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn.svm
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError, SkipTestWarning
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import check_is_fitted

from mercer.kernels import Custom, Gaussian, Laplacian, Linear, Sigmoid
from mercer.models.svm import SVC
from mercer.models.svm_cv import SVCCV, SVRCV
from mercer.models.svr import SVR
from mercer.solvers.machines import path as smo_path

CS, SCALES = [100.0, 0.1, 3.0], [0.3, 1.0, 4.0]  # in no order
GAMMAS = [1 / (2 * scale**2) for scale in SCALES]


@pytest.fixture
def moons():
    return make_moons(150, noise=0.3, random_state=0)


@pytest.fixture
def wave():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(90, 2))
    return X, 2 * np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=90)


def _theirs(estimator, X, y, **options):
    return GridSearchCV(estimator, {"C": CS, "gamma": GAMMAS}, **options).fit(X, y)


def _split_scores(results):
    folds = sum(key.startswith("split") for key in results)
    return np.array([results[f"split{k}_test_score"] for k in range(folds)])


# -- scores -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"class_weight": "balanced"}, {"class_weight": {0: 3.0}}])
@pytest.mark.parametrize("scoring", [None, "f1", "roc_auc"])
def test_scores_of_a_classifier_are_those_of_a_grid_search_over_scikit_learn(moons, options, scoring):
    X, y = moons
    X, y = X[:120], y[:120]
    ours = SVCCV(CS, SCALES, tol=1e-5, scoring=scoring, **options).fit(X, y)
    theirs = _theirs(sklearn.svm.SVC(tol=1e-5, **options), X, y, cv=5, scoring=scoring)
    np.testing.assert_allclose(_split_scores(ours.cv_results_), _split_scores(theirs.cv_results_), atol=1e-12)
    assert ours.best_index_ == theirs.best_index_
    assert ours.best_score_ == pytest.approx(theirs.best_score_)
    assert theirs.best_params_["C"] == ours.C_


@pytest.mark.parametrize("options", [{}, {"epsilon": 0.5}])
@pytest.mark.parametrize("scoring", [None, "neg_mean_absolute_error"])
def test_scores_of_a_regression_are_those_of_a_grid_search_over_scikit_learn(wave, options, scoring):
    cv = KFold(4, shuffle=True, random_state=1)
    ours = SVRCV(CS, SCALES, cv=cv, tol=1e-5, scoring=scoring, **options).fit(*wave)
    theirs = _theirs(sklearn.svm.SVR(tol=1e-5, **options), *wave, cv=cv, scoring=scoring)
    np.testing.assert_allclose(_split_scores(ours.cv_results_), _split_scores(theirs.cv_results_), atol=1e-4)
    assert ours.best_index_ == theirs.best_index_


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_pairs_of_classes_vote_as_in_scikit_learn(class_weight):
    X, y = load_iris(return_X_y=True)
    X, y = X[:, :2], np.array(["setosa", "versicolor", "virginica"])[y]  # two features, which leave errors
    options = {"class_weight": class_weight, "tol": 1e-5}
    ours = SVCCV(CS, SCALES, **options).fit(X[:135], y[:135])
    theirs = _theirs(sklearn.svm.SVC(**options), X[:135], y[:135], cv=5)
    np.testing.assert_allclose(_split_scores(ours.cv_results_), _split_scores(theirs.cv_results_), atol=1e-12)
    assert ours.classes_.tolist() == theirs.classes_.tolist()
    assert len(ours.expansions_) == 3


def test_larger_problems_in_working_sets_score_the_same():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2600, 4))
    y = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=2600) > 0
    ours = SVCCV([0.3, 10.0], [1.0, 3.0], cv=3, refit=False).fit(X, y)
    grid = {"C": [0.3, 10.0], "gamma": [0.5, 1 / 18]}
    theirs = GridSearchCV(sklearn.svm.SVC(), grid, cv=3, refit=False).fit(X, y)
    np.testing.assert_allclose(_split_scores(ours.cv_results_), _split_scores(theirs.cv_results_), atol=1.5e-3)


def test_weights_count_in_the_fits_and_in_the_scores(moons):
    X, y = moons
    X, y = X[:100], y[:100]
    weights = np.random.default_rng(1).uniform(0.1, 4.0, size=100)
    ours = SVCCV(CS, SCALES, tol=1e-5).fit(X, y, weights)
    with config_context(enable_metadata_routing=True):
        svc = sklearn.svm.SVC(tol=1e-5).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        theirs = GridSearchCV(svc, {"C": CS, "gamma": GAMMAS}).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(_split_scores(ours.cv_results_), _split_scores(theirs.cv_results_), atol=1e-12)


def test_points_of_weight_zero_take_no_part(wave):
    X, y = wave
    weights = np.where(np.arange(90) % 3 == 0, 0.0, 1.0)
    kept = np.flatnonzero(weights)
    splits = list(KFold(4).split(X))
    where = np.full(90, -1)
    where[kept] = np.arange(len(kept))
    inside = [tuple(where[part][where[part] >= 0] for part in split) for split in splits]
    one = SVRCV([1.0, 10.0], [1.0], cv=splits, tol=1e-6).fit(X, np.where(weights > 0, y, 1e3), weights)
    other = SVRCV([1.0, 10.0], [1.0], cv=inside, tol=1e-6).fit(X[kept], y[kept])
    np.testing.assert_allclose(_split_scores(one.cv_results_), _split_scores(other.cv_results_), atol=1e-4)
    np.testing.assert_allclose(one.predict(X), other.predict(X), atol=1e-4)


def test_the_table_has_the_keys_types_and_order_of_a_grid_search(moons):
    ours = SVCCV(CS, SCALES, cv=3).fit(*moons).cv_results_
    theirs = _theirs(sklearn.svm.SVC(), *moons, cv=3).cv_results_
    assert set(ours) == {key.replace("gamma", "length_scale") for key in theirs}
    assert [cell["C"] for cell in ours["params"]] == [cell["C"] for cell in theirs["params"]]
    assert [cell["length_scale"] for cell in ours["params"]] == SCALES * 3
    for key in ("param_C", "rank_test_score", "mean_fit_time", "std_score_time", "split0_test_score"):
        assert type(ours[key]) is type(theirs[key])
        assert ours[key].dtype == theirs[key].dtype
        assert ours[key].shape == theirs[key].shape
    np.testing.assert_allclose(ours["mean_test_score"], _split_scores(ours).mean(axis=0))
    np.testing.assert_allclose(ours["std_test_score"], _split_scores(ours).std(axis=0))
    assert (ours["mean_fit_time"] > 0).all()
    pd.DataFrame(ours)


def test_the_order_of_the_grid_does_not_matter(moons):
    one = SVCCV(CS, SCALES).fit(*moons).cv_results_
    other = SVCCV(sorted(CS), SCALES[::-1]).fit(*moons).cv_results_
    cells = {
        (p["C"], p["length_scale"]): score for p, score in zip(other["params"], other["mean_test_score"], strict=True)
    }
    assert [cells[p["C"], p["length_scale"]] for p in one["params"]] == one["mean_test_score"].tolist()


def test_without_memory_for_the_matrix_the_scores_are_the_same(moons):
    one = SVCCV(CS, SCALES, tol=1e-5).fit(*moons)
    other = SVCCV(CS, SCALES, tol=1e-5, memory=16 * 150**2 - 1).fit(*moons)
    np.testing.assert_allclose(_split_scores(one.cv_results_), _split_scores(other.cv_results_), atol=1e-12)


def test_a_training_fold_without_a_class_is_fitted_to_the_others():
    X, y = load_iris(return_X_y=True)
    splits = [(np.arange(100), np.arange(100, 150)), (np.arange(50, 150), np.arange(50))]
    ours = SVCCV([1.0], [1.0], cv=splits).fit(X, y)
    assert ours.best_score_ == 0.0  # what was never seen is never predicted
    assert ours.score(X, y) > 0.9


# -- grids and kernels ----------------------------------------------------------------------------------------------


def test_default_grids_follow_the_units_of_points_and_targets(wave):
    X, y = wave
    # With ε = 0.1 one of the machines has no free support vector, and any intercept of an interval is the best.
    one = SVRCV(epsilon=0.07, cv=3, refit=False, tol=1e-5).fit(X, y)
    other = SVRCV(epsilon=70.0, cv=3, refit=False, tol=1e-5).fit(1e-3 * X, 1e3 * y + 5e3)
    np.testing.assert_allclose(other.C_, 1e3 * one.C_)
    np.testing.assert_allclose(other.length_scale_, 1e-3 * one.length_scale_)
    np.testing.assert_allclose(_split_scores(one.cv_results_), _split_scores(other.cv_results_), atol=1e-4)
    assert len(one.cv_results_["params"]) == 64


def test_auto_is_around_the_median_distance(moons):
    X, y = moons
    model = SVCCV([1.0], "auto", kernel=Laplacian(), cv=2).fit(X, y)
    distances = np.linalg.norm(X[:, None] - X[None], axis=-1)[np.triu_indices(150, 1)]
    scales = model.cv_results_["param_length_scale"].data
    np.testing.assert_allclose([scales[0], scales[-1]], np.array([0.125, 4.0]) * np.median(distances))
    assert isinstance(model.kernel_, Laplacian)


def test_a_kernel_that_was_given_keeps_its_length_scale_unless_told_otherwise(moons):
    X, y = moons
    kept = SVCCV([1.0, 10.0], kernel=Gaussian(0.4)).fit(X, y)
    assert kept.kernel_ == Gaussian(0.4)
    assert kept.length_scale_ == 0.4
    assert list(kept.best_params_) == ["C"]
    composed = SVCCV([1.0], [0.3, 2.0], kernel=2.0 * Gaussian(7.0) + Linear()).fit(X, y)
    assert composed.kernel_ in (2.0 * Gaussian(0.3) + Linear(), 2.0 * Gaussian(2.0) + Linear())
    several = SVCCV([1.0], [[0.3, 1.0], [1.0, 0.3]], kernel=Gaussian()).fit(X, y)
    assert several.length_scale_ in ([0.3, 1.0], [1.0, 0.3])
    assert SVCCV([1.0], kernel="linear").fit(X, y).length_scale_ is None


def test_a_matrix_a_function_and_the_kernel_itself_agree(moons):
    X, y = moons
    K = Gaussian(0.5)(X)
    direct = SVCCV(CS, kernel=Gaussian(0.5), tol=1e-5).fit(X, y)
    matrix = SVCCV(CS, kernel="precomputed", tol=1e-5).fit(K, y)
    function = SVCCV(CS, kernel=lambda A, B: Gaussian(0.5)(A, B), tol=1e-5).fit(X, y)
    for other, points in ((matrix, K[:7]), (function, X[:7])):
        np.testing.assert_allclose(_split_scores(other.cv_results_), _split_scores(direct.cv_results_), atol=1e-12)
        np.testing.assert_allclose(other.decision_function(points), direct.decision_function(X[:7]), atol=1e-3)


def test_objects_of_any_kind_have_a_grid_of_penalties():
    words = ["aab", "aba", "baa", "aaa", "abb", "bbz", "zzb", "zbz", "zzz", "bzz"] * 2
    labels = (["a"] * 5 + ["z"] * 5) * 2

    def common(a, b):
        return float(sum(a.count(letter) * b.count(letter) for letter in "abz"))

    model = SVCCV([0.01, 1.0], kernel=Custom(common), cv=2).fit(words, labels)
    assert model.best_score_ == 1.0
    assert model.predict(["aaa", "zzz"]).tolist() == ["a", "z"]
    counts = np.array([[word.count(letter) for letter in "abz"] for word in words])
    vectors = SVCCV([0.01, 1.0], kernel=Linear(), cv=2).fit(counts, labels)
    np.testing.assert_allclose(_split_scores(model.cv_results_), _split_scores(vectors.cv_results_))


# -- the best -------------------------------------------------------------------------------------------------------


def test_the_best_estimator_is_the_machine_fitted_directly(moons, wave):
    for search, machine, (X, y) in ((SVCCV, SVC, moons), (SVRCV, SVR, wave)):
        model = search(CS, SCALES).fit(X, y)
        direct = machine(C=model.C_, kernel=Gaussian(model.length_scale_)).fit(X, y)
        np.testing.assert_array_equal(model.predict(X), direct.predict(X))
        np.testing.assert_array_equal(model.support_, direct.support_)
        np.testing.assert_array_equal(model.expansion_(X[:5]), direct.expansion_(X[:5]))
        assert model.duality_gap_ == direct.duality_gap_
        assert model.best_params_ == {"C": model.C_, "length_scale": model.length_scale_}
        assert type(model.best_estimator_) is machine


def test_without_a_refit_there_is_a_table_and_no_machine(moons):
    model = SVCCV(CS, SCALES, refit=False).fit(*moons)
    assert model.best_params_["C"] in CS
    assert not hasattr(model, "best_estimator_")
    with pytest.raises(AttributeError, match="refit=False"):
        model.predict(moons[0])


def test_unconverged_cells_are_counted_in_one_warning(moons):
    with pytest.warns(ConvergenceWarning) as caught:
        SVCCV(CS, SCALES, max_iter=2, cv=3, refit=False).fit(*moons)
    (warning,) = caught
    assert "27 of the 27 machines" in str(warning.message)
    assert "max_iter=2" in str(warning.message)
    assert warning.filename == __file__
    with pytest.warns(ConvergenceWarning, match=r"max_time=1e-09.*Raise max_time or tol"):
        SVCCV(CS, SCALES, max_time=1e-9, cv=3, refit=False).fit(*moons)


# -- bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"Cs": []}, r"Cs must be a list of positive penalties.*got \[\]"),
        ({"Cs": [1.0, -1.0]}, "Cs must be a list of positive"),
        ({"Cs": [np.inf]}, "Cs must be a list of positive"),
        ({"Cs": "all"}, "Cs must be a list of positive.*got 'all'"),
        ({"Cs": 3.0}, "Cs must be a list"),
        ({"length_scales": []}, "length_scales must be 'auto', or a list"),
        ({"length_scales": 2.0}, "length_scales must be 'auto', or a list"),
        ({"length_scales": [-1.0]}, "length_scale"),
        ({"length_scales": [1.0], "kernel": Linear()}, "has no length scale"),
        ({"length_scales": [1.0], "kernel": "precomputed"}, "no length scale|square"),
        ({"kernel": Sigmoid(), "length_scales": None}, "positive semi-definite"),
        ({"cv": 100}, r"cv=100 cannot split these 150 points.*Give fewer folds"),
        ({"cv": [(np.arange(3), np.arange(3, 150))]}, "fold 0 cannot be fitted.*Give fewer folds"),
        ({"scoring": ["accuracy", "f1"]}, "scoring must be the name of one score"),
        ({"scoring": "neg_log_loss"}, "asks for more than the predictions and decision values"),
        ({"tol": 0.0}, "tol must be"),
        ({"max_time": -1.0}, "max_time must be"),
    ],
)
def test_bad_arguments_are_refused_with_the_remedy(moons, options, message):
    X, y = moons
    order = np.argsort(y, kind="stable")
    with pytest.raises(ValueError, match=message):
        SVCCV(**{"Cs": [1.0], "length_scales": [1.0], **options}).fit(X[order], y[order])


def test_bad_targets_and_weights_are_refused(moons, wave):
    with pytest.raises(ValueError, match="greater than one; got 1 class"):
        SVCCV().fit(moons[0], np.zeros(150))
    splits = list(KFold(3).split(wave[0]))
    with pytest.raises(ValueError, match="fold 0 has no points of positive weight to score"):
        SVRCV([1.0], [1.0], cv=splits).fit(*wave, np.r_[np.zeros(30), np.ones(60)])
    with pytest.raises(ValueError, match="length_scales='auto' measures distances between rows of numbers"):
        SVCCV([1.0], "auto", kernel=Gaussian().after(len)).fit(["a", "bb", "c", "dd"] * 5, [0, 1, 0, 1] * 5)


@pytest.mark.filterwarnings("ignore:R.2 score is not well-defined")  # scikit-learn's, of one point
def test_a_grid_without_any_finite_score_is_refused(wave):
    with pytest.raises(ValueError, match="no cell of the grid has a finite score"):
        SVRCV([1.0], [1.0], cv=KFold(5)).fit(wave[0][:5], wave[1][:5])


# -- good company -----------------------------------------------------------------------------------------------------

CUT = "folds are cut by rows, so that a repeated row is not a row of double weight"
WEIGHTS = {f"check_sample_weight_equivalence_on_{kind}_data": CUT for kind in ("dense", "sparse")}


@pytest.mark.parametrize(
    "model", [SVCCV([0.5, 5.0], [0.5, 2.0], cv=2), SVRCV([0.5, 5.0], [0.5, 2.0], cv=2)], ids=lambda m: type(m).__name__
)
def test_the_checks_of_scikit_learn_pass(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)  # the array API is not enabled
        check_estimator(model, expected_failed_checks=WEIGHTS, on_skip=None, on_fail="raise")


def test_models_can_be_cloned_pickled_and_put_in_a_pipeline(moons):
    X, y = moons
    model = SVCCV(CS, kernel=Gaussian(2.0), cv=StratifiedKFold(3)).set_params(kernel__length_scale=0.5)
    copy = clone(model)
    assert copy.kernel == Gaussian(0.5)
    model.fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    pipeline = make_pipeline(StandardScaler(), SVCCV(CS, SCALES)).fit(X, y)
    assert pipeline.score(X, y) > 0.85


def test_names_of_columns_are_kept_and_checked(moons):
    frame = pd.DataFrame(moons[0], columns=["left", "right"])
    model = SVCCV(CS, SCALES).fit(frame, moons[1])
    assert model.feature_names_in_.tolist() == ["left", "right"]
    np.testing.assert_array_equal(model.predict(frame), model.best_estimator_.predict(frame))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["right", "left"]])


class Recorder:
    """A callback that counts steps, and may interrupt."""

    def __init__(self, interrupt_at=None):
        self.steps, self.closed, self.interrupt_at = 0, False, interrupt_at

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, **kwargs):
        pass

    def on_fit_task_end(self, estimator, context, **kwargs):
        self.steps += context.task_name == "step"
        if self.steps == self.interrupt_at:
            raise KeyboardInterrupt
        return False

    def teardown(self, estimator, context):
        self.closed = True


def test_callbacks_are_told_of_every_length_scale(moons):
    recorder = Recorder()
    SVCCV(CS, SCALES).set_callbacks(recorder).fit(*moons)
    assert recorder.steps == len(SCALES)
    assert recorder.closed


def test_an_interrupted_fit_leaves_the_object_unfitted(moons):
    model = SVCCV(CS, SCALES).set_callbacks(Recorder(interrupt_at=2))
    with pytest.raises(KeyboardInterrupt):
        model.fit(*moons)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    assert not hasattr(model, "cv_results_")


def test_an_interrupt_while_machines_run_ends_them_too(moons, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(smo_path, "_carry_over", interrupted)
    model = SVCCV(CS, SCALES)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*moons)
    assert not hasattr(model, "n_features_in_")


def test_a_failed_fit_keeps_what_was_fitted_before(moons):
    X, y = moons
    model = SVCCV(CS, SCALES).fit(X, y)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="Cs must be"):
        model.set_params(Cs=[]).fit(X[:, :1], y)
    np.testing.assert_array_equal(model.decision_function(X), before)
