import numpy as np
import pytest

from mercer.playground.composing import read_kernel
from mercer.playground.fitting import fit_state
from mercer.playground.learners import LEARNERS
from mercer.playground.presets import PRESETS
from mercer.playground.state import PlayError, State
from mercer.playground.views.certificate import certify_state
from mercer.playground.views.features import draw_features
from mercer.playground.views.gram import draw_gram
from mercer.playground.views.numbers import list_numbers
from mercer.playground.views.residuals import draw_residuals
from mercer.playground.views.spectrum import draw_spectrum
from mercer.playground.views.surface import Curve, Regions, draw_surface, score_classes

CLASSIFIERS = [key for key, learner in LEARNERS.items() if "classification" in learner.tasks and key != "pca"]
REGRESSORS = [key for key, learner in LEARNERS.items() if "regression" in learner.tasks and key != "pca"]


@pytest.mark.parametrize("key", CLASSIFIERS)
def test_regions_are_what_the_model_predicts(key: str, plane: State, clouds: State) -> None:
    for state in (plane, clouds):
        fit = fit_state(state.with_learner(key))
        found = draw_surface(fit, 23)
        assert isinstance(found, Regions)
        grid = np.stack(np.meshgrid(found.xs, found.ys), axis=-1).reshape(-1, 2)
        np.testing.assert_array_equal(found.codes.ravel(), fit.model.predict(grid))
        assert found.scores.shape == (23, 23)
        assert found.boundary
        assert found.vectors.max() < state.n
        for path in found.boundary:  # on which two classes are level
            _, scores = score_classes(fit, path)
            two = np.sort(np.column_stack([-scores, scores]) if scores.ndim == 1 else scores, axis=1)[:, -2:]
            if key not in ("neighbours", "perceptron"):  # whose scores jump or are large
                assert np.median(two[:, 1] - two[:, 0]) < 0.2


@pytest.mark.parametrize("key", [key for key in CLASSIFIERS if key != "import_vectors"])  # which are refused
def test_regions_are_what_the_model_predicts_where_nothing_tells_classes_apart(key: str) -> None:
    fit = fit_state(State("classification", np.zeros((4, 2)), [0, 1, 0, 1], learner=key, view=(-1, 1, -1, 1)))
    found = draw_surface(fit, 5)
    grid = np.stack(np.meshgrid(found.xs, found.ys), axis=-1).reshape(-1, 2)
    np.testing.assert_array_equal(found.codes.ravel(), fit.model.predict(grid))


@pytest.mark.parametrize("key", REGRESSORS)
def test_a_curve_is_what_the_model_predicts(key: str, line: State) -> None:
    fit = fit_state(line.with_learner(key))
    found = draw_surface(fit, 50)
    assert isinstance(found, Curve)
    np.testing.assert_array_equal(found.values, fit.model.predict(found.grid[:, None]))
    assert (found.lower is not None) == (key == "ridge")
    assert found.tube == (0.1 if key == "svm" else None)


def test_margins_of_a_machine_are_where_its_values_say(plane: State) -> None:
    fit = fit_state(plane.with_learner("svm"))
    found = draw_surface(fit, 120)
    assert found.margins
    for path in found.margins:
        np.testing.assert_allclose(np.abs(fit.model.decision_function(path)), 1.0, atol=0.05)


def test_probabilities_at_the_margins_of_logistic_regression(plane: State) -> None:
    fit = fit_state(plane.with_learner("logistic").with_setting("alpha", 0.001))
    found = draw_surface(fit, 120)
    chances = np.concatenate([fit.model.predict_proba(path)[:, 1] for path in found.margins])
    assert np.minimum(abs(chances - 0.1), abs(chances - 0.9)).max() < 0.01


def test_points_without_a_part_in_a_machine_are_none_of_its_vectors(plane: State) -> None:
    for key, setting in (("svm", {}), ("any_loss", {"loss": "Hinge"})):
        state = State(**{**vars(plane), "learner": key, "settings": setting})
        fit = fit_state(state)
        kept = draw_surface(fit, 5).vectors
        assert 0 < len(kept) < plane.n
        without = fit_state(state.with_points(state.x[kept], state.y[kept]))
        f, g = (each.model.decision_function(plane.x) for each in (fit, without))
        np.testing.assert_allclose(f, g, atol=0.02 * abs(f).max())


