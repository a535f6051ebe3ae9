"""Ridge regression with several kernels."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.metrics import r2_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import MemoryBudgetError, MultipleKernelRidge
from mercer.features import Nystroem
from mercer.kernels import Constant, Gaussian, Graph, Linear, Precomputed, Sigmoid, Spectrum, WeisfeilerLehman
from mercer.models import SVR, KernelRidge

RNG = np.random.default_rng(0)
X = RNG.normal(size=(70, 4))
SIGNAL = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] * X[:, 2]
Y = SIGNAL + 0.1 * RNG.normal(size=70)
KERNELS = [Gaussian().on([0]), Gaussian(2.0).on([1, 2]), Gaussian().on([3])]
OUTPUTS = np.column_stack([np.sin(2 * X[:, 0]), X[:, 1] * X[:, 2], X[:, 3]]) + 0.1 * RNG.normal(size=(70, 3))


def expected_failures(estimator):
    reason = "weights are learned by leaving out one point at a time, and the twin of a repeated point stays"
    dense, sparse = (f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse"))
    return {dense: reason} if estimator.kernels is None else {dense: reason, sparse: reason}


@parametrize_with_checks(
    [MultipleKernelRidge(random_state=0), MultipleKernelRidge([Gaussian(), "linear"], per_target=True, n_candidates=5,
                                                              random_state=0)],
    expected_failed_checks=expected_failures,
)  # fmt: skip
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


def make(kernels=KERNELS, **options):
    return MultipleKernelRidge(kernels, **{"random_state": 0} | options)


# -- one set of weights ------------------------------------------------------------------------------------------------


def test_the_model_is_ridge_with_the_learned_kernel():
    model = make().fit(X, Y)
    ridge = KernelRidge(model.alpha_, kernel=model.kernel_, fit_intercept=True).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), ridge.predict(X), atol=1e-9)
    np.testing.assert_allclose(model.loo_predictions_, ridge.leave_one_out(), atol=1e-8)
    assert model.loo_score_ == pytest.approx(r2_score(Y, model.loo_predictions_))
    factors = model.weights_ / model.mixture_.scales
    expected = sum(f * k(X) for f, k in zip(factors, KERNELS, strict=True))
    np.testing.assert_allclose(model.kernel_(X), expected, atol=1e-12)
    assert model.predict_interval(X[:2]).shape == (2, 2)


def test_a_kernel_of_noise_gets_no_weight_and_weighing_beats_the_average():
    model = make().fit(X, Y)
    assert model.weights_[2] < 0.01
    assert model.weights_[:2].min() > 0.05
    assert model.weights_.sum() == pytest.approx(1.0)
    average = make(method="average").fit(X, Y)
    assert model.loo_score_ > average.loo_score_
    np.testing.assert_array_equal(average.weights_, np.full(3, 1 / 3))


def test_sparse_weights_name_the_fewest_kernels():
    twins = [*KERNELS, Gaussian().on([0]), Gaussian(1.01).on([0])]
    sparse = make(twins, sparse=True).fit(X, Y)
    assert np.count_nonzero(sparse.weights_) == 2
    assert sparse.weights_[1] > 0
    dense = make(twins).fit(X, Y)
    assert dense.loo_score_ >= sparse.loo_score_ - 1e-9 > 0.9
    np.testing.assert_allclose(dense.predict(X), make().fit(X, Y).predict(X), atol=0.1)


def test_multiples_of_kernels_change_neither_weights_nor_predictions():
    model = make().fit(X, Y)
    scaled = make([1e6 * KERNELS[0], KERNELS[1], 1e-6 * KERNELS[2]]).fit(X, Y)
    np.testing.assert_allclose(scaled.weights_, model.weights_, atol=1e-5)
    np.testing.assert_allclose(scaled.predict(X), model.predict(X), atol=1e-4)


def test_shares_split_the_variance_of_the_function():
    model = make().fit(X, Y)
    f = model.predict(X)
    parts = [factor * (k(X) @ model.dual_coef_) for factor, k in zip(model.mixture_.factors, KERNELS, strict=True)]
    np.testing.assert_allclose(model.shares_, [np.cov(part, f, ddof=0)[0, 1] / f.var() for part in parts], atol=1e-9)
    assert model.shares_.sum() == pytest.approx(1.0)
    own = make(per_target=True, n_candidates=30).fit(X, OUTPUTS)
    assert own.shares_.shape == (3, 3)
    np.testing.assert_allclose(own.shares_.sum(axis=0), 1.0)
    assert (own.shares_.diagonal() > 0.8).all()
    assert not make().fit(X, np.ones(70)).shares_.any()


def test_the_sum_is_that_of_the_kernels_as_they_are():
    model = make(method="sum").fit(X, Y)
    np.testing.assert_allclose(model.kernel_(X), sum(k(X) for k in KERNELS), rtol=1e-12)
    large = [1e7 * kernel for kernel in KERNELS]
    own, scaled = (make(kernels, method="sum", per_target=True).fit(X, OUTPUTS) for kernels in (KERNELS, large))
    np.testing.assert_allclose(own.mixture_.kernel(1)(X), sum(k(X) for k in KERNELS), rtol=1e-12)
    np.testing.assert_allclose(scaled.predict(X), own.predict(X), rtol=1e-3)


def test_several_targets_share_weights_or_have_their_own():
    shared = make().fit(X, OUTPUTS)
    assert shared.weights_.shape == (3,)
    assert shared.predict(X).shape == (70, 3)
    own = make(per_target=True, n_candidates=30).fit(X, OUTPUTS)
    assert own.weights_.argmax(axis=0).tolist() == [0, 1, 2]
    assert own.loo_score_ > shared.loo_score_
    assert own.loo_score_ == own.loo_scores_.mean()
    for t in range(3):
        ridge = KernelRidge(own.alpha_[t], kernel=own.mixture_.kernel(t), fit_intercept=True).fit(X, OUTPUTS[:, t])
        np.testing.assert_allclose(own.predict(X)[:, t], ridge.predict(X), atol=1e-8)
        np.testing.assert_allclose(own.expansion_of(t)(X), own.predict(X)[:, t], atol=1e-9)
        np.testing.assert_allclose(shared.expansion_of(t)(X), shared.predict(X)[:, t], atol=1e-9)
        assert own.loo_scores_[t] == pytest.approx(r2_score(OUTPUTS[:, t], ridge.leave_one_out()))
    average = make(per_target=True, method="average").fit(X, OUTPUTS)
    assert (average.weights_ == 1 / 3).all()
    assert len(set(average.alpha_)) > 1


def test_predictions_left_out_are_kept_for_shared_weights_only():
    own = make(per_target=True, n_candidates=4).fit(X, OUTPUTS)
    with pytest.raises(AttributeError, match="only loo_scores_, the R² of each target, are kept"):
        own.loo_predictions_  # noqa: B018


@pytest.mark.torch
@pytest.mark.parametrize("options", [{}, {"per_target": True, "n_candidates": 6}])
def test_tensors_and_devices_change_nothing(options):
    torch = pytest.importorskip("torch")
    kernels = [Gaussian(), Linear()]
    here = make(kernels, **options).fit(X, OUTPUTS)
    there = make(kernels, device="cpu", **options).fit(X, OUTPUTS)
    np.testing.assert_allclose(there.predict(X), here.predict(X), atol=1e-8)
    points = torch.from_numpy(X)
    tensors = make(kernels, **options).fit(points, torch.from_numpy(OUTPUTS))
    np.testing.assert_allclose(tensors.predict(points).numpy(), here.predict(X), atol=1e-8)
    np.testing.assert_allclose(tensors.shares_, here.shares_, atol=1e-8)


def test_one_target_has_weights_of_its_own_anyway():
    one, other = make(per_target=True).fit(X, Y), make().fit(X, Y)
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


def test_points_of_weight_0_are_left_out():
    weights = np.arange(70) % 3 * 1.0
    kept = weights > 0
    for options in ({}, {"per_target": True, "n_candidates": 10}):
        y = OUTPUTS if options else Y
        some = make(**options).fit(X[kept], y[kept], weights[kept])
        whole = make(**options).fit(X, y, weights)
        np.testing.assert_allclose(whole.predict(X), some.predict(X), atol=1e-7)
        assert len(whole.dual_coef_) == 70
        assert not whole.dual_coef_[~kept].any()


# -- columns of any kind -----------------------------------------------------------------------------------------------


def make_views(n=60):
    rng = np.random.default_rng(1)
    words = ["".join(rng.choice(list("ACGT"), size=10)) for _ in range(n)]
    ring, path = [[1, 3], [0, 2], [1, 3], [2, 0]], [[1], [0, 2], [1, 3], [2]]
    rings = rng.integers(2, size=n)
    graphs = [Graph(ring if r else path, "CCC" + rng.choice(list("CON"))) for r in rings]
    a, b = rng.normal(size=(2, n))
    y = np.array([w.count("AC") for w in words]) + rings + np.sin(2 * a) + 0.1 * rng.normal(size=n)
    column = np.empty(n, dtype=object)
    column[:] = graphs
    return pd.DataFrame({"dna": words, "molecule": column, "a": a, "b": b}), y


VIEWS = [Spectrum(2).on("dna"), WeisfeilerLehman(2).on("molecule"), Gaussian().on(["a"]), Gaussian().on(["b"])]


def test_strings_graphs_and_numbers_stand_side_by_side():
    table, y = make_views()
    model = make(VIEWS).fit(table, y)
    assert (model.weights_[:3] > 0).all()
    assert model.weights_[3] < 0.02
    alone = [make([view]).fit(table, y).loo_score_ for view in VIEWS]
    assert model.loo_score_ > max(alone) + 0.1
    rows = [tuple(row) for row in table.itertuples(index=False)]
    by_place = make([Spectrum(2).on(0), WeisfeilerLehman(2).on(1), Gaussian().on([2]), Gaussian().on([3])]).fit(rows, y)
    np.testing.assert_allclose(by_place.predict(rows[:5]), model.predict(table[:5]), atol=1e-6)
    assert str(model.mixture_).count("\n") == 3


def test_polars_tables_are_tables():
    table, y = make_views()
    some, kernels = table[["dna", "a"]], [VIEWS[0], VIEWS[2]]
    other = pl.DataFrame(some.to_dict("list"))
    np.testing.assert_allclose(
        make(kernels).fit(other, y).predict(other), make(kernels).fit(some, y).predict(some), atol=1e-9
    )


def test_matrices_are_kernels_too():
    matrices = [Precomputed(kernel(X)) for kernel in KERNELS]
    model = make(matrices).fit(np.arange(70), Y)
    np.testing.assert_allclose(model.predict(np.arange(70)), make().fit(X, Y).predict(X), atol=1e-4)


# -- the learned object ------------------------------------------------------------------------------------------------


def test_the_learned_kernel_is_a_kernel_and_a_transformer():
    model = make().fit(X, Y)
    np.testing.assert_allclose(model.transform(X[:5]), model.kernel_(X[:5], X), atol=1e-12)
    assert model.kernel_.theorem() is not None
    machine = make_pipeline(make(), SVR(kernel="precomputed", C=10.0)).fit(X, Y)
    direct = SVR(kernel=model.kernel_, C=10.0).fit(X, Y)
    np.testing.assert_allclose(machine.predict(X[:9]), direct.predict(X[:9]), atol=1e-3)
    assert Nystroem(model.kernel_, 20, random_state=0).fit_transform(X).shape == (70, 20)
    own = make(per_target=True, n_candidates=5).fit(X, OUTPUTS)
    assert not hasattr(own, "transform")
    assert not hasattr(own, "kernel_")


def test_parameters_are_those_given_and_a_second_fit_starts_anew():
    model = make(per_target=True, n_candidates=5)
    assert clone(model).kernels == KERNELS
    model.fit(X, OUTPUTS).set_params(per_target=False).fit(X, OUTPUTS)
    assert not hasattr(model, "loo_scores_")
    fresh = make().fit(X, OUTPUTS)
    np.testing.assert_array_equal(model.predict(X), fresh.predict(X))
    again = fresh.set_params(per_target=True, n_candidates=5).fit(X, OUTPUTS)
    assert not hasattr(again, "expansion_")
    assert again.predict(X).shape == (70, 3)


def test_a_fit_that_fails_changes_nothing():
    model = make().fit(X, Y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="contains NaN"):
        model.fit(X, np.full(70, np.nan))
    np.testing.assert_array_equal(model.predict(X), before)


def test_penalties_may_be_given():
    model = make(alphas=[0.5, 5.0]).fit(X, Y)
    assert model.alpha_ in (0.5, 5.0)
    own = make(alphas=[0.5, 5.0], per_target=True, n_candidates=5).fit(X, OUTPUTS)
    assert set(own.alpha_) <= {0.5, 5.0}


# -- what says nothing -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernels", [[Constant(2.0)], [0.0 * Linear(), Constant(0.0)]])
def test_without_a_kernel_that_says_anything_the_model_is_the_mean(kernels):
    model = make(kernels).fit(X, Y)
    assert not model.weights_.any()
    assert model.kernel_ == Constant(0.0)
    np.testing.assert_allclose(model.predict(X), np.full(70, Y.mean()))


def test_constant_targets_get_no_weights():
    for options in ({}, {"per_target": True, "n_candidates": 4}):
        model = make(**options).fit(X, np.full((70, 2), 7.0))
        assert not model.weights_.any()
        np.testing.assert_allclose(model.predict(X), 7.0)
    zero = make(fit_intercept=False).fit(X, np.zeros(70))
    assert not zero.predict(X).any()


def test_a_target_of_noise_is_predicted_by_little_but_its_mean():
    rng = np.random.default_rng(4)
    noise = rng.normal(size=70)
    assert np.std(make().fit(X, noise).predict(rng.normal(size=(50, 4)))) < 0.4


def test_twins_share_what_one_of_them_would_get():
    alone, twins = make(KERNELS[:2]).fit(X, Y), make([KERNELS[0], *KERNELS[:2]]).fit(X, Y)
    np.testing.assert_allclose(twins.predict(X), alone.predict(X), atol=0.02)
    assert twins.weights_[:2].sum() == pytest.approx(alone.weights_[0], abs=0.05)


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernels", "error", "message"),
    [
        ([], ValueError, "kernels is empty; give at least one"),
        (Gaussian(), TypeError, "kernels must be a list such as"),
        ("rbf", TypeError, "kernels must be a list such as"),
        ([Gaussian(), 3], TypeError, r"kernels\[1\] must be a mercer kernel such as Gaussian\(\).*; got 3"),
        (["rbf", "precomputed"], ValueError, r"kernels\[1\] is 'precomputed'.*Precomputed\(K\)"),
        (["rbf", "nothing"], ValueError, "'nothing'"),
        ([Gaussian(), Sigmoid()], ValueError, "needs a positive semi-definite kernel"),
        ([Gaussian(), Gaussian().on([9])], ValueError, r"Gaussian\(length_scale=1.0\).on\(\[9\]\)"),
    ],
)
def test_kernels_that_cannot_be_used_are_named(kernels, error, message):
    with pytest.raises(error, match=message):
        make(kernels).fit(X, Y)


def test_columns_that_cannot_be_read_are_named_with_their_kernel():
    table, y = make_views()
    with pytest.raises(TypeError, match=r"Gaussian\(length_scale=1.0\) needs numbers, but row 0, column 'dna'"):
        make([VIEWS[0], Gaussian().on(["a", "dna"])]).fit(table, y)
    with pytest.raises(ValueError, match="there is no column 'rna'"):
        make([VIEWS[0], Spectrum(2).on("rna")]).fit(table, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "best"}, "method must be one of"),
        ({"per_target": True, "sparse": True}, "with per_target=True leave it out"),
        ({"n_candidates": 0}, "n_candidates must be a whole number of at least 1"),
        ({"alphas": [0.0]}, "alphas must be a list of positive penalties"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        make(**options).fit(X, OUTPUTS)


def test_what_does_not_fit_into_memory_says_so():
    with pytest.raises(MemoryBudgetError, match="of 3 targets at 70 points"):
        make(per_target=True, memory=10_000).fit(X, OUTPUTS)
    with pytest.raises(ValueError, match="at least 2 points with a weight"):
        make().fit(X, Y, np.eye(70)[0])


def test_each_step_is_told_to_callbacks():
    steps = []

    class Count:
        def setup(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context, **more):
            steps.append(context)

        def on_fit_task_end(self, estimator, context, **more):
            return False

        def teardown(self, estimator, context):
            pass

    make(per_target=True, n_candidates=7).set_callbacks(Count()).fit(X, OUTPUTS)
    assert len(steps) == 8
