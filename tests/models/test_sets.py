"""Sets of classes hold the right one as often as they say, grow with the coverage, and do not know names of classes."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibrationDisplay
from sklearn.datasets import make_moons
from sklearn.metrics import brier_score_loss

import mercer
from mercer import (
    SVC,
    SVCCV,
    ImportVectorMachine,
    KernelClassifier,
    KernelLogisticRegression,
    KernelNeighborsClassifier,
    KernelPerceptron,
    KernelRidgeClassifier,
    MultipleKernelClassifier,
    NuSVC,
    ParzenClassifier,
    RecursiveFeatureClassifier,
)
from mercer.kernels import Gaussian, Linear
from mercer.solvers.conformal.sets import Conformity, measure_scores

MODELS = [
    KernelRidgeClassifier(0.3, kernel=Gaussian(1.5)),
    KernelLogisticRegression(0.3, kernel=Gaussian(1.5)),
    ImportVectorMachine(0.3, kernel=Gaussian(1.5)),
    SVC(kernel=Gaussian(1.5)),
    SVCCV(Cs=[1.0], kernel=Gaussian(1.5), cv=3),
    KernelClassifier("SquaredHinge", 0.3, kernel=Gaussian(1.5)),
    KernelClassifier("Hinge", 0.3, kernel=Gaussian(1.5)),
    KernelNeighborsClassifier(7),
    ParzenClassifier(length_scale=0.5),
    KernelPerceptron(kernel=Gaussian(1.5), random_state=0),
]
LEARNED = [
    MultipleKernelClassifier([Gaussian(), Linear()], random_state=0),
    RecursiveFeatureClassifier(Gaussian(), metric="diagonal", rounds=1, refine=False, random_state=0),
]
every = pytest.mark.parametrize("model", MODELS, ids=lambda model: f"{type(model).__name__}")


def draw(n, seed, classes=3):
    """Classes that overlap, of unequal sizes."""
    rng = np.random.default_rng(seed)
    y = rng.choice(classes, size=n, p=[0.5, 0.3, 0.2] if classes == 3 else [0.7, 0.3])
    corners = np.array([[0.0, 0.0], [1.6, 0.0], [0.0, 1.6]])
    return corners[y] + rng.normal(size=(n, 2)), y


@every
def test_sets_hold_the_right_class_as_often_as_they_say(model):
    hits = total = 0
    for seed in range(3):
        X, y = draw(200, seed)
        new, truth = draw(400, 100 + seed)
        sets = clone(model).fit(X, y).predict_set(new, 0.8)
        assert sets.shape == (400, 3)
        assert sets.dtype == bool
        hits, total = hits + int(sets[np.arange(400), truth].sum()), total + 400
    # 3 samples of 200 points calibrate: their own quantile varies as a binomial share of 600 points does.
    spread = np.sqrt(0.8 * 0.2 * (1 / 600 + 1 / total))
    assert 0.8 - 3 * spread <= hits / total
    assert hits / total <= 0.8 + 3 * spread + 0.06 * isinstance(model, KernelNeighborsClassifier)  # whose votes tie


@pytest.mark.parametrize("model", [MODELS[0], MODELS[3]], ids=["ridge", "svc"])
def test_conditional_sets_hold_for_each_class(model):
    X, y = draw(500, 0)
    new, truth = draw(3000, 1)
    fitted = clone(model).fit(X, y)
    held = [s[np.arange(3000), truth] for s in (fitted.predict_set(new, 0.8), fitted.predict_set(new, 0.8, True))]
    for c in range(3):
        n, m = int((y == c).sum()), int((truth == c).sum())
        assert held[1][truth == c].mean() >= 0.8 - 3 * np.sqrt(0.16 * (1 / n + 1 / m))
    assert held[0][truth == 2].mean() < held[1][truth == 2].mean()  # the rare class pays for the others


@every
def test_sets_grow_with_the_coverage_and_hold_the_prediction(model):
    X, y = draw(120, 3)
    fitted, new = clone(model).fit(X, y), draw(60, 4)[0]
    before = np.zeros((60, 3), dtype=bool)
    predicted = np.searchsorted(fitted.classes_, fitted.predict(new))
    for coverage in (0.1, 0.5, 0.8, 0.95):
        sets = fitted.predict_set(new, coverage)
        assert (sets >= before).all()
        assert sets[np.arange(60), predicted].all()
        before = sets


# The perceptron is none of these: equal values of a function that has seen nothing yet go to the first class.
@pytest.mark.parametrize(
    "model",
    [model for model in MODELS if not isinstance(model, KernelPerceptron)],
    ids=lambda model: type(model).__name__,
)
def test_the_names_of_classes_do_not_matter(model):
    X, y = draw(120, 5)
    new = draw(60, 6)[0]
    place = np.array([1, 2, 0])  # class 0 is now the second in order, and so on
    if isinstance(model, SVC | SVCCV):
        model = clone(model).set_params(tol=1e-9)
    first = clone(model).fit(X, y).predict_set(new)
    second = clone(model).fit(X, np.array(["a", "b", "c"])[place[y]]).predict_set(new)
    assert (first != second[:, place]).mean() <= 0.01  # where a score is a hair from the quantile


@pytest.mark.parametrize("classes", [2, 3])
def test_two_classes_and_a_matrix_have_sets_too(classes):
    X, y = draw(100, 7, classes)
    new, k = draw(40, 8, classes)[0], Gaussian(1.5)
    for model in (KernelRidgeClassifier(0.3, kernel="precomputed"), SVC(kernel="precomputed", tol=1e-8)):
        found = model.fit(k(X), y).predict_set(k(new, X))
        wanted = clone(model).set_params(kernel=k).fit(X, y).predict_set(new)
        assert (found == wanted).mean() >= 0.99


def test_models_that_single_points_turn_around_are_calibrated_on_folds():
    share = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        y = rng.integers(3, size=1040)
        X = rng.normal(size=(1040, 45))
        X[np.arange(1040), y] += 1.5
        model = KernelRidgeClassifier(1e-6, kernel=Linear()).fit(X[:40], y[:40])
        share.append(model.predict_set(X[40:], 0.9)[np.arange(1000), y[40:]].mean())
        assert len(model._judges) == 10
    assert np.mean(share) >= 0.8  # 2·0.9 − 1


def test_nu_is_lowered_to_what_a_fold_allows():
    X, y = make_moons(60, noise=0.2, random_state=0)
    X, y = X[: 60 - 7], y[: 60 - 7]
    least, most = sorted(np.bincount(y).tolist())
    model = NuSVC(nu=2 * least / (least + most), kernel=Gaussian(0.5)).fit(X, y)
    held = model.predict_set(X, 0.9)[np.arange(len(y)), y]
    assert held.mean() >= 0.85
    assert model.nu == 2 * least / (least + most)


def test_a_class_of_too_few_points_is_in_every_set():
    X, y = draw(80, 9)
    y[:] = np.where(y == 2, 0, y)
    y[:4] = 2
    model = KernelRidgeClassifier(0.3, kernel=Gaussian()).fit(X, y)
    with pytest.warns(
        UserWarning, match="class.* 2, of 4 points in all, are in every set.*at least 9 points of a class"
    ):
        sets = model.predict_set(X, 0.9, conditional=True)
    assert sets[:, 2].all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict_set(X, 0.9)
    with pytest.warns(UserWarning, match="with 80 points all classes are in every set"):
        assert model.predict_set(X, 0.999).all()


@pytest.mark.parametrize("coverage", [0.0, 1.0, -1, "0.9", True, np.nan])
def test_a_coverage_that_is_none_is_refused(coverage):
    X, y = draw(60, 10)
    with pytest.raises(ValueError, match="coverage must lie between 0 and 1"):
        KernelRidgeClassifier(0.3).fit(X, y).predict_set(X, coverage)


@pytest.mark.parametrize("model", [*MODELS, *LEARNED], ids=lambda model: f"{type(model).__name__}")
def test_sets_are_the_same_after_a_file(model, tmp_path):
    X, y = draw(60, 11)
    fitted = clone(model).fit(X, y)
    before = fitted.predict_set(X)
    mercer.save(fitted, tmp_path / "model")
    np.testing.assert_array_equal(mercer.load(tmp_path / "model").predict_set(X), before)


def test_streams_keep_no_points_to_make_sets_of():
    X, y = draw(60, 12)
    model = KernelPerceptron().partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="needs the training points, which are not kept by partial_fit"):
        model.predict_set(X)


def test_a_class_that_a_fold_has_never_seen_is_not_lost():
    X, y = draw(60, 13)
    y[:] = np.where(y == 2, 0, y)
    y[0] = 2
    assert SVC().fit(X, y).predict_set(X, 0.9).shape == (60, 3)


def test_the_rank_is_that_of_the_definition():
    rng = np.random.default_rng(0)
    scores, codes, folds = rng.normal(size=50), rng.integers(3, size=50), rng.integers(4, size=50)
    judged = [measure_scores(rng.normal(size=(20, 3))) for _ in range(4)]
    for conditional in (False, True):
        found = Conformity(scores, codes, folds).choose(judged, 0.7, conditional=conditional)
        for x in range(20):
            for c in range(3):
                some = [i for i in range(50) if not conditional or codes[i] == c]
                ahead = sum(scores[i] < judged[folds[i]][x, c] for i in some)
                assert found[x, c] == (ahead < 0.7 * (len(some) + 1))


# -- probabilities of machines ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("search", [False, True])
def test_calibrated_machines_say_how_likely_classes_are(way, search):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2500, 2))
    p = 1 / (1 + np.exp(-2 * X[:, 0]))
    y = np.where(rng.uniform(size=2500) < p, "yes", "no")
    model = SVCCV(Cs=[0.3, 1.0], kernel="linear", calibration=way) if search else SVC(kernel="linear", calibration=way)
    found = model.fit(X[:600], y[:600]).predict_proba(X[600:])
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert np.abs(found[:, 1] - p[600:]).mean() < 0.05  # where a guess of ½ is off by 0.28
    assert brier_score_loss(y[600:], found[:, 1], pos_label="yes") < 0.17
    display = CalibrationDisplay.from_estimator(model, X[600:], y[600:], pos_label="yes")
    assert np.abs(display.prob_true - display.prob_pred).mean() < 0.08


def test_a_search_calibrates_on_its_own_folds():
    X, y = draw(200, 14)
    model = SVCCV(Cs=[1.0], kernel=Gaussian(1.5), cv=5, calibration="sigmoid").fit(X, y)
    from sklearn.model_selection import StratifiedKFold

    from mercer.solvers.machines.platt import fit_sigmoid

    values, truth = [], []
    for fit, held in StratifiedKFold(5).split(X, y):
        one = SVC(kernel=Gaussian(1.5), decision_function_shape="ovo").fit(X[fit], y[fit])
        inside = held[np.isin(y[held], [0, 2])]
        values.append(one.decision_function(X[inside])[:, 1])
        truth.append(y[inside] == 0)
    A, B = fit_sigmoid(np.concatenate(values), np.concatenate(truth), np.ones(len(np.concatenate(truth))))
    np.testing.assert_allclose(model.best_estimator_._calibration.sigmoids[:, 1], [A, B], rtol=0.02)
    assert model.predict_proba(X).shape == (200, 3)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))


def test_without_calibration_there_are_no_probabilities_and_nonsense_is_refused(tmp_path):
    X, y = make_moons(100, noise=0.3, random_state=0)
    for model in (SVC(), SVCCV(Cs=[1.0]), NuSVC()):
        assert not hasattr(model.fit(X, y), "predict_proba")
        with pytest.raises(ValueError, match="calibration must be 'sigmoid' or 'isotonic', or None; got 'platt'"):
            clone(model).set_params(calibration="platt").fit(X, y)
    for way in ("sigmoid", "isotonic"):
        model = NuSVC(calibration=way).fit(X, y)
        mercer.save(model, tmp_path / way)
        np.testing.assert_array_equal(mercer.load(tmp_path / way).predict_proba(X), model.predict_proba(X))
        order = np.argsort(model.decision_function(X))
        assert (np.diff(model.predict_proba(X)[order, 1]) >= -1e-12).all()  # probabilities follow the values
