"""The kernel perceptron."""

import math
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError, SkipTestWarning
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimator

from mercer.kernels import Constant, Custom, Gaussian, Linear, Polynomial, Precomputed, Sigmoid
from mercer.models.perceptron import KernelPerceptron

KINDS = ["averaged", "plain", "voted"]
unsettled = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture
def moons():
    return make_moons(80, noise=0.3, random_state=0)


@pytest.fixture
def iris():
    X, y = load_iris(return_X_y=True)
    shuffled = np.random.default_rng(0).permutation(len(y))
    return X[shuffled], y[shuffled]


def separable(n=60, seed=0):
    X = np.random.default_rng(seed).uniform(-1, 1, size=(n, 2))
    X = X[np.abs(X[:, 0] - X[:, 1] ** 2) > 0.1]
    return X, np.where(X[:, 0] > X[:, 1] ** 2, "right", "left")


@pytest.mark.parametrize("kernel", [Polynomial(degree=2, offset=1.0), Gaussian(0.7)])
@pytest.mark.parametrize("seed", range(5))
def test_mistakes_on_separable_data_stay_below_novikoffs_bound(kernel, seed):
    X, y = separable(seed=seed)
    model = KernelPerceptron("plain", kernel=kernel, fit_intercept=False, max_iter=10_000, random_state=seed).fit(X, y)
    assert model.converged_
    assert model.mistakes_[-1] == 0
    assert model.score(X, y) == 1.0
    # The widest margin there is, by the hard-margin machine without an intercept: a problem with every point mirrored.
    K = kernel(X)
    sign = np.where(y == "right", 1.0, -1.0)
    mirrored = np.block([[K, -K], [-K, K]]) * np.outer(np.tile(sign, 2), np.tile(sign, 2))
    labels = np.repeat([1, -1], len(y))
    machine = SVC(C=1e10, kernel="precomputed", tol=1e-8).fit(mirrored, labels)
    dual = machine.dual_coef_[0]
    widest = 1 / math.sqrt(dual @ mirrored[np.ix_(machine.support_, machine.support_)] @ dual)
    assert 0 < model.margin_ <= widest * (1 + 1e-6)
    assert model.radius_ == pytest.approx(math.sqrt(K.diagonal().max()))
    assert model.n_mistakes_ <= (model.radius_ / widest) ** 2
    assert model.novikoff_bound_ == pytest.approx((model.radius_ / model.margin_) ** 2)


def test_the_margin_is_that_of_the_function_found():
    X, y = separable()
    model = KernelPerceptron("plain", kernel=Gaussian(0.5), max_iter=1000, random_state=0).fit(X, y)
    f = model.expansion_
    norm = math.sqrt(f.norm() ** 2 + float(f.intercept) ** 2)  # in the space of k + 1
    assert model.margin_ == pytest.approx(np.abs(f(X)).min() / norm)
    assert model.radius_ == pytest.approx(math.sqrt(2.0))


def test_the_bound_for_several_classes_is_that_of_pairs_of_functions():
    X = np.random.default_rng(0).normal(size=(60, 2)) * 0.3 + np.repeat([[0, 3], [3, 0], [-3, -3]], 20, axis=0)
    y = np.repeat([0, 1, 2], 20)
    model = KernelPerceptron("plain", kernel="linear", max_iter=1000, random_state=0).fit(X, y)
    assert model.converged_
    W = np.column_stack([model.expansion_.coef.T @ model.expansion_.centers, model.expansion_.intercept])
    ahead = np.column_stack([X, np.ones(60)]) @ W.T
    true = ahead[np.arange(60), y]
    ahead[np.arange(60), y] = -np.inf
    assert model.margin_ == pytest.approx((true - ahead.max(axis=1)).min() / np.linalg.norm(W))
    assert model.radius_ == pytest.approx(math.sqrt(2 * ((X**2).sum(axis=1).max() + 1)))
    assert model.n_mistakes_ <= model.novikoff_bound_


