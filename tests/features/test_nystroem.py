import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline

from mercer.features import Nystroem
from mercer.kernels import Constant, Custom, Gaussian, Linear, Overlap, Polynomial

X = np.random.default_rng(0).normal(size=(80, 3))
SELECTIONS = pytest.mark.parametrize("selection", ["rpcholesky", "uniform"])


@SELECTIONS
def test_features_are_the_best_approximation_by_the_centres(selection):
    k = Gaussian(1.5)
    phi = Nystroem(k, n_components=20, selection=selection, random_state=0).fit(X)
    Z = X[:7] + 0.1
    C = phi.centers_
    by_hand = k(Z, C) @ np.linalg.solve(k(C), k(C, X))
    np.testing.assert_allclose(phi.transform(Z) @ phi.transform(X).T, by_hand, atol=1e-10)
    np.testing.assert_array_equal(X[phi.component_indices_], C)
    np.testing.assert_allclose(phi.transform(C) @ phi.transform(X).T, k(C, X), atol=1e-12)
    assert np.all((phi.transform(X) ** 2).sum(axis=1) <= 1 + 1e-12)


def test_the_residual_trace_is_what_the_features_leave_unexplained():
    phi = Nystroem(Gaussian(1.5), n_components=20, random_state=0).fit(X)
    assert phi.residual_trace_ == pytest.approx(80 - (phi.transform(X) ** 2).sum(), rel=1e-9)
    assert not hasattr(phi.set_params(selection="uniform").fit(X), "residual_trace_")


@SELECTIONS
def test_with_all_points_as_centres_the_map_is_exact(selection):
    features = Nystroem(Gaussian(), n_components=80, selection=selection, random_state=0).fit_transform(X)
    np.testing.assert_allclose(features @ features.T, Gaussian()(X), atol=1e-12)


@SELECTIONS
def test_more_components_than_points_warn_and_use_all_points(selection):
    with pytest.warns(UserWarning, match="n_components=81, but there are only 80 points; all of them become centres"):
        phi = Nystroem(n_components=81, selection=selection).fit(X)
    assert len(phi.centers_) == 80


@SELECTIONS
def test_centres_that_repeat_others_are_dropped(selection):
    doubled = np.concatenate([X[:10]] * 3)
    phi = Nystroem(Gaussian(), n_components=30, selection=selection, random_state=0).fit(doubled)
    features = phi.transform(doubled)
    assert features.shape == (30, 10)
    assert len(phi.get_feature_names_out()) == 10
    np.testing.assert_allclose(features @ features.T, Gaussian()(doubled), atol=1e-12)


@SELECTIONS
def test_a_kernel_of_low_rank_needs_no_more_centres_than_its_rank(selection):
    features = Nystroem(Polynomial(2), n_components=60, selection=selection, random_state=0).fit_transform(X)
    assert features.shape[1] == 10
    np.testing.assert_allclose(features @ features.T, Polynomial(2)(X), rtol=1e-10, atol=1e-10)


@SELECTIONS
def test_very_smooth_kernels_stay_accurate(selection):
    t = np.linspace(0, 1, 300).reshape(-1, 1)
    features = Nystroem(Gaussian(3.0), n_components=200, selection=selection, random_state=0).fit_transform(t)
    assert features.shape[1] < 20
    assert np.abs(features @ features.T - Gaussian(3.0)(t)).max() < 1e-13


def common_letters(a, b):
    return float(len(set(a) & set(b)))


@SELECTIONS
def test_any_objects_will_do(selection):
    words = ["kernel", "trick", "gram", "matrix", "feature", "map", "hilbert", "space"]
    k = Custom(common_letters)
    phi = Nystroem(k, n_components=8, selection=selection, random_state=0).fit(words)
    features = phi.transform(words)
    np.testing.assert_allclose(features @ features.T, k(words), atol=1e-12)
    assert phi.transform(["a new word"]).shape == (1, features.shape[1])
    assert set(phi.centers_) <= set(words)


def test_frames_with_text_work_where_each_kernel_takes_its_columns():
    frame = pd.DataFrame({"size": [1.0, 2.0, 2.5, 4.0], "colour": ["red", "blue", "red", "green"]})
    k = Gaussian().on("size") * Overlap().on("colour") + 0.1
    phi = Nystroem(k, n_components=4, random_state=0).fit(frame)
    features = phi.transform(frame)
    np.testing.assert_allclose(features @ features.T, k(frame), atol=1e-12)
    assert phi.feature_names_in_.tolist() == ["size", "colour"]
    named = phi.set_output(transform="pandas").transform(frame)
    assert named.columns.tolist() == [f"nystroem{i}" for i in range(4)]


