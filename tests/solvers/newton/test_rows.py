"""Labelled rows: sums over all of them are those over parts of them, on the host and on a device."""

import numpy as np
import pytest

from mercer.arrays.place import Place
from mercer.arrays.tensors import host_array
from mercer.kernels import Gaussian
from mercer.solvers.base import Problem
from mercer.solvers.centers import choose_centers
from mercer.solvers.newton.features import NystroemFeatures
from mercer.solvers.newton.rows import FeatureRows
from mercer.solvers.newton.sums import label_loss

N, CUT = 40, 15
HOST = Place(None, 10**9)
PLACES = ["host", pytest.param("tensor", marks=pytest.mark.torch)]


def _rows(classes, place, part=slice(None), **memory):
    rng = np.random.default_rng(classes)
    X, weights = rng.normal(size=(N, 2)), rng.uniform(0.5, 2.0, N)
    codes = np.arange(N) % classes
    device = pytest.importorskip("torch").device("cpu") if place == "tensor" else None
    whole = Problem(Gaussian(), X, np.zeros((N, 1)), fit_intercept=True)
    indices, triangle = choose_centers(whole, 6, np.random.RandomState(0))
    problem = Problem(Gaussian(), X[part], np.zeros((len(X[part]), 1)), fit_intercept=True, device=device, **memory)
    loss = label_loss(codes[part], classes, weights[part]).put(problem.place)
    return FeatureRows(loss, NystroemFeatures(problem, X[indices], triangle)), problem.place


def _ask(classes, place, part):
    """Everything that can be summed up, at the same outputs."""
    rows, where = _rows(classes, place, part)
    rng = np.random.default_rng(9)
    outputs = where.put(rng.normal(size=(N, rows.loss.outputs))[part])
    V = where.put(rng.normal(size=rows.shape))
    found = [
        rows.loss.value(outputs), rows.loss.residual_sums(outputs), rows.loss.curvature_sums(outputs),
        *([rows.loss.share(rows.loss.odds(outputs, 1), 1, 0.3)] if classes > 2 else []),
        rows.gradient(outputs), rows.curve(outputs, V),
        *rows.hessian(outputs, True), *rows.hessian(outputs, False),
    ]  # fmt: skip
    return [np.asarray(host_array(part)) for part in found]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("classes", [2, 3])
def test_sums_over_parts_add_up_to_those_of_all_rows(classes, place):
    parts = [_ask(classes, place, part) for part in (slice(0, CUT), slice(CUT, N))]
    for whole, first, second in zip(_ask(classes, "host", slice(None)), *parts, strict=True):
        np.testing.assert_allclose(first + second, whole, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("classes", [2, 3])
def test_equations_are_the_derivatives_of_the_gradient(classes, place):
    rows, where = _rows(classes, place)
    rng = np.random.default_rng(4)
    w, step = (where.put(rng.normal(size=rows.shape)) for _ in range(2))
    outputs, h = rows.values(w), 1e-6
    ahead, behind = (rows.gradient(rows.values(w + t * step)) for t in (h, -h))
    curved = host_array(rows.curve(outputs, step))
    np.testing.assert_allclose(curved, host_array(behind - ahead) / (2 * h), rtol=1e-4, atol=1e-5)
    H = host_array(rows.hessian(outputs, True)[0])
    np.testing.assert_allclose(H @ host_array(step).ravel(), curved.ravel(), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("classes", [2, 3])
def test_features_in_single_precision_are_summed_in_double(classes, place):
    rows, where = _rows(classes, place, memory=4_000)
    exact, _ = _rows(classes, "host")
    assert rows.features.stored.dtype.itemsize == 4
    outputs = np.random.default_rng(0).normal(size=(N, rows.loss.outputs))
    for name, given in (("gradient", ()), ("hessian", (True,)), ("hessian", (False,))):
        found, expected = (
            getattr(r, name)(p.put(outputs), *given) for r, p in ((rows, where), (exact, Place(None, 1)))
        )
        for ours, theirs in zip(found, expected, strict=True):
            assert ours.dtype.itemsize == 8
            np.testing.assert_allclose(host_array(ours), theirs, rtol=1e-4, atol=1e-5)