def test_weights_are_points_farther_out():
    X, y = separable()
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    options = {"kernel": "linear", "fit_intercept": False, "shuffle": False, "max_iter": 3}
    weighted = KernelPerceptron(**options).fit(X, y, weight)
    scaled = KernelPerceptron(**options).fit(weight[:, None] * X, y)
    np.testing.assert_allclose(weighted.decision_function(X), scaled.decision_function(X))
    assert weighted.radius_ == pytest.approx(scaled.radius_)
    np.testing.assert_array_equal(weighted.mistakes_, scaled.mistakes_)


@pytest.mark.parametrize("classes", [2, 3])
def test_with_the_linear_kernel_it_is_the_perceptron_of_weights(iris, classes):
    X, y = iris
    X, y = X[y < classes], y[y < classes]
    A = np.column_stack([X, np.ones(len(X))])
    W = np.zeros((classes, A.shape[1]))
    mistakes, total = [], np.zeros_like(W)
    for _ in range(4):
        mistakes.append(0)
        for a, label in zip(A, y, strict=True):
            values = W @ a
            other = int(np.argmax(np.where(np.arange(classes) == label, -np.inf, values)))
            if values[label] <= values[other]:
                W[label] += a
                W[other] -= a
                mistakes[-1] += 1
            total += W
        if mistakes[-1] == 0:
            break
    options = {"kernel": "linear", "shuffle": False, "max_iter": 4}
    mean = KernelPerceptron(**options).fit(X, y)
    np.testing.assert_array_equal(mean.mistakes_, mistakes)
    expected = A @ (total / (len(mistakes) * len(y))).T
    expected = expected[:, 1] if classes == 2 else expected  # both functions of two classes are opposite
    np.testing.assert_allclose(mean.decision_function(X), expected, atol=1e-9)


@pytest.mark.parametrize("data", ["moons", "iris"])
def test_the_mean_and_the_vote_are_those_of_the_last_functions_after_each_point(data, request):
    X, y = request.getfixturevalue(data)
    X, y = X[:40], y[:40]
    stream = KernelPerceptron("plain", kernel=Gaussian(0.8))
    after = []
    for i in range(40):
        stream.partial_fit(X[i : i + 1], y[i : i + 1], classes=np.unique(y))
        after.append(stream.decision_function(X))
    options = {"kernel": Gaussian(0.8), "shuffle": False, "max_iter": 1}
    mean = KernelPerceptron("averaged", **options).fit(X, y)
    np.testing.assert_allclose(mean.decision_function(X), np.mean(after, axis=0), atol=1e-12)
    voted = KernelPerceptron("voted", **options).fit(X, y)
    if data == "moons":
        votes = np.mean(np.sign(after), axis=0)
    else:
        votes = np.mean(np.argmax(after, axis=2)[:, :, None] == np.arange(3), axis=0)
        np.testing.assert_allclose(voted.decision_function(X).sum(axis=1), 1)
    np.testing.assert_allclose(voted.decision_function(X), votes, atol=1e-12)


@unsettled
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("data", ["moons", "iris"])
def test_partial_fit_in_pieces_is_fit_in_one_pass(kind, data, request):
    X, y = request.getfixturevalue(data)
    once = KernelPerceptron(kind, kernel=Gaussian(), shuffle=False, max_iter=1).fit(X, y)
    pieces = KernelPerceptron(kind, kernel=Gaussian())
    for part in np.array_split(np.arange(len(y)), [3, 10, 11, 50]):
        pieces.partial_fit(X[part], y[part], classes=np.unique(y))
    np.testing.assert_allclose(pieces.decision_function(X), once.decision_function(X), atol=1e-12)
    assert pieces.n_mistakes_ == once.n_mistakes_
    assert pieces.n_iter_ == len(pieces.mistakes_) == 5
    assert pieces.n_vectors_ == once.n_vectors_


def test_partial_fit_goes_on_after_fit(moons):
    X, y = moons
    options = {"kernel": Gaussian(), "shuffle": False}
    twice = KernelPerceptron(max_iter=2, **options).fit(X, y)
    model = KernelPerceptron(max_iter=1, **options).fit(X, y).partial_fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), twice.decision_function(X), atol=1e-12)
    np.testing.assert_array_equal(model.mistakes_, twice.mistakes_)
    assert model.novikoff_bound_ == math.inf
    assert model.fit(X, y).n_iter_ == 1  # fit starts anew


