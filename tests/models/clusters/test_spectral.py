"""Spectral clustering: scikit-learn's with the same similarities, all solvers, objects, and what is refused."""

import numpy as np
import pytest
from sklearn.cluster import SpectralClustering
from sklearn.datasets import make_blobs, make_circles
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import check_estimator

from mercer import KernelSpectralClustering
from mercer.kernels import Constant, Gaussian, Graph, Linear, Spectrum, WeisfeilerLehman
from mercer.solvers.clusters import cuts

X, RING = make_circles(240, factor=0.4, noise=0.04, random_state=0)
KERNEL = Gaussian(0.12)
SOLVERS = ["exact", "neighbors", "nystroem"]


def test_scikit_learn_finds_nothing_to_complain_about():
    check_estimator(KernelSpectralClustering(3, random_state=0), on_skip=None)


@pytest.mark.parametrize("solver", SOLVERS)
def test_rings_are_told_apart_and_new_points_follow(solver):
    model = KernelSpectralClustering(2, kernel=KERNEL, solver=solver, random_state=0).fit(X)
    assert adjusted_rand_score(model.labels_, RING) == 1.0
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    new, ring = make_circles(100, factor=0.4, noise=0.04, random_state=1)
    assert adjusted_rand_score(model.predict(new), ring) == 1.0
    assert model.eigenvalues_[0] == pytest.approx(1.0, abs=1e-2)


def test_with_the_same_similarities_it_finds_what_scikit_learn_finds():
    points, _ = make_blobs(150, centers=4, cluster_std=0.8, random_state=3)
    K = Gaussian(2.0)(points)
    theirs = SpectralClustering(4, affinity="precomputed", random_state=0).fit_predict(K)
    for model, data in (
        (KernelSpectralClustering(4, kernel=Gaussian(2.0), random_state=0), points),
        (KernelSpectralClustering(4, kernel="precomputed", random_state=0), K),
    ):
        assert adjusted_rand_score(model.fit_predict(data), theirs) > 0.95


@pytest.mark.parametrize("small", [50, 1000], ids=["iterated", "dense"])
def test_eigenvectors_are_those_of_the_scaled_matrix(small, monkeypatch):
    monkeypatch.setattr(cuts, "SMALL", small)
    model = KernelSpectralClustering(4, kernel=Gaussian(0.3), solver="exact", random_state=0).fit(X)
    K = Gaussian(0.3)(X)
    roots = np.sqrt(K.sum(axis=1))
    values, vectors = np.linalg.eigh(K / roots / roots[:, None])
    np.testing.assert_allclose(model.eigenvalues_, values[:-5:-1], atol=1e-5)
    rows = vectors[:, :-5:-1]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    np.testing.assert_allclose(model.embedding_ @ model.embedding_.T, rows @ rows.T, atol=2e-3)


def test_as_many_eigenvalues_are_one_as_there_are_parts_that_do_not_touch():
    points = np.r_[np.zeros((5, 1)), np.full((6, 1), 50.0), np.full((7, 1), 90.0)]
    points += np.random.default_rng(0).normal(size=points.shape)
    model = KernelSpectralClustering(4, kernel=Gaussian(2.0), random_state=0).fit(points)
    np.testing.assert_allclose(model.eigenvalues_[:3], 1.0, atol=1e-9)
    assert model.eigenvalues_[3] < 0.9


