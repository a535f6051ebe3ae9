"""The profile is the kernel, and the functions have it as their covariance."""

import numpy as np
import pytest

from mercer import SVC, KernelRidge
from mercer.inspection import KernelDisplay
from mercer.inspection.kernel import _draw_functions
from mercer.kernels import Gaussian, Linear, Matern, Periodic, Sigmoid


def test_the_profile_is_the_kernel_at_a_point(is_legible):
    k = Periodic(period=2.0) * Gaussian(4.0) + 0.1 * Linear()
    display = KernelDisplay.from_kernel(k, at=(0.0, 1.5))
    for line, z in zip(display.ax_[0].lines, (0.0, 1.5), strict=False):
        x, values = line.get_data()
        np.testing.assert_allclose(values, k(x[:, None], [[z]])[:, 0])
        assert line.get_label() == f"k(x, {z:g})"
    assert display.figure_.get_suptitle() == repr(k)
    is_legible(display.figure_)


def test_random_functions_have_the_kernel_as_covariance():
    x = np.linspace(-5, 5, 8)[:, None]
    samples = _draw_functions("test", Matern(1.5), x, 20000, 0)
    np.testing.assert_allclose(samples.T @ samples / 20000, Matern(1.5)(x), atol=0.05)


def test_a_seed_repeats_the_functions():
    one, two, other = (KernelDisplay.from_kernel(Gaussian(), random_state=seed).samples for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, two)
    assert not np.allclose(one, other)


def test_what_is_no_kernel_has_a_profile_and_no_functions():
    bad = Sigmoid(scale=1.0, offset=-1.0)
    with pytest.raises(ValueError, match=r"negative eigenvalue.*n_samples=0"):
        KernelDisplay.from_kernel(bad)
    display = KernelDisplay.from_kernel(bad, n_samples=0)
    assert len(display.samples) == 0


def test_the_kernel_of_a_model_is_drawn_along_one_of_its_features(moons):
    X, y = moons
    k = Gaussian([0.5, 3.0])
    model = SVC(kernel=k).fit(X, y)
    for feature, scale in ((0, 0.5), (1, 3.0)):
        display = KernelDisplay.from_estimator(model, feature=feature)
        np.testing.assert_allclose(display.profiles[0], np.exp(-(display.x**2) / (2 * scale**2)))
        assert display.ax_[0].get_xlabel() == f"x{feature}"
    assert KernelDisplay.from_estimator(KernelRidge(kernel=Gaussian()).fit(X[:, :1], y)).name == "x"


def test_a_feature_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="no feature 2"):
        KernelDisplay.from_kernel(Gaussian(), n_features=2, feature=2)


def test_a_line_through_several_features_says_where_the_others_are(is_legible):
    display = KernelDisplay.from_kernel(Gaussian(), n_features=13, feature=2)
    assert display.ax_[1].texts[0].get_text() == "slice: 12 others at 0"
    assert KernelDisplay.from_kernel(Gaussian(), n_features=2, feature=1).note == "slice: x0 = 0"
    assert KernelDisplay.from_kernel(Gaussian()).note == ""
    is_legible(display.figure_)