@unsettled
@pytest.mark.parametrize("kind", KINDS)
def test_the_intercept_is_the_kernel_plus_one(moons, kind):
    X, y = moons
    options = {"max_iter": 3, "random_state": 0}
    one = KernelPerceptron(kind, kernel=Gaussian(), **options).fit(X, y)
    two = KernelPerceptron(kind, kernel=Gaussian() + Constant(1.0), fit_intercept=False, **options).fit(X, y)
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), atol=1e-12)
    np.testing.assert_array_equal(one.mistakes_, two.mistakes_)
    assert one.radius_ == pytest.approx(two.radius_)
    assert two.expansion_.intercept == 0


@unsettled
@pytest.mark.parametrize("forget", ["oldest", "smallest"])
def test_the_budget_is_respected_and_the_model_still_works(forget):
    X, y = make_moons(400, noise=0.15, random_state=0)
    model = KernelPerceptron("plain", kernel=Gaussian(0.4), budget=40, forget=forget, random_state=0).fit(X, y)
    assert model.n_vectors_ == len(model.expansion_.centers) <= 40
    assert model.n_mistakes_ > 40
    assert model.score(X, y) > 0.8
    for part in np.array_split(np.arange(400), 8):
        model.partial_fit(X[part], y[part])
        assert model.n_vectors_ <= 40


@unsettled
def test_a_budget_that_is_never_reached_changes_nothing(iris):
    X, y = iris
    free = KernelPerceptron("plain", random_state=0).fit(X, y)
    bound = KernelPerceptron("plain", budget=len(y), random_state=0).fit(X, y)
    np.testing.assert_allclose(bound.decision_function(X), free.decision_function(X), atol=1e-12)


def test_the_order_is_fixed_or_drawn_from_the_seed(moons):
    X, y = moons
    fixed = [KernelPerceptron(shuffle=False, random_state=seed).fit(X, y) for seed in (0, 1)]
    np.testing.assert_array_equal(fixed[0].mistakes_, fixed[1].mistakes_)
    drawn = [KernelPerceptron(random_state=seed).fit(X, y) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(drawn[0].mistakes_, drawn[1].mistakes_)
    assert drawn[0].mistakes_.tolist() != drawn[2].mistakes_.tolist()


def test_a_plain_perceptron_that_does_not_settle_warns_and_says_what_to_do(moons):
    X, y = moons
    y = np.where(np.arange(80) < 10, 1 - y, y)
    with pytest.warns(ConvergenceWarning, match="the last of 3 epochs still made .* use kind='averaged'$"):
        model = KernelPerceptron("plain", kernel=Linear(), max_iter=3).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="use kind='averaged' without a budget"):
        KernelPerceptron("plain", kernel=Linear(), max_iter=3, budget=5).fit(X, y)
    assert not model.converged_
    assert (model.margin_, model.novikoff_bound_) == (0.0, math.inf)
    assert not KernelPerceptron(kernel=Linear(), max_iter=3).fit(X, y).converged_


@pytest.mark.parametrize("kind", KINDS)
def test_strings_are_learnt_with_a_kernel_on_strings(kind):
    def letters(a, b):
        return float(len(set(a) & set(b)))

    words, labels = ["kernel", "eigen", "matrix", "dog", "god", "dodo"], ["maths"] * 3 + ["pet"] * 3
    options = {"kernel": Custom(letters), "max_iter": 50, "random_state": 0}
    model = KernelPerceptron(kind, **options).fit(words, labels)
    assert model.converged_
    assert model.predict(["trix", "do"]).tolist() == ["maths", "pet"]
    stream = KernelPerceptron(kind, **options)
    for _ in range(5):
        for word, label in zip(words, labels, strict=True):
            stream.partial_fit([word], [label], classes=["maths", "pet"])
    assert stream.predict(["trix", "do"]).tolist() == ["maths", "pet"]
    assert set(stream.expansion_.centers) <= set(words)


