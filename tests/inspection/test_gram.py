"""The heat map is the matrix in another order, and the order shows blocks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC, Gram
from mercer.inspection import GramDisplay
from mercer.inspection.gram import order_by_similarity
from mercer.kernels import Gaussian, Linear, Spectrum


def test_the_picture_is_the_matrix_in_the_order_it_names(blobs, is_legible):
    X, y = blobs
    display = GramDisplay.from_kernel(Gaussian(), X, y)
    shown = display.ax_.images[0].get_array()
    np.testing.assert_allclose(shown, Gaussian()(X)[np.ix_(display.order, display.order)])
    assert display.groups == [("east", 25), ("north", 25), ("west", 25)]
    assert y[display.order].tolist() == sorted(y)
    assert [tick.get_text() for tick in display.ax_.get_yticklabels()] == ["east", "north", "west"]
    assert display.figure_.axes[1].get_ylabel() == "k(x, z)"
    is_legible(display.figure_)


def test_lines_are_drawn_between_classes(blobs):
    X, y = blobs
    ax = GramDisplay.from_kernel(Gaussian(), X, y).ax_
    assert sorted({float(line.get_ydata()[0]) for line in ax.lines if line.get_ydata()[0] > 1}) == [24.5, 49.5]


def test_targets_that_are_numbers_sort_the_rows(wave):
    X, y = wave
    display = GramDisplay.from_kernel(Gaussian(), X, y)
    assert (np.diff(y[display.order]) >= 0).all()
    assert "ordered by target" in display.ax_.get_xlabel()


def test_clusters_come_out_as_blocks():
    rng = np.random.default_rng(0)
    label = rng.permutation(np.repeat(np.arange(4), 10))
    X = 10.0 * label[:, None] + rng.normal(size=(40, 1))
    display = GramDisplay.from_kernel(Gaussian(), X)
    assert (np.diff(label[display.order]) != 0).sum() == 3


@given(st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_an_order_by_similarity_is_a_permutation(n, seed):
    A = np.random.default_rng(seed).normal(size=(n, 2))
    assert sorted(order_by_similarity(A @ A.T).tolist()) == list(range(n))


def test_the_given_order_can_be_kept(blobs):
    X, y = blobs
    assert GramDisplay.from_kernel(Gaussian(), X, y, order="given").order.tolist() == list(range(75))


def test_values_of_both_signs_have_colours_around_zero(blobs):
    X, y = blobs
    (image,) = GramDisplay.from_kernel(Linear(), X, y).ax_.images
    low, high = image.get_clim()
    assert low == -high == pytest.approx(-np.abs(Linear()(X)).max())


def test_many_points_are_sampled_with_a_seed(wave):
    X, _ = wave
    one, two = (GramDisplay.from_kernel(Gaussian(), X, max_points=20, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(one.order, two.order)
    assert len(set(one.order.tolist())) == 20
    np.testing.assert_allclose(one.matrix, Gaussian()(X[one.order]))


def test_matrices_lazy_matrices_and_estimators_give_the_same_picture(blobs):
    X, y = blobs
    expected = GramDisplay.from_kernel(Gaussian(), X, y).matrix
    K = Gaussian()(X)
    np.testing.assert_allclose(GramDisplay.from_gram(K, y).matrix, expected)
    np.testing.assert_allclose(GramDisplay.from_gram(Gram(Gaussian(), X), y).matrix, expected)
    np.testing.assert_allclose(GramDisplay.from_estimator(SVC(kernel=Gaussian()).fit(X, y), X, y).matrix, expected)
    precomputed = SVC(kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(GramDisplay.from_estimator(precomputed, K, y).matrix, expected)


def test_a_pipeline_transforms_first(blobs):
    X, y = blobs
    model = make_pipeline(StandardScaler(), SVC(kernel=Gaussian())).fit(X, y)
    display = GramDisplay.from_estimator(model, X, y, order="given")
    np.testing.assert_allclose(display.matrix, Gaussian()(StandardScaler().fit_transform(X)))


def test_kernels_on_texts_work():
    texts = ["banana", "bandana", "cabana", "letter", "better", "setter"]
    display = GramDisplay.from_kernel(Spectrum(2).normalize(), texts)
    assert {frozenset(display.order[:3].tolist()), frozenset(display.order[3:].tolist())} == {
        frozenset({0, 1, 2}), frozenset({3, 4, 5})
    }  # fmt: skip


def test_mistakes_are_explained(blobs):
    X, y = blobs
    with pytest.raises(ValueError, match=r"square, got shape \(75, 2\)"):
        GramDisplay.from_gram(X)
    with pytest.raises(ValueError, match=r"y must have shape \(75,\); got \(3,\)"):
        GramDisplay.from_kernel(Gaussian(), X, y[:3])
    with pytest.raises(ValueError, match="order must be"):
        GramDisplay.from_kernel(Gaussian(), X, order="random")
    with pytest.raises(ValueError, match="which was not given"):
        GramDisplay.from_kernel(Gaussian(), X, order="target")
    with pytest.raises(ValueError, match="StandardScaler has none"):
        GramDisplay.from_estimator(StandardScaler().fit(X), X)
