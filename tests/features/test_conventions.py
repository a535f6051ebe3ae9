"""Every map is a good citizen of scikit-learn."""

import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import check_estimator

from mercer.features import (
    ExplicitMap,
    Fourier,
    MinMaxHash,
    Nystroem,
    Polynomial,
    RandomFourier,
    Sinc,
    TensorSketch,
    Trigonometric,
)
from mercer.kernels import Gaussian, Linear

MAPS = [
    Polynomial(), Trigonometric(), Fourier(), Sinc(), ExplicitMap(2.0 * Linear() + 1), Nystroem(n_components=5),
    RandomFourier(Gaussian(2.0), n_components=6), TensorSketch(n_components=10), MinMaxHash(n_components=8),
]  # fmt: skip
EVERY_MAP = pytest.mark.parametrize("phi", MAPS, ids=lambda phi: type(phi).__name__)

# These checks set n_components to 1, which is odd.
ODD = [
    "check_dont_overwrite_parameters", "check_methods_sample_order_invariance", "check_methods_subset_invariance",
    "check_fit2d_1sample", "check_fit2d_1feature", "check_fit2d_predict1d",
]  # fmt: skip


@EVERY_MAP
def test_the_checks_of_scikit_learn_pass(phi):
    failing = dict.fromkeys(ODD, "n_components = 1 is odd") if isinstance(phi, RandomFourier) else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks fit five components to fewer points, among other things
        check_estimator(phi, expected_failed_checks=failing)


@EVERY_MAP
def test_names_are_as_many_as_columns_and_distinct(phi):
    frame = pd.DataFrame(np.random.default_rng(0).uniform(size=(20, 3)), columns=["a", "b", "c"])
    phi = clone(phi).set_output(transform="pandas")
    out = phi.fit_transform(frame)
    assert out.columns.tolist() == phi.get_feature_names_out().tolist()
    assert out.columns.is_unique


@EVERY_MAP
def test_a_map_that_is_not_fitted_says_so(phi):
    with pytest.raises(NotFittedError):
        clone(phi).transform([[1.0]])
    with pytest.raises(NotFittedError):
        clone(phi).get_feature_names_out()


@EVERY_MAP
def test_missing_values_and_other_columns_are_refused(phi):
    phi = clone(phi).fit(np.random.default_rng(0).uniform(size=(20, 3)))
    with pytest.raises(ValueError, match="NaN"):
        phi.transform([[0.0, np.nan, 1.0]])
    with pytest.raises(ValueError, match="is expecting 3 features"):
        phi.transform([[0.0, 1.0]])


def test_importing_the_maps_leaves_heavy_modules_alone():
    code = (
        "import sys, mercer, mercer.kernels; early = 'mercer.features' in sys.modules; import mercer.features; "
        "print(early, 'sklearn.kernel_approximation' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == (
        "False False\n"
    )
