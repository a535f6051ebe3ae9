"""A kernel is a value: nothing that is done to what it was made of changes it, its hash or what it equals."""

import copy
import pickle
from functools import partial
from typing import Annotated

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

import mercer.kernels
from mercer.formula.parameters import LengthScale, Positive, check_integer
from mercer.kernels import (
    Constant,
    Custom,
    FromFeatures,
    Gaussian,
    Graph,
    Kernel,
    Linear,
    MeanEmbedding,
    Mismatch,
    PairSum,
    Precomputed,
    Sigmoid,
    exp,
)
from mercer.kernels.base import Inner
from mercer.kernels.value import Value

POINTS = np.array([[0.1, 0.9], [1.3, 0.4], [0.2, 0.7]])


class Product:
    """A function with a state of its own."""

    def __init__(self, weights):
        self.weights = weights

    def __call__(self, x, z):
        return float(np.dot(self.weights * np.asarray(x), z))

    def scale(self, factor, x):
        return np.asarray(x) * self.weights * factor


def make_scaler():
    return StandardScaler().fit(POINTS)


def refit(scaler):
    scaler.fit(100.0 * POINTS)


def overwrite(array):
    array[...] = 7.0 if array.dtype.kind == "f" else 1


def append(items):
    items.append("G" if isinstance(items[0], str) else 3)


def multiply(weights):
    weights *= 2.0


# What a kernel is made of, how to make it, and how a caller changes it later.
MADE = {
    "array of scales": (lambda: np.array([1.0, 2.0]), Gaussian, overwrite),
    "view of scales": (lambda: np.arange(1.0, 5.0)[::2], Gaussian, overwrite),
    "list of scales": (lambda: [1.0, 2.0], Gaussian, append),
    "matrix": (lambda: np.eye(3), Precomputed, overwrite),
    "matrix in columns": (lambda: np.asfortranarray(np.eye(3)), Precomputed, overwrite),
    "matrix of float32": (lambda: np.eye(3, dtype=np.float32), Precomputed, overwrite),
    "nested lists": (lambda: [[1.0, 0.0], [0.0, 1.0]], Precomputed, lambda rows: rows[0].__setitem__(0, -5.0)),
    "list of columns": (lambda: [0], Linear().on, append),
    "array of columns": (lambda: np.array([0]), Linear().on, overwrite),
    "transformer": (make_scaler, Gaussian().after, refit),
    "features": (make_scaler, FromFeatures, refit),
    "method": (lambda: make_scaler().transform, Linear().after, lambda method: refit(method.__self__)),
    "callable": (lambda: Product(np.ones(2)), Custom, lambda product: multiply(product.weights)),
    "bound": (
        lambda: partial(Product(np.ones(2)).scale, 2.0), Linear().after,
        lambda bound: multiply(bound.func.__self__.weights),
    ),
    "tokens": (lambda: ["A", "C"], lambda tokens: Mismatch(2, 1, tokens), append),
    "set of tokens": (lambda: {"A", "C"}, lambda tokens: Mismatch(2, 1, tokens), lambda tokens: tokens.add("G")),
}  # fmt: skip


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("around", [lambda k: k, exp, MeanEmbedding, lambda k: 2.0 * k + Constant(1.0)])
def test_what_a_caller_changes_later_changes_no_kernel(name, around):
    make, build, change = MADE[name]
    given = make()
    kernel, same = around(build(given)), around(build(make()))
    key, text, params = hash(kernel), repr(kernel), repr(kernel.get_params())
    assert kernel == same
    change(given)
    assert (hash(kernel), repr(kernel), repr(kernel.get_params())) == (key, text, params)
    assert kernel == same
    assert hash(kernel) == hash(same)
    assert kernel != around(build(given)), "the changed parameter makes another kernel"


def test_values_stay_those_of_what_was_given():
    scaler, weights = make_scaler(), np.ones(2)
    kernels = [Linear().after(scaler), FromFeatures(scaler), Custom(Product(weights))]
    before = [kernel(POINTS) for kernel in kernels]
    refit(scaler)
    multiply(weights)
    for kernel, expected in zip(kernels, before, strict=True):
        np.testing.assert_array_equal(kernel(POINTS), expected)