def test_sparse_data_gives_the_same_features():
    S = sparse.random_array((40, 6), density=0.3, random_state=1, format="csr")
    dense = Nystroem(n_components=10, random_state=0).fit(S.toarray())
    np.testing.assert_allclose(
        Nystroem(n_components=10, random_state=0).fit(S).transform(S), dense.transform(S.toarray()), atol=1e-10
    )


def test_float32_data_has_float32_features():
    features = Nystroem(n_components=10, random_state=0).fit_transform(X.astype(np.float32))
    assert features.dtype == np.float32
    full = Nystroem(n_components=80, random_state=0).fit_transform(X.astype(np.float32))
    assert np.abs(full @ full.T - Gaussian()(X)).max() < 1e-4


def test_the_seed_decides_the_centres():
    first, again, other = (Nystroem(n_components=10, random_state=seed).fit(X) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.component_indices_, again.component_indices_)
    assert set(first.component_indices_) != set(other.component_indices_)


def test_a_pickled_map_maps_the_same():
    phi = Nystroem(Gaussian() + Linear(), n_components=10, random_state=0).fit(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(phi)).transform(X), phi.transform(X))


def test_a_grid_search_sets_parameters_inside_the_kernel():
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    search = GridSearchCV(
        Pipeline([("nystroem", Nystroem(Gaussian(), n_components=30, random_state=0)), ("ridge", Ridge(0.01))]),
        {"nystroem__kernel__length_scale": [0.01, 1.5]},
        cv=3,
    ).fit(X, y)
    assert search.best_params_ == {"nystroem__kernel__length_scale": 1.5}
    assert search.best_estimator_["nystroem"].kernel_ == Gaussian(1.5)
    assert search.estimator["nystroem"].kernel == Gaussian()


def test_a_grid_search_reaches_kernels_inside_kernels():
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    model = make_pipeline(Nystroem(Gaussian() + 0.5 * Linear(), n_components=30, random_state=0), Ridge(0.01))
    grid = {"nystroem__kernel__k1__length_scale": [0.05, 1.0], "nystroem__kernel__k2__weight": [0.1, 1.0]}
    search = GridSearchCV(model, grid, cv=2).fit(X, y)
    chosen = search.best_params_
    expected = (
        Gaussian(chosen["nystroem__kernel__k1__length_scale"]) + chosen["nystroem__kernel__k2__weight"] * Linear()
    )
    assert search.best_estimator_["nystroem"].kernel_ == expected


def test_parameters_of_kernels_are_listed_set_and_cloned():
    phi = Nystroem(Gaussian(2.0) + Linear())
    assert phi.get_params()["kernel__k1__length_scale"] == 2.0
    assert "kernel__k1__length_scale" not in phi.get_params(deep=False)
    copy = clone(phi).set_params(kernel__k1__length_scale=3.0, n_components=5)
    assert (copy.kernel, copy.n_components) == (Gaussian(3.0) + Linear(), 5)
    assert phi.kernel == Gaussian(2.0) + Linear()
    assert phi.set_params(kernel=Polynomial(), kernel__degree=3).kernel == Polynomial(degree=3)


def test_parameters_that_do_not_exist_are_refused():
    with pytest.raises(ValueError, match="Gaussian has no parameter 'gamma'"):
        Nystroem(Gaussian()).set_params(kernel__gamma=1.0)
    with pytest.raises(ValueError, match="kernel is None, which has no parameters; give it a kernel first"):
        Nystroem().set_params(kernel__length_scale=1.0)
    with pytest.raises(ValueError, match="Invalid parameter"):
        Nystroem().set_params(components=3)


def test_wrong_arguments_are_refused_with_what_to_do():
    for count in (0, -1, 2.5, "all"):
        with pytest.raises(ValueError, match="n_components must be a whole number of at least 1"):
            Nystroem(n_components=count).fit(X)
    with pytest.raises(ValueError, match="'rpcholesky' or 'uniform', got 'kmeans'"):
        Nystroem(selection="kmeans").fit(X)
    with pytest.raises(TypeError, match=r"must be a mercer kernel, for example Gaussian\(\); got 'rbf'"):
        Nystroem("rbf").fit(X)
    with pytest.raises(TypeError, match=r"for example mercer\.kernels\.Custom\(common_letters\)"):
        Nystroem(common_letters).fit(X)
    with pytest.raises(ValueError, match="has no features to learn"):
        Nystroem(Constant(0.0), n_components=2).fit(X)
    with pytest.raises(ValueError, match="no features to learn"):
        Nystroem(Constant(0.0), n_components=2, selection="uniform").fit(X)
    phi = Nystroem(n_components=5).fit(X)
    with pytest.raises(ValueError, match="X has 2 features, but Nystroem is expecting 3"):
        phi.transform(X[:, :2])
    with pytest.raises(ValueError, match="NaN"):
        phi.transform([[1.0, 2.0, np.nan]])
