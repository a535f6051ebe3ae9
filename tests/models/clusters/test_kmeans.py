"""Kernel k-means: Lloyd's laws, scikit-learn's k-means with the linear kernel, objects, and many points."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs, make_circles
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import check_estimator

from mercer import KernelKMeans
from mercer.kernels import Constant, Gaussian, Graph, Linear, Sigmoid, Spectrum, WeisfeilerLehman
from mercer.solvers.clusters import lloyd

X, Y = make_blobs(90, centers=3, cluster_std=1.0, random_state=0)


def measure(kernel, X, labels):
    """The sum of squared distances to the means, from the dense matrix."""
    K = kernel(X)
    groups = [np.flatnonzero(labels == c) for c in np.unique(labels)]
    return sum(K[g, g].sum() - K[np.ix_(g, g)].sum() / len(g) for g in groups)


def test_scikit_learn_finds_nothing_to_complain_about():
    check_estimator(KernelKMeans(3, random_state=0), on_skip=None)


@pytest.mark.parametrize("seed", range(4))
def test_with_the_linear_kernel_it_is_k_means(seed):
    ours = KernelKMeans(3, kernel=Linear(), n_init=5, random_state=seed).fit(X)
    theirs = KMeans(3, n_init=5, random_state=seed).fit(X)
    assert ours.inertia_ == pytest.approx(theirs.inertia_)
    assert adjusted_rand_score(ours.labels_, theirs.labels_) == 1.0
    means = np.array([X[ours.labels_ == c].mean(axis=0) for c in range(3)])
    np.testing.assert_allclose(ours.transform(X), np.linalg.norm(X[:, None] - means, axis=2), atol=1e-6)
    assert ours.score(X) == pytest.approx(theirs.score(X))


@pytest.mark.parametrize("seed", range(5))
def test_the_inertia_never_rises_and_is_that_of_the_labels(seed):
    points = np.random.default_rng(seed).normal(size=(80, 2))
    model = KernelKMeans(6, kernel=Gaussian(0.7), random_state=seed, tol=0.0).fit(points)
    assert (np.diff(model.inertia_path_) <= 1e-12).all()
    assert model.inertia_ == pytest.approx(measure(Gaussian(0.7), points, model.labels_))
    assert model.inertia_ == pytest.approx(-model.score(points), abs=1e-9)
    assert model.converged_
    np.testing.assert_array_equal(model.predict(points), model.labels_)


def test_no_cluster_is_empty_however_many_there_are():
    points = np.repeat(np.arange(4.0), 5)[:, None]
    for count in (4, 7, 20):
        model = KernelKMeans(count, kernel=Gaussian(), random_state=0).fit(points)
        assert len(set(model.labels_)) == count


def test_a_cluster_that_lost_its_points_gets_the_one_furthest_from_its_own():
    from mercer.arrays.place import Place

    sums = lloyd.KernelSums(Linear(), np.array([[0.0], [0.1], [0.2], [5.0]]), 3, Place.find(None, None))
    sums.move(np.array([0, 0, 1, 0]))
    sizes, norms, _ = sums.measure()
    labels = lloyd.assign(sums, sizes, norms)
    assert sorted(np.bincount(labels, minlength=3)) == [1, 1, 2]
    assert np.sum(labels == labels[3]) == 1


def test_sums_of_points_that_moved_are_those_of_all_points(monkeypatch):
    whole = KernelKMeans(4, kernel=Gaussian(), random_state=1).fit(X)
    monkeypatch.setattr(lloyd, "MOVED", 2.0)
    monkeypatch.setattr(lloyd, "STRIP", 3000)
    parts = KernelKMeans(4, kernel=Gaussian(), random_state=1).fit(X)
    np.testing.assert_array_equal(whole.labels_, parts.labels_)
    assert parts.inertia_ == pytest.approx(whole.inertia_)


@pytest.mark.parametrize("clusters", [3, 20])
def test_values_in_float32_give_the_clusters_of_float64(clusters, monkeypatch):
    exact = KernelKMeans(clusters, kernel=Gaussian(), random_state=0).fit(X)
    monkeypatch.setattr(lloyd, "SINGLE", 1)
    rough = KernelKMeans(clusters, kernel=Gaussian(), random_state=0).fit(X)
    assert rough.inertia_ == pytest.approx(exact.inertia_, rel=1e-5)
    assert adjusted_rand_score(rough.labels_, exact.labels_) == 1.0


def test_more_starts_are_never_worse():
    points = np.random.default_rng(0).normal(size=(60, 2))
    found = [KernelKMeans(5, kernel=Gaussian(), n_init=n, random_state=0).fit(points).inertia_ for n in (1, 8)]
    assert found[1] <= found[0]


def test_a_kernel_that_knows_circles_separates_them():
    points, ring = make_circles(200, factor=0.3, noise=0.03, random_state=0)
    kernel = Linear().after(lambda rows: np.square(rows).sum(axis=1, keepdims=True))
    assert adjusted_rand_score(ring, KernelKMeans(2, kernel=kernel, random_state=0).fit_predict(points)) == 1.0
    assert adjusted_rand_score(ring, KernelKMeans(2, kernel=Linear(), random_state=0).fit_predict(points)) < 0.1


def test_a_matrix_of_values_gives_the_clusters_of_its_kernel():
    K = Gaussian()(X)
    one = KernelKMeans(3, kernel=Gaussian(), random_state=0).fit(X)
    two = KernelKMeans(3, kernel="precomputed", random_state=0).fit(K)
    np.testing.assert_array_equal(one.labels_, two.labels_)
    np.testing.assert_array_equal(two.predict(K), one.labels_)
    with pytest.raises(ValueError, match="use predict, or give the points and a kernel"):
        two.transform(K)


def test_strings_have_clusters():
    words = ["abab", "baba", "abba", "cdcd", "dcdc", "cddc"]
    labels = KernelKMeans(2, kernel=Spectrum(1).normalize(), random_state=0).fit_predict(words)
    assert adjusted_rand_score(labels, [0, 0, 0, 1, 1, 1]) == 1.0


def test_centres_of_all_points_give_the_exact_clusters():
    exact = KernelKMeans(3, kernel=Gaussian(2.0), n_init=5, random_state=0).fit(X)
    model = KernelKMeans(3, kernel=Gaussian(2.0), solver="nystroem", n_centers=90, n_init=5, random_state=0).fit(X)
    assert model.inertia_ == pytest.approx(exact.inertia_, rel=1e-6)
    assert adjusted_rand_score(exact.labels_, model.labels_) == 1.0
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_few_centres_find_blobs_too():
    model = KernelKMeans(3, kernel=Gaussian(2.0), solver="nystroem", n_centers=20, random_state=0).fit(X)
    exact = KernelKMeans(3, kernel=Gaussian(2.0), random_state=0).fit(X)
    assert model.solver_ == "nystroem"
    assert len(model.expansion_.centers) <= 20
    assert adjusted_rand_score(exact.labels_, model.labels_) > 0.9


def test_a_constant_kernel_has_clusters_without_any_spread():
    model = KernelKMeans(2, kernel=Constant(2.0), random_state=0).fit(X)
    assert model.inertia_ == pytest.approx(0.0, abs=1e-9)
    assert set(model.labels_) == {0, 1}


def test_one_cluster_has_the_variance_as_inertia():
    assert KernelKMeans(1, kernel=Linear()).fit(X).inertia_ == pytest.approx(90 * X.var(axis=0).sum())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_clusters": 91}, "n_samples=90 should be >= n_clusters=91"),
        ({"n_clusters": 0}, "n_clusters must be a whole number of at least 1"),
        ({"solver": "fast"}, "solver must be 'auto', 'exact' or 'nystroem'"),
        ({"kernel": "precomputed", "solver": "nystroem"}, "needs a kernel, not kernel='precomputed'"),
        ({"kernel": Sigmoid(1.0, -2.0)}, "needs a positive semi-definite kernel"),
        ({"tol": -1.0}, "tol must be a number that is not negative"),
    ],
)
def test_what_gives_no_clusters_is_refused_and_changes_nothing(options, message):
    model = KernelKMeans(**options)
    with pytest.raises(ValueError, match=message):
        model.fit(X)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_rounds_that_are_too_few_are_said_to_be():
    points = np.random.default_rng(0).normal(size=(300, 2))
    with pytest.warns(UserWarning, match="raise max_iter"):
        model = KernelKMeans(10, kernel=Gaussian(), max_iter=1, random_state=0).fit(points)
    assert not model.converged_


def test_one_point_equal_points_and_graphs_without_nodes_have_clusters():
    assert KernelKMeans(1).fit([[1.0, 2.0]]).labels_.tolist() == [0]
    for points, kernel in ((np.ones((6, 2)), Gaussian()), ([Graph([])] * 6, WeisfeilerLehman())):
        model = KernelKMeans(2, kernel=kernel, random_state=0).fit(points)
        assert set(model.labels_) == {0, 1}  # none is empty
        assert model.inertia_ == pytest.approx(0.0, abs=1e-12)


def test_points_of_other_features_are_no_points_of_the_clusters():
    with pytest.raises(ValueError, match="X has 3 features, but KernelKMeans is expecting 2"):
        KernelKMeans(2, random_state=0).fit(np.eye(2)).predict(np.eye(3))
