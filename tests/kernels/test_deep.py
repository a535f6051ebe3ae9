"""Long sums and deep compositions: everything that can be asked of a kernel is answered without deep recursion."""

import copy
import functools
import pickle

import numpy as np
import pytest

from mercer.certify import Proved
from mercer.formula.program import lower
from mercer.gram import Gram
from mercer.kernels import Constant, Gaussian, Linear, exp
from mercer.kernels.text import parse_kernel

X = np.random.default_rng(0).normal(size=(3, 2))


def nested(levels):
    return functools.reduce(lambda k, _: exp(0.1 * k), range(levels), Linear())


def nested_value(levels):
    return functools.reduce(lambda K, _: np.exp(0.1 * K), range(levels), X @ X.T)


SUMS = {
    "from the left": lambda: sum((0.5 * Linear() for _ in range(1000)), Constant(0.0)),
    "from the right": lambda: functools.reduce(lambda k, _: 0.5 * Linear() + k, range(1000), Constant(0.0)),
    "differences": lambda: functools.reduce(lambda k, _: k - 0.5 * Linear(), range(1000), 1000.0 * Linear()),
}


@pytest.mark.parametrize("name", SUMS)
def test_a_thousand_terms_are_added(name):
    kernel, same = SUMS[name](), SUMS[name]()
    np.testing.assert_allclose(kernel(X), 500.0 * (X @ X.T), atol=1e-9)
    np.testing.assert_allclose(Gram(kernel, X).dense(), kernel(X), atol=1e-9)
    np.testing.assert_allclose(kernel.diag(X), 500.0 * (X**2).sum(axis=1))
    difference = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(kernel.distance(X), 500.0 * difference, rtol=1e-9)
    assert kernel == same
    assert hash(kernel) == hash(same)
    assert kernel != kernel + 1.0
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    assert copy.deepcopy(kernel) == kernel
    assert len(lower(kernel.traced()).statistics) == 1
    if name == "from the left":
        assert kernel.certificate().explain().startswith("Proved")
    assert repr(kernel).count("Linear()") >= 1000


def test_three_hundred_exponentials_are_nested():
    kernel = nested(300)
    np.testing.assert_allclose(kernel(X), nested_value(300), rtol=1e-12)
    np.testing.assert_allclose(Gram(kernel, X).dense(), nested_value(300), rtol=1e-12)
    assert kernel == nested(300)
    assert hash(kernel) == hash(nested(300))
    assert kernel != nested(299)
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    assert repr(kernel).count("exp(") == 300
    assert len(lower(kernel.traced()).statistics) == 1
    assert isinstance(kernel.certificate(), Proved)
    assert len(kernel.hyperparameters()) == 300
    assert (kernel.distance(X) >= 0).all()


def test_deep_kernels_have_gradients():
    kernel = nested(80)
    name = next(iter(kernel.hyperparameters()))
    up, down = (kernel.with_hyperparameters({name: 0.1 * np.exp(step)})(X) for step in (1e-4, -1e-4))
    np.testing.assert_allclose(kernel.gradient(X)[name], (up - down) / 2e-4, atol=1e-7)
    long = sum((0.5 * Gaussian(1.0 + i) for i in range(150)), Linear())
    assert len(long.gradient(X)) == 300


def test_short_sums_stay_as_they_were_written():
    kernel = sum((Gaussian(1.0 + i) for i in range(20)), Linear())
    assert kernel.k2 == Gaussian(20.0)
    assert parse_kernel(repr(kernel)) == kernel


def test_products_of_a_thousand_kernels_are_balanced():
    kernel = functools.reduce(lambda k, i: k * Gaussian(30.0 + i), range(1000), Constant(1.0))
    squared = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    expected = np.exp(-0.5 * squared * sum((30.0 + i) ** -2 for i in range(1000)))
    np.testing.assert_allclose(kernel(X), expected, rtol=1e-10)
    assert isinstance(kernel.certificate(), Proved)