@pytest.mark.parametrize("small", [50, 1000], ids=["iterated", "dense"])
def test_parts_that_touch_no_other_need_no_eigenvectors(small, monkeypatch):
    monkeypatch.setattr(cuts, "SMALL", small)
    points, part = make_blobs([90, 60, 40, 30], centers=[[0, 0], [0, 50], [50, 0], [50, 50]], random_state=0)
    model = KernelSpectralClustering(4, kernel=Gaussian(3.0), solver="neighbors", random_state=0).fit(points)
    np.testing.assert_array_equal(model.eigenvalues_, 1.0)
    assert adjusted_rand_score(model.labels_, part) == 1.0
    two = KernelSpectralClustering(2, kernel=Gaussian(3.0), solver="neighbors", random_state=0).fit(points)
    np.testing.assert_array_equal(np.sort(np.bincount(two.labels_)), [100, 120])  # 90 + 30 and 60 + 40
    np.testing.assert_array_equal(two.predict(points), two.labels_)
    more = KernelSpectralClustering(5, kernel=Gaussian(3.0), solver="neighbors", random_state=0).fit(points)
    np.testing.assert_array_equal(more.eigenvalues_[:4], 1.0)
    assert more.eigenvalues_[4] < 1 - 1e-4
    assert (np.bincount(more.labels_) > 0).all()
    for label in range(5):
        assert len(set(part[more.labels_ == label])) == 1


def test_iterated_eigenvectors_of_neighbours_are_those_of_the_dense_matrix(monkeypatch):
    points, _ = make_blobs(300, centers=3, cluster_std=2.5, n_features=4, random_state=1)
    found = []
    for small in (1000, 50):
        monkeypatch.setattr(cuts, "SMALL", small)
        found.append(KernelSpectralClustering(4, solver="neighbors", random_state=0).fit(points))
    np.testing.assert_allclose(found[1].eigenvalues_, found[0].eigenvalues_, atol=1e-8)
    np.testing.assert_allclose(*(m.embedding_ @ m.embedding_.T for m in found), atol=1e-3)


def test_words_are_clustered_by_their_letters():
    words = ["abab", "baba", "abba", "cdcd", "dcdc", "cddc"]
    labels = KernelSpectralClustering(2, kernel=Spectrum(1) + 0.01, random_state=0).fit_predict(words)
    assert len(set(labels[:3])) == len(set(labels[3:])) == 1 != len(set(labels))


def test_kernels_with_negative_values_are_refused_with_another_way():
    with pytest.raises(ValueError, match=r"never negative, but Linear\(\) has the value .* exp\(kernel\)"):
        KernelSpectralClustering(2, kernel=Linear()).fit(X)


def test_a_point_that_is_like_no_other_not_even_itself_is_named():
    with pytest.raises(ValueError, match="row 2 sum to 0; leave it out"):
        KernelSpectralClustering(2, kernel=Spectrum(2)).fit(["abab", "baba", "a", "bb"])


def test_a_fit_that_fails_changes_nothing_and_what_is_given_is_checked():
    model = KernelSpectralClustering(2, kernel=KERNEL, random_state=0).fit(X)
    before = model.labels_
    with pytest.raises(ValueError, match="n_samples=1 should be >= n_clusters=2"):
        model.fit(X[:1])
    assert model.labels_ is before
    with pytest.raises(ValueError, match="solver must be one of"):
        KernelSpectralClustering(2, solver="fast").fit(X)
    with pytest.raises(ValueError, match="needs a kernel, not kernel='precomputed'"):
        KernelSpectralClustering(2, kernel="precomputed", solver="nystroem").fit(KERNEL(X))
    with pytest.raises(NotFittedError):
        KernelSpectralClustering(2).predict(X)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_one_point_equal_points_and_constant_kernels_have_clusters(solver):
    assert KernelSpectralClustering(1, solver=solver).fit([[1.0, 2.0]]).labels_.tolist() == [0]
    for points, kernel in ((np.ones((6, 2)), None), (X[:20], Constant(2.0))):
        model = KernelSpectralClustering(2, kernel=kernel, solver=solver, random_state=0).fit(points)
        assert model.eigenvalues_[0] == pytest.approx(1.0)
        assert set(model.labels_) <= {0, 1}


def test_graphs_without_nodes_and_points_of_other_features_are_refused():
    with pytest.raises(ValueError, match="row 0 sum to 0; leave it out"):
        KernelSpectralClustering(2, kernel=WeisfeilerLehman()).fit([Graph([])] * 4)
    with pytest.raises(ValueError, match="X has 3 features, but KernelSpectralClustering is expecting 2"):
        KernelSpectralClustering(2, kernel=KERNEL, random_state=0).fit(X).predict(np.eye(3))
