"""Kernel canonical correlations: linear ones as a limit, the laws of the problem, objects, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.cross_decomposition import CCA
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from mercer import KernelCCA, MemoryBudgetError
from mercer.kernels import Constant, Gaussian, Linear, Sigmoid, Spectrum

RNG = np.random.default_rng(0)
SHARED = RNG.normal(size=(80, 2))
X = SHARED @ RNG.normal(size=(2, 4)) + 0.5 * RNG.normal(size=(80, 4)) + 3.0
Y = SHARED @ RNG.normal(size=(2, 3)) + 0.5 * RNG.normal(size=(80, 3)) - 5.0


def correlate_by_qr(A, B):
    """Linear canonical correlations: cosines of the angles between the spaces of centred columns."""
    bases = [np.linalg.qr(side - side.mean(axis=0))[0] for side in (A, B)]
    return np.linalg.svd(bases[0].T @ bases[1])[1]


def circle(n, seed):
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, n)
    return (
        np.c_[np.cos(angle)] + 0.05 * rng.normal(size=(n, 1)),
        np.c_[np.sin(angle)] + 0.05 * rng.normal(size=(n, 1)),
    )


@pytest.mark.filterwarnings("ignore:KernelCCA. the kernels have only")  # of targets of two classes
def test_scikit_learn_finds_nothing_to_complain_about():
    check_estimator(KernelCCA(), on_skip=None)


@pytest.mark.parametrize("alpha", [0.0, 1e-9])
def test_without_a_penalty_linear_kernels_have_the_linear_correlations(alpha):
    model = KernelCCA(3, kernel=Linear(), kernel_y=Linear(), alpha=alpha).fit(X, Y)
    np.testing.assert_allclose(model.correlations_, correlate_by_qr(X, Y), atol=1e-9)
    f, g = model.transform(X, Y)
    np.testing.assert_allclose(f.T @ f / 80, np.eye(3), atol=1e-8)
    np.testing.assert_allclose(f.T @ g / 80, np.diag(model.correlations_), atol=1e-8)
    assert model.score(X, Y) == pytest.approx(model.correlations_.mean())


def test_the_linear_correlations_are_those_of_scikit_learn():
    theirs = CCA(2, max_iter=2000, tol=1e-10).fit(X, Y)
    f, g = theirs.transform(X, Y)
    expected = [np.corrcoef(f[:, j], g[:, j])[0, 1] for j in range(2)]
    found = KernelCCA(2, kernel=Linear(), kernel_y=Linear(), alpha=0.0).fit(X, Y)
    np.testing.assert_allclose(found.correlations_, expected, atol=1e-3)


@pytest.mark.parametrize("alpha", [1e-3, 0.5, 20.0])
def test_functions_solve_the_problem_that_is_written_down(alpha):
    model = KernelCCA(4, kernel=Gaussian(2.0), kernel_y=Gaussian(3.0), alpha=alpha).fit(X, Y)
    values = model.correlations_
    assert (values >= 0).all()
    assert (values <= 1).all()
    assert (np.diff(values) <= 0).all()
    n = len(X)
    f, g = model.transform(X, Y)
    np.testing.assert_allclose(np.r_[f.mean(axis=0), g.mean(axis=0)], 0.0, atol=1e-9)
    np.testing.assert_allclose(f.T @ g / n, np.diag(values), atol=1e-8)
    for scores, expansion in ((f, model.expansion_), (g, model.expansion_y_)):
        penalty = expansion.coef.T @ expansion.kernel(expansion.centers) @ expansion.coef
        np.testing.assert_allclose((scores.T @ scores + alpha * penalty) / n, np.eye(4), atol=1e-8)


def test_the_correlations_are_the_eigenvalues_of_the_textbook():
    n, alpha = len(X), 0.7
    H = np.eye(n) - 1 / n
    K, L = H @ Gaussian(2.0)(X) @ H, H @ Gaussian(3.0)(Y) @ H
    R, S = np.linalg.solve(K + alpha * np.eye(n), K), np.linalg.solve(L + alpha * np.eye(n), L)
    expected = np.sqrt(np.sort(np.linalg.eigvals(R @ S).real)[::-1][:3])
    model = KernelCCA(3, kernel=Gaussian(2.0), kernel_y=Gaussian(3.0), alpha=alpha).fit(X, Y)
    np.testing.assert_allclose(model.correlations_, expected, atol=1e-9)


def test_swapping_the_sides_swaps_the_functions():
    here = KernelCCA(kernel=Gaussian(2.0), kernel_y=Linear()).fit(X, Y)
    there = KernelCCA(kernel=Linear(), kernel_y=Gaussian(2.0)).fit(Y, X)
    np.testing.assert_allclose(there.correlations_, here.correlations_, atol=1e-12)
    (f, g), (b, a) = here.transform(X, Y), there.transform(Y, X)
    signs = np.sign((f * a).sum(axis=0))
    np.testing.assert_allclose(a * signs, f, atol=1e-8)
    np.testing.assert_allclose(b * signs, g, atol=1e-8)


def test_the_order_of_pairs_does_not_matter_but_who_is_paired_does():
    order = np.random.default_rng(1).permutation(80)
    model, again = (KernelCCA(kernel=Gaussian(2.0)).fit(*pairs) for pairs in ((X, Y), (X[order], Y[order])))
    np.testing.assert_allclose(again.correlations_, model.correlations_, atol=1e-10)
    np.testing.assert_allclose(again.transform(X), model.transform(X), atol=1e-7)
    assert model.score(X, Y) > 0.8
    assert abs(model.score(X, Y[order])) < 0.4
    assert KernelCCA(kernel=Linear(), kernel_y=Linear()).fit(X, Y[order]).correlations_[0] < 0.5


def test_a_circle_has_something_in_common_and_independent_sides_have_nothing():
    pairs, new = circle(150, 0), circle(300, 1)
    assert KernelCCA(1, kernel=Linear(), kernel_y=Linear()).fit(*pairs).score(*new) < 0.3
    model = KernelCCA(1, kernel=Gaussian(0.5), kernel_y=Gaussian(0.5)).fit(*pairs)
    assert model.score(*new) > 0.9
    apart = KernelCCA(1, kernel=Gaussian(0.5), kernel_y=Gaussian(0.5)).fit(pairs[0], pairs[1][::-1])
    assert apart.score(new[0], new[1][::-1]) < 0.3


def test_strings_have_something_in_common_with_numbers():
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("ab"), size=8)) for _ in range(60)]
    numbers = np.array([[word.count("ab"), rng.normal()] for word in words])
    model = KernelCCA(1, kernel=Spectrum(2), kernel_y=Linear(), alpha=0.1).fit(words[:40], numbers[:40])
    assert model.score(words[40:], numbers[40:]) > 0.95
    other = KernelCCA(1, kernel=Linear(), kernel_y=Spectrum(2), alpha=0.1).fit(numbers[:40], words[:40])
    assert other.correlations_ == pytest.approx(model.correlations_)


def test_matrices_of_kernels_serve_on_either_side():
    K, L = Gaussian(2.0)(X), Gaussian(3.0)(Y)
    model = KernelCCA(kernel=Gaussian(2.0), kernel_y=Gaussian(3.0)).fit(X, Y)
    given = KernelCCA(kernel="precomputed", kernel_y="precomputed").fit(K, L)
    for found, expected in zip(given.transform(K[:5], L[:7]), model.transform(X[:5], Y[:7]), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-8)


def test_numbers_are_a_column_and_pipelines_take_the_components_of_the_first_side():
    model = KernelCCA(1, kernel_y=Linear()).fit(X, Y[:, 0])
    np.testing.assert_array_equal(model.transform(X), KernelCCA(1, kernel_y=Linear()).fit(X, Y[:, :1]).transform(X))
    np.testing.assert_array_equal(model.transform(X, Y[:3, 0].tolist())[1], model.transform(X, Y[:3, :1])[1])
    line = make_pipeline(StandardScaler(), KernelCCA(1, kernel_y=Linear()))
    assert line.fit_transform(X, Y[:, 0]).shape == (80, 1)
    assert line.score(X, Y[:, 0]) > 0.8


def test_a_search_finds_the_penalty_that_serves_other_pairs():
    search = GridSearchCV(KernelCCA(1, kernel=Gaussian(0.5), kernel_y=Gaussian(0.5)), {"alpha": [1e-9, 1.0, 1e4]}, cv=3)
    assert search.fit(*circle(60, 0)).best_params_ == {"alpha": 1.0}


def test_columns_of_the_second_side_are_those_of_the_fit():
    frame = pd.DataFrame(Y, columns=["one", "two", "three"])
    model = KernelCCA(kernel_y=Linear()).fit(X, frame)
    assert model.feature_names_in_y_.tolist() == ["one", "two", "three"]
    np.testing.assert_array_equal(model.transform(X, frame)[1], model.transform(X, frame.copy())[1])
    with pytest.raises(ValueError, match="about y"):
        model.transform(X, frame[["two", "one", "three"]])
    assert not hasattr(model.fit(X, Y), "feature_names_in_y_")
    with pytest.raises(ValueError, match=r"expecting 3 features.*about y"):
        model.transform(X, Y[:, :2])


def test_read_only_and_strided_arrays_are_left_as_they_are():
    wide = np.repeat(X, 2, axis=1)[:, ::2]
    wide.flags.writeable = False
    np.testing.assert_array_equal(KernelCCA().fit(wide, Y).correlations_, KernelCCA().fit(X, Y).correlations_)


def test_more_components_than_there_are_functions_are_missed_aloud():
    with pytest.warns(UserWarning, match="only 3 independent functions"):
        model = KernelCCA(9, kernel_y=Linear()).fit(X, Y)
    assert model.transform(X).shape == (80, 3)
    assert len(model.get_feature_names_out()) == 3


def test_points_far_from_the_origin_have_the_correlations_of_centred_ones():
    models = [KernelCCA(3, kernel=Linear(), kernel_y=Linear(), alpha=1e-6).fit(X + far, Y) for far in (0.0, 1e5)]
    np.testing.assert_allclose(models[1].correlations_, models[0].correlations_, atol=1e-4)


@pytest.mark.parametrize(
    ("options", "pairs", "message"),
    [
        ({"kernel": Constant(2.0)}, (X, Y), "no two points of X apart"),
        ({}, (X, np.ones((80, 2))), "no two points of y apart"),
        ({}, (X, Y[:-1]), "X has 80 points and y has 79"),
        ({}, (X[:1], Y[:1]), "at least 2 pairs"),
        ({}, (X, None), "requires y"),
        ({}, (X, np.where(Y > -5.0, np.nan, Y)), "NaN"),
        ({"n_components": 0}, (X, Y), "n_components must be a whole number"),
        ({"alpha": -1.0}, (X, Y), "alpha must be"),
        ({"kernel_y": "rgb"}, (X, Y), "kernel must be a mercer kernel.*about y"),
        ({"kernel_y": Sigmoid()}, (X, Y), "positive semi-definite.*about y"),
        ({"kernel_y": "precomputed"}, (X, Y), "square matrix.*about y"),
        ({"kernel": Spectrum(2), "kernel_y": Spectrum(2)}, ([], []), "at least one object"),
    ],
)
def test_what_cannot_be_done_is_said_and_changes_nothing(options, pairs, message):
    model = KernelCCA().fit(X, Y)
    before = dict(vars(model))
    model.set_params(**options)
    with pytest.raises(ValueError, match=f"(?s){message}"):
        model.fit(*pairs)
    model.set_params(**{name: before[name] for name in options})
    assert all(vars(model)[name] is value for name, value in before.items())


def test_pairs_are_needed_for_a_score():
    model = KernelCCA().fit(X, Y)
    for pairs in ((X, Y[1:]), (X[:1], Y[:1])):
        with pytest.raises(ValueError, match="compares pairs"):
            model.score(*pairs)
    with pytest.raises(ValueError, match="requires y"):
        model.score(X, None)
    with pytest.raises(NotFittedError):
        clone(model).score(X, Y)


def test_a_budget_that_is_too_small_is_refused():
    with pytest.raises(MemoryBudgetError, match="canonical correlations of 80 pairs"):
        KernelCCA(memory="100KB").fit(X, Y)
