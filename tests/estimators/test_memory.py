"""Every estimator keeps its memory budget, with 20,000 points: peaks as the system measures them."""

import sys

import pytest

from mercer import models
from mercer.arrays.budget import parse_memory
from mercer.kernels import Gaussian

from .peak_memory import Meter

pytestmark = pytest.mark.cluster

POINTS, BUDGET = 20_000, "40MB"
# A few steps, a large penalty and short searches: a solver takes its memory at the beginning.
SEARCH = {"alphas": [1e3], "length_scales": [1.0]}
LEARNED = {"kernel": Gaussian(), "metric": "diagonal", "rounds": 1, "refine": False, "alphas": [1e3]}
MACHINE = {"max_iter": 20_000}
SETTINGS = {
    "CellSVC": {"Cs": [1.0, 10.0], "length_scales": [1.0], "folds": 2, **MACHINE},
    "CellSVR": {"Cs": [1.0, 10.0], "length_scales": [1.0], "folds": 2, **MACHINE},
    "ImportVectorMachine": {"max_vectors": 3, "candidates": 200},
    "KernelClassifier": {"max_iter": 1},
    "KernelClassifierCV": SEARCH | {"max_iter": 1, "n_centers": 100},
    "KernelLogisticRegression": {"max_iter": 1, "n_centers": 100},
    "KernelLogisticRegressionCV": SEARCH | {"max_iter": 1, "n_centers": 100},
    "KernelPCA": {"n_components": 3, "kernel": Gaussian(), "eigen_solver": "randomized", "iterated_power": 0},
    "KernelPerceptron": {"max_iter": 1},
    "KernelQuantileRegressor": {"max_iter": 2000},
    "KernelRegressor": {"loss": "Huber", "max_iter": 1, "n_centers": 100},
    "KernelRegressorCV": SEARCH | {"loss": "Huber", "max_iter": 1, "n_centers": 100},
    "KernelRidge": {"alpha": 1e3, "kernel": Gaussian()},
    "KernelRidgeCV": SEARCH,
    "KernelRidgeClassifier": {"alphas": [1e3]},
    "KernelSpectralClustering": {"n_clusters": 2, "kernel": Gaussian(), "n_init": 1},
    "MultipleKernelClassifier": {"kernels": [Gaussian(), Gaussian(3.0)], "method": "average", "alpha": 1e3},
    "MultipleKernelRidge": {"kernels": [Gaussian()], "n_candidates": 2, "alphas": [1e3]},
    "NuSVC": MACHINE,
    "NuSVR": MACHINE,
    "OneClassSVM": MACHINE,
    "RecursiveFeatureClassifier": LEARNED,
    "RecursiveFeatureRegressor": LEARNED,
    "SVC": {"kernel": Gaussian()},  # most points support it
    "SVCCV": {"Cs": [1.0], "length_scales": [1.0], "cv": 2, **MACHINE},
    "SVR": MACHINE,
    "SVRCV": {"Cs": [1.0], "length_scales": [1.0], "cv": 2, **MACHINE},
}
REFUSED = {"MultipleKernelRidge": {"transform"}}  # which returns a matrix of all points that does not fit
QUERIES = {"KernelNeighborsClassifier": 2000, "KernelNeighborsRegressor": 2000}  # each is compared with all points

SLOW = ("KernelClassifier", "KernelPCA", "KernelRidge", "Multiple", "Recursive", "SVRCV")  # and those that begin so
WHOLE = ("KernelCCA",)  # which decompose the whole matrix, and refuse where it does not fit
CASES = [
    pytest.param(name, marks=[pytest.mark.slow] if name.startswith(SLOW) else [])
    for name in models.__all__
    if name not in WHOLE
]


@pytest.fixture(scope="module")
def meter():
    meter = Meter()
    yield meter
    meter.close()


@pytest.mark.skipif(sys.platform != "linux", reason="peaks are read from /proc")
@pytest.mark.parametrize("name", CASES)
def test_a_budget_is_kept(name, meter):
    case = name, SETTINGS.get(name, {}), BUDGET, POINTS, QUERIES.get(name, POINTS)
    found = meter.measure(*case)
    above = {method: peak for method, (peak, _, _) in found.items() if peak > parse_memory(BUDGET)}
    if above:  # pages of libraries that the system took back may have been loaded: what a method takes, it takes twice
        again = meter.measure(*case)
        above = {method: peak for method, peak in above.items() if again[method][0] > parse_memory(BUDGET)}
    assert above == {}
    assert {method for method, (_, _, refused) in found.items() if refused} == REFUSED.get(name, set())
