"""Fits, predictions and warnings in many Python threads at once, with a global lock or without."""

import pickle
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from mercer import SVC, KernelLogisticRegression, KernelPCA, KernelRegressor, KernelRidge, KernelRidgeCV
from mercer.arrays.threads import silence_warnings
from mercer.kernels import Gaussian, Laplacian, Linear, Matern

THREADS = 8
KERNEL = Gaussian(1.5) * Linear() + Matern(2.5, length_scale=2.0)  # one object, shared by all
ESTIMATORS = {
    "exact": KernelRidge(0.1, kernel=KERNEL),
    "iterative": KernelRidge(0.1, kernel=KERNEL, solver="cg", random_state=0),
    "searched": KernelRidgeCV([0.1, 1.0], kernel=Gaussian()),
    "margin": SVC(C=3.0, kernel=KERNEL),
    "logistic": KernelLogisticRegression(kernel=Laplacian(2.0)),
    "any loss": KernelRegressor("Huber", kernel=Gaussian()),
    "components": KernelPCA(3, kernel=KERNEL),
}


def make_data(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(70, 3))
    return X, np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=70)


def fit_and_predict(name, seed):
    X, y = make_data(seed)
    targets = (y > 0).astype(int) if name in ("margin", "logistic") else y
    model = clone(ESTIMATORS[name]).fit(X, targets)
    found = [model.transform(X)] if name == "components" else [model.predict(X)]
    if name == "margin":
        found.append(model.decision_function(X))
    return found


def run_at_once(call, arguments):
    """Call with each of the arguments, all starting together, as many at a time as there are threads."""
    together = threading.Barrier(THREADS)

    def begin(argument):
        return call(*argument)

    with ThreadPoolExecutor(THREADS, initializer=together.wait) as pool:
        return list(pool.map(begin, arguments))


@pytest.mark.parametrize("same", [True, False], ids=["the same data", "other data in each"])
def test_fits_in_eight_threads_give_what_they_give_in_one(same):
    work = [(name, 0 if same else seed) for seed in range(THREADS) for name in ESTIMATORS]
    with threadpool_limits(1):  # with more, BLAS may sum in another order
        alone = {task: fit_and_predict(*task) for task in set(work)}
        for task, found in zip(work, run_at_once(fit_and_predict, work), strict=True):
            for one, expected in zip(found, alone[task], strict=True):
                np.testing.assert_array_equal(one, expected, err_msg=str(task))


def test_one_fitted_model_predicts_in_eight_threads_as_in_one():
    X, y = make_data(0)
    model = KernelRidge(0.1, kernel=KERNEL).fit(X, y)
    parts = [(X[i::THREADS],) for i in range(THREADS)] * 4
    with threadpool_limits(1):
        for found, (part,) in zip(run_at_once(model.predict, parts), parts, strict=True):
            np.testing.assert_array_equal(found, model.predict(part))


def test_a_kernel_is_pickled_while_other_threads_ask_it_for_what_it_remembers():
    def use(i):
        kernel = kernels[i % len(kernels)]
        if i % 2:
            return hash(kernel), kernel.certificate() is not None
        return pickle.loads(pickle.dumps(kernel)) == kernel

    kernels = [Gaussian(1.0 + i) * Linear() + Matern(nu=1.5) for i in range(5)]
    assert all(run_at_once(use, [(i,) for i in range(200)]))


def test_silence_of_threads_that_overlap_ends_with_each_of_them():
    before = list(warnings.filters)
    entered, leave = threading.Event(), threading.Event()

    def stay():
        with silence_warnings():
            entered.set()
            leave.wait(10)
            warnings.warn("unheard", UserWarning, stacklevel=1)

    other = threading.Thread(target=stay)
    with silence_warnings("not this"):
        other.start()
        entered.wait(10)
        warnings.warn("not this one", UserWarning, stacklevel=1)
        with warnings.catch_warnings():  # as other libraries do in their threads
            leave.set()
            other.join()
    assert warnings.filters == before
    with pytest.warns(UserWarning, match="heard"):
        warnings.warn("heard again", UserWarning, stacklevel=1)
