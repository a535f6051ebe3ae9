"""Run scikit-learn's checks of the array API, and print what failed, by estimator, as JSON.

In a process of its own: SciPy decides when it is imported whether to take other arrays than NumPy's.
"""

import os

os.environ["SCIPY_ARRAY_API"] = "1"

import json
import sys
import warnings
from functools import partial

from sklearn.utils._array_api import NamespaceAndDevice
from sklearn.utils.estimator_checks import (
    check_array_api_input,
    check_array_api_input_and_values,
    check_array_api_mixed_inputs,
    check_array_api_same_namespace,
)

from mercer import models

# Searches among few; solutions so close to the only one that the processor and a device agree on its support vectors.
SETTINGS = {
    "CellSVC": {"Cs": [1.0], "length_scales": [3.0]},
    "CellSVR": {"Cs": [1.0], "length_scales": [3.0]},
    "ImportVectorMachine": {"max_vectors": 3},
    "KernelClassifierCV": {"alphas": [1.0], "length_scales": [3.0]},
    "KernelLogisticRegressionCV": {"alphas": [1.0], "length_scales": [3.0]},
    "KernelPCA": {"n_components": 4, "fit_inverse_transform": True},
    "KernelRegressorCV": {"alphas": [1.0], "length_scales": [3.0]},
    "KernelRidgeCV": {"alphas": [1.0], "length_scales": [3.0]},
    "MultipleKernelRidge": {"n_candidates": 2, "alphas": [1.0]},
    "RecursiveFeatureClassifier": {"rounds": 1, "refine": False},
    "RecursiveFeatureRegressor": {"rounds": 1, "refine": False},
    "SVC": {"tol": 1e-7},
    "SVCCV": {"Cs": [1.0], "length_scales": [3.0]},
    "SVRCV": {"Cs": [1.0], "length_scales": [3.0]},
}
STRICT = {"array_namespace": "array_api_strict"}
TORCH = {"array_namespace": "torch", "device_name": "cpu"}
CHECKS = {
    "strict": [
        partial(check_array_api_input_and_values, **STRICT, device_name="CPU_DEVICE", check_sample_weight=True),
        partial(check_array_api_input, **STRICT, device_name="device1", dtype_name="float32"),
        partial(check_array_api_same_namespace, **STRICT),
    ],
    # Without values: accuracies of tensors are rounded to float32, and solvers on devices stop at other places.
    "torch": [
        partial(check_array_api_input, **TORCH, dtype_name="float64", check_sample_weight=True),
        partial(check_array_api_input, **TORCH, dtype_name="float32"),
        partial(check_array_api_same_namespace, **TORCH),
        partial(
            check_array_api_mixed_inputs,
            X_ns_and_device=NamespaceAndDevice("torch", "cpu"),
            other_ns_and_device=NamespaceAndDevice("array_api_strict", "device1"),
        ),
    ],
}


def run_checks(name, checks):
    """Return what the checks found wrong with an estimator."""
    model, failed = getattr(models, name)(**SETTINGS.get(name, {})), []
    if not model.__sklearn_tags__().array_api_support:
        failed.append("it does not say that it takes arrays of the standard")
    for check in checks:
        try:
            check(name, model)
        except Exception as reason:
            failed.append(f"{check.func.__name__}{check.keywords}: {type(reason).__name__}: {reason}")
    return failed


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps({name: run_checks(name, CHECKS[sys.argv[1]]) for name in models.__all__}))