def test_a_principal_component_is_drawn_as_a_field(plane: State, line: State) -> None:
    for state in (plane, line):
        fit = fit_state(state.with_learner("pca").with_setting("component", 2.0))
        found = draw_surface(fit, 15)
        if isinstance(found, Regions):
            assert found.codes is None
            assert found.margins
    with pytest.raises(PlayError, match="1 direction only"):
        draw_surface(fit_state(line.with_kernel("Linear()").with_learner("pca").with_setting("component", 2.0)), 15)


def test_a_gram_picture_is_the_kernel_in_the_order_it_says(clouds: State) -> None:
    fit = fit_state(clouds)
    for most in (200, 10):
        found = draw_gram(fit, most)
        np.testing.assert_array_equal(found.matrix, fit.kernel(clouds.x[found.order]))
        assert len(found.order) == min(most, clouds.n)
        assert (np.diff(clouds.y[found.order]) >= 0).all()
        assert (found.low, found.high) == (found.matrix.min(), found.matrix.max())
        assert found.total == clouds.n
    assert draw_gram(clouds.with_points([], [])).matrix.shape == (0, 0)


def test_eigenfunctions_are_eigenvectors_at_the_points(plane: State, line: State) -> None:
    for state in (plane, line):
        found = draw_spectrum(state, count=4, resolution=9)
        K = draw_gram(state).matrix
        np.testing.assert_allclose(found.eigenvalues, np.linalg.eigvalsh(K)[::-1], atol=1e-10)
        for j in range(found.count):
            at_points = found.evaluate(j, state.x[found.order])
            np.testing.assert_allclose(at_points, np.sqrt(state.n) * found.eigenvectors[:, j], atol=1e-8)
            np.testing.assert_allclose(K @ at_points, found.eigenvalues[j] * at_points, atol=1e-8)
            assert found.eigenfunctions(j).shape == ((9,) if state.dim == 1 else (9, 9))


def test_signs_do_not_change_with_the_order_of_points(plane: State) -> None:
    turned = plane.with_points(plane.x[::-1], plane.y[::-1])
    one, other = draw_spectrum(plane, resolution=9), draw_spectrum(turned, resolution=9)
    for j in range(3):
        np.testing.assert_allclose(one.eigenfunctions(j), other.eigenfunctions(j), atol=1e-6)
    np.testing.assert_allclose(draw_features(plane).coordinates, draw_features(turned).coordinates[::-1], atol=1e-8)


def test_a_kernel_of_two_features_has_two_eigenfunctions(plane: State) -> None:
    found = draw_spectrum(plane.with_kernel("Linear()"))
    assert found.count == 2
    with pytest.raises(PlayError, match="there are 2"):
        found.eigenfunctions(2)


def test_degrees_of_freedom_are_those_of_the_fit(line: State, plane: State) -> None:
    for state in (line, plane):
        fit = fit_state(state.with_learner("ridge"))
        model = getattr(fit.model, "regressor_", fit.model)
        assert draw_spectrum(fit).degrees_of_freedom == pytest.approx(model.diagnose().effective_dof)
    assert draw_spectrum(plane.with_learner("svm")).alpha is None


def test_features_have_the_distances_of_the_kernel(plane: State) -> None:
    for kernel in ("Polynomial(2, 0)", "Linear()", "Polynomial(1, 1)"):
        state = plane.with_kernel(kernel)
        found = draw_features(state)
        assert found.explicit
        K = draw_gram(state).matrix
        order = draw_gram(state).order
        np.testing.assert_allclose(found.coordinates[order] @ found.coordinates[order].T, K, atol=1e-10)
        assert len(found.names) == found.coordinates.shape[1]


def test_shares_of_variance_are_those_of_the_centred_matrix(plane: State) -> None:
    found = draw_features(plane)
    K = fit_state(plane).kernel(plane.x)
    H = np.eye(plane.n) - 1 / plane.n
    values = np.linalg.eigvalsh(H @ K @ H)[::-1]
    np.testing.assert_allclose(found.shares, values[:3] / values.sum(), rtol=1e-6)
    np.testing.assert_allclose((found.coordinates**2).sum(axis=0), values[:3], rtol=1e-6)