@unsettled
@pytest.mark.parametrize("kind", KINDS)
def test_a_precomputed_kernel_gives_the_same_as_the_kernel(iris, kind):
    X, y = iris
    options = {"max_iter": 50, "random_state": 0}
    direct = KernelPerceptron(kind, kernel=Gaussian(), **options).fit(X, y, np.arange(150) % 3)
    K = Gaussian()(X)
    given = KernelPerceptron(kind, kernel="precomputed", **options).fit(K, y, np.arange(150) % 3)
    np.testing.assert_allclose(given.decision_function(K[:9]), direct.decision_function(X[:9]), atol=1e-10)
    stored = KernelPerceptron(kind, kernel=Precomputed(K)).partial_fit(np.arange(60), y[:60], classes=[0, 1, 2])
    stored.partial_fit(np.arange(60, 150), y[60:])
    stream = KernelPerceptron(kind, kernel=Gaussian()).partial_fit(X, y, classes=[0, 1, 2])
    np.testing.assert_allclose(stored.decision_function(np.arange(9)), stream.decision_function(X[:9]), atol=1e-10)
    with pytest.raises(ValueError, match="partial_fit cannot know a precomputed kernel"):
        given.partial_fit(K, y)
    with pytest.raises(ValueError, match=r"square matrix; got shape \(9, 150\)"):
        clone(given).fit(K[:9], y[:9])


def test_sparse_rows_and_frames_are_learnt_as_arrays_are(iris):
    X, y = iris
    model = KernelPerceptron(kernel=Gaussian(), random_state=0).fit(X, y)
    thin = KernelPerceptron(kernel=Gaussian(), random_state=0).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(thin.decision_function(sparse.csr_array(X)), model.decision_function(X), atol=1e-8)
    frame = pd.DataFrame(X, columns=list("abcd"))
    some = KernelPerceptron(kernel=Gaussian().on(["a", "c"]))
    for part in (slice(0, 70), slice(70, 150)):
        some.partial_fit(frame[part], y[part], classes=[0, 1, 2])
    columns = KernelPerceptron(kernel=Gaussian()).partial_fit(X[:, [0, 2]], y, classes=[0, 1, 2])
    np.testing.assert_allclose(some.decision_function(frame), columns.decision_function(X[:, [0, 2]]), atol=1e-10)


@unsettled
def test_many_points_are_swept_in_single_precision_with_the_same_result():
    X, y = make_moons(3000, noise=0.1, random_state=0)
    options = {"kernel": Gaussian(0.5), "max_iter": 2, "random_state": 0}
    wide = KernelPerceptron("plain", **options).fit(X, y)
    assert wide.plan_.solver == "sweep"
    other = KernelPerceptron("plain", budget=3000, **options).fit(X, y)
    assert other.plan_.solver == "pool"
    np.testing.assert_array_equal(wide.mistakes_, other.mistakes_)
    np.testing.assert_allclose(wide.decision_function(X[:50]), other.decision_function(X[:50]), atol=1e-9)


@pytest.mark.parametrize(
    "labels", [["no", "yes"], [False, True], [-1.0, 1.0], np.array(["a", 'b"'], dtype=object), [10, 3]]
)
def test_labels_of_any_type_come_back(moons, labels):
    X, y = moons
    named = np.array(labels)[y]
    model = KernelPerceptron(random_state=0).fit(X, named)
    assert model.predict(X).dtype == named.dtype
    assert set(model.predict(X).tolist()) == set(named.tolist())
    stream = KernelPerceptron().partial_fit(X, named, classes=labels)
    assert stream.score(X, named) > 0.7


def test_points_of_weight_zero_are_as_good_as_left_out(moons):
    X, y = moons
    weight = (np.arange(80) % 4 > 0).astype(float)
    options = {"kernel": Gaussian(), "shuffle": False}
    with_zeros = KernelPerceptron(**options).fit(X, y, weight)
    without = KernelPerceptron(**options).fit(X[weight > 0], y[weight > 0])
    np.testing.assert_allclose(with_zeros.decision_function(X), without.decision_function(X))
    with pytest.raises(ValueError, match="all sample weights are zero"):
        KernelPerceptron().fit(X, y, np.zeros(80))