def test_a_precomputed_matrix_that_is_changed_proves_nothing_about_another():
    matrix = np.eye(2)
    kernel = Precomputed(matrix)
    hash(kernel)
    matrix[0, 0] = -5.0
    assert kernel == Precomputed(np.eye(2))
    assert kernel != Precomputed(matrix)
    np.testing.assert_array_equal(kernel([0, 1]), np.eye(2))
    assert "cancels" not in (kernel - Precomputed(matrix)).certificate().explain()


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize(
    "copied", [lambda k: k, copy.copy, copy.deepcopy, lambda k: pickle.loads(pickle.dumps(k)),
    lambda k: k.with_params(**k.get_params(deep=False))],
    ids=["itself", "copy", "deepcopy", "pickle", "with_params"],
)  # fmt: skip
def test_copies_are_equal_and_as_frozen_as_the_kernel(name, copied):
    make, build, _ = MADE[name]
    kernel = build(make())
    other = copied(2.0 * exp(kernel))
    assert other == 2.0 * exp(kernel)
    assert hash(other) == hash(2.0 * exp(kernel))
    for value in other.get_params().values():
        assert not isinstance(value, list | set | bytearray)
        if isinstance(value, np.ndarray):
            with pytest.raises(ValueError, match="read-only"):
                value[...] = 0
            with pytest.raises(ValueError, match="WRITEABLE"):
                value.setflags(write=True)


def test_every_public_kernel_with_parameters_freezes_them():
    kinds = [getattr(mercer.kernels, name) for name in mercer.kernels.__all__]
    kinds = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Kernel)]
    for kind in kinds:
        assert issubclass(kind, Value)
        for field in kind._fields():
            for given in (np.array([1.0, 2.0]), [1.0, [2.0]], {1.0, 2.0}, Linear()):
                try:
                    kernel = kind(**{field.name: given})
                except (TypeError, ValueError):  # this kernel takes no such thing
                    continue
                kept = getattr(kernel, field.name)
                assert isinstance(kept, tuple | frozenset | Kernel) or not kept.flags.writeable
                assert kept is given or not isinstance(given, Kernel)


def test_a_kernel_of_a_user_freezes_its_parameters_too():
    class Weighted(Kernel):
        weights: object

        def __post_init__(self):
            assert not isinstance(self.weights, list)

        def formula(self, pair):
            return float(sum(self.weights)) * pair.dot()

    weights = [1.0, 2.0]
    kernel = Weighted(weights)
    weights.append(3.0)
    np.testing.assert_array_equal(kernel([[1.0]]), [[3.0]])


def test_annotations_check_the_parameters_of_a_users_kernel_and_of_those_made_of_it():
    class Cauchy(Kernel):
        length_scale: LengthScale = 1.0
        power: Annotated[int, lambda kernel, name: check_integer(kernel, name, 1)] = 1

        def formula(self, pair):
            return (1.0 + pair.squared_distance()) ** -self.power

    class Damped(Cauchy):
        factor: Positive = 1.0

    for kind in (Cauchy, Damped):
        with pytest.raises(ValueError, match=f"{kind.__name__}: length_scale must be a positive finite number"):
            kind(length_scale=-1.0)
        with pytest.raises(ValueError, match=f"{kind.__name__}: power must be a whole number of at least 1, got 0.5"):
            kind(power=0.5)
    with pytest.raises(ValueError, match="Damped: factor must be a positive finite number, got 0"):
        Damped(factor=0)


def test_a_reason_and_its_lemmas_make_the_theorem():
    class Proved(Kernel):
        inner: Inner
        because = "it is so"
        lemmas = (Linear().theorem(),)

    assert Proved(Gaussian()).theorem().parts == (Linear().theorem(), Gaussian().theorem())
    assert Proved(Sigmoid()).theorem() is None
    with pytest.raises(TypeError, match="Proved: inner must be a kernel, got 1"):
        Proved(1)


def test_masked_parameters_are_refused():
    with pytest.raises(ValueError, match="no missing values"):
        Gaussian(np.ma.array([1.0, 2.0], mask=[False, True]))


def test_graphs_are_values_too():
    neighbours, labels = [[1], [0]], ["a", "b"]
    graph = Graph(neighbours, labels)
    neighbours[0].append(0)
    labels[0] = "c"
    assert graph == Graph([[1], [0]], ["a", "b"])
    assert pickle.loads(pickle.dumps(graph)) == graph


def test_kernels_with_equal_parts_are_equal_whoever_holds_them():
    assert PairSum(Gaussian([1.0, 2.0])) == PairSum(Gaussian(np.array([1.0, 2.0])))
    assert Gaussian() != "Gaussian()"
    assert Gaussian() != Constant(1.0)