def test_what_is_no_kernel_can_be_looked_at_all_the_same(plane: State) -> None:
    state = plane.with_kernel("Sigmoid()")
    assert draw_spectrum(state).eigenvalues[-1] < 0
    found = draw_features(state)
    assert np.isfinite(found.coordinates).all()
    assert draw_gram(state).matrix.shape == (plane.n, plane.n)
    flat = draw_features(state.with_kernel("Constant(1.0) + Constant(2.0)"))
    assert np.abs(flat.coordinates - flat.coordinates[0]).max() < 1e-12


def test_residuals_are_targets_minus_values_with_and_without_each_point(line: State) -> None:
    fit = fit_state(line)
    found = draw_residuals(fit)
    np.testing.assert_allclose(found.fitted + found.residuals, line.y)
    for i in (0, 11):
        rest = fit_state(line.erase_point(i))
        assert found.left_out[i] == pytest.approx(line.y[i] - rest.model.predict(line.x[[i]])[0])
    assert draw_residuals(fit_state(line.with_learner("svm"))).left_out is None


@pytest.mark.parametrize("key", CLASSIFIERS)
def test_margins_are_negative_where_classes_are_wrong(key: str, plane: State, clouds: State) -> None:
    for state in (plane, clouds):
        fit = fit_state(state.with_learner(key))
        found = draw_residuals(fit)
        assert (np.diff(found.margins) >= 0).all()
        wrong = (fit.model.predict(state.x) != state.y)[found.order]
        assert wrong[found.margins < -1e-12].all()
        assert not wrong[found.margins > 1e-12].any()


@pytest.mark.parametrize(
    ("key", "learner"), [("sine", each) for each in REGRESSORS] + [("blobs", each) for each in CLASSIFIERS]
)
def test_numbers_are_told_of_every_learner(key: str, learner: str) -> None:
    fit = fit_state(PRESETS[key].make(count=30).with_learner(learner))
    found = {each.name: each.text for each in list_numbers(fit)}
    assert {"training error", "time"} <= found.keys()
    assert ("leave-one-out error" in found) == (learner == "ridge")
    assert all(each.meaning for each in list_numbers(fit))


def test_the_leave_one_out_error_in_numbers_is_that_of_refits(plane: State) -> None:
    state = plane.with_learner("ridge")
    wrong = sum(fit_state(state.erase_point(i)).model.predict(state.x[[i]])[0] != state.y[i] for i in range(state.n))
    found = {each.name: each.text for each in list_numbers(fit_state(state))}
    assert found["leave-one-out error"] == f"{wrong} of {state.n}"


def test_a_refutation_has_points_in_the_picture_that_say_so(plane: State, line: State) -> None:
    for state in (plane, line):
        kernel = read_kernel("Gaussian() - 0.3*Linear()")
        found = certify_state(state.with_kernel(repr(kernel)))
        assert found.kind == "refuted"
        assert found.points.shape == (len(found.coefficients), 2)
        gram = kernel(found.points[:, : state.dim])
        assert found.coefficients @ gram @ found.coefficients < 0
    assert certify_state(plane).kind == "proved"
    assert certify_state(plane, stop=lambda: True) is None


def test_the_band_of_ridge_is_what_was_chosen(line: State) -> None:
    found = {band: draw_surface(fit_state(line.with_setting("band", band)), 40) for band in ("posterior", "none")}
    mean, deviation = fit_state(line).model.predict(found["posterior"].grid[:, None], return_std=True)
    np.testing.assert_allclose(found["posterior"].upper - mean, 2 * deviation, rtol=1e-9)
    np.testing.assert_allclose(mean - found["posterior"].lower, 2 * deviation, rtol=1e-9)
    assert found["posterior"].samples.shape == (40, 5)
    assert np.abs(found["posterior"].samples - mean[:, None]).max() < 6 * deviation.max()
    assert (found["none"].upper, found["none"].samples) == (None, None)