def test_what_makes_no_sense_is_refused_and_changes_nothing(moons):
    X, y = moons
    model = KernelPerceptron(random_state=0).fit(X, y)
    before = model.decision_function(X)
    holes = np.where(np.arange(80)[:, None] == 3, np.nan, X)
    for act, message in [
        (lambda: model.fit(holes, y), "NaN"),
        (lambda: model.partial_fit(holes, y), "NaN"),
        (lambda: model.fit(X, np.ones(80)), "needs at least two classes"),
        (lambda: model.fit(X[:1], y[:1]), "only one class"),
        (lambda: model.fit(X, y[:5]), "y must have 80 labels; got 5"),
        (lambda: model.fit(X, None), "requires y"),
        (lambda: model.partial_fit(X, y + 1), r"label 2, but the classes are \[0, 1\]"),
        (lambda: model.partial_fit(X, np.array(["a", "b"])[y]), r"the classes are \[0, 1\]"),
        (lambda: model.partial_fit(X, y, classes=[0, 1, 2]), "not the same as on last call"),
        (lambda: model.partial_fit(X[:, :1], y), "1 features, but KernelPerceptron is expecting 2"),
        (lambda: clone(model).partial_fit(X, y), "classes must be passed on the first call"),
        (lambda: clone(model).partial_fit(X, y, classes=[0]), "label 1"),
        (lambda: clone(model).partial_fit(X, 0 * y, classes=[0]), "only one class, 0"),
        (lambda: clone(model).set_params(kind="best").fit(X, y), "kind must be one of 'averaged', 'plain', 'voted'"),
        (lambda: clone(model).set_params(forget="newest").fit(X, y), "forget must be one of"),
        (lambda: clone(model).set_params(budget=0).fit(X, y), "budget must be a whole number of at least 1 or None"),
        (lambda: clone(model).set_params(max_iter=0).fit(X, y), "max_iter must be a whole number"),
        (lambda: clone(model).set_params(kind="voted", budget=5).fit(X, y), "kind='voted' needs all vectors"),
        (lambda: clone(model).set_params(budget=5).fit(X, y), "kind='averaged' needs all vectors"),
        (lambda: clone(model).set_params(kernel=Sigmoid()).fit(X, y), "positive semi-definite"),
    ]:
        with pytest.raises(ValueError, match=message):
            act()
    np.testing.assert_array_equal(model.decision_function(X), before)
    assert model.partial_fit(X, y).n_iter_ > 1


@pytest.mark.parametrize("kind", ["averaged", "voted"])
def test_a_mean_or_vote_after_a_budget_is_refused(moons, kind):
    X, y = moons
    model = KernelPerceptron("plain", budget=3).partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="earlier calls had a budget"):
        model.set_params(kind=kind, budget=None).partial_fit(X, y)


def test_one_point_of_two_classes_is_a_stream_that_begins():
    model = KernelPerceptron(kernel=Linear()).partial_fit([[2.0]], ["b"], classes=["a", "b"])
    assert (model.n_mistakes_, model.n_vectors_) == (1, 1)
    assert model.predict([[3.0], [-3.0]]).tolist() == ["b", "a"]
    with pytest.raises(NotFittedError):
        KernelPerceptron().predict([[1.0]])


@pytest.mark.parametrize("kind", KINDS)
def test_a_fitted_model_survives_pickling_and_the_kernel_can_be_set(moons, kind):
    X, y = moons
    model = KernelPerceptron(kind, kernel=Gaussian(), max_iter=100, random_state=0)
    model = model.set_params(kernel__length_scale=0.3).fit(X, y)
    assert model.kernel_ == Gaussian(0.3)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(
        again.partial_fit(X, y).decision_function(X), model.partial_fit(X, y).decision_function(X)
    )


def test_each_class_has_an_expansion(iris, moons):
    X, y = iris
    model = KernelPerceptron(random_state=0).fit(X, y)
    np.testing.assert_allclose(np.column_stack([f(X) for f in model.expansions_]), model.decision_function(X))
    assert len(KernelPerceptron().fit(*moons).expansions_) == 1


@unsettled
@pytest.mark.parametrize("kind", KINDS)
def test_the_checks_of_scikit_learn_pass(kind):
    why = "a weight is the length of a step, and a point that comes twice is visited twice"
    expected = dict.fromkeys(
        ["check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"], why
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)  # the array API is not enabled
        check_estimator(KernelPerceptron(kind), expected_failed_checks=expected)
