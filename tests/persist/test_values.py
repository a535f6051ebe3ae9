"""Values of every kind that a kernel or a model may hold come back as they were, or are refused with a reason."""

import functools
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

import mercer
from mercer import kernels
from mercer.kernels import Gaussian, Graph, Kernel, Linear
from mercer.persist import ModelFileError, _registry
from mercer.persist._decode import Decoder
from mercer.persist._encode import Encoder

TYPES = ["?", "i1", "i8", "u4", "f2", "f4", "f8", ">f8", "U3", "S2", "M8[ns]", "m8[D]"]
ARRAYS = st.sampled_from(TYPES).flatmap(
    lambda code: hnp.arrays(np.dtype(code), hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3))
)
NUMBERS = st.integers() | st.floats() | st.booleans() | st.none() | st.text() | st.binary()
VALUES = st.recursive(
    NUMBERS | ARRAYS,
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def through(value, functions=None):
    """A value after it was described and made again."""
    encoder = Encoder()
    node = encoder.node(value)
    tensors = {name: np.ascontiguousarray(tensor).reshape(tensor.shape) for name, tensor in encoder.tensors.items()}
    return Decoder(tensors, encoder.finish(), functions or {}).value(node)


@given(VALUES)
def test_plain_values_come_back(value):
    again = through(value)
    assert repr(again) == repr(value)
    assert type(again) is type(value)


@given(ARRAYS)
def test_arrays_come_back_in_type_shape_and_order(array):
    for each in (array, np.asfortranarray(array), array[::2] if array.ndim else array):
        again = through(each)
        assert again.dtype == each.dtype
        assert again.shape == each.shape
        if each.dtype.kind in "biuf" and (each.flags.c_contiguous or each.flags.f_contiguous):
            assert again.flags.f_contiguous == each.flags.f_contiguous
        np.testing.assert_array_equal(again, each)


SPECIAL = {
    "not a number": [math.nan, math.inf, -math.inf, -0.0, 5e-324],
    "long integers": [2**63, -(2**100), 2**62],
    "scalars of NumPy": (np.float32(0.1), np.int8(-3), np.bool_(True), np.str_("é"), np.float64("nan")),
    "slices": [slice(0, 3), slice(None, 5, 2)],
    "objects in an array": np.array([None, "a", 1.5, (1, 2)] * 6, dtype=object).reshape(4, 6),
    "lists in an array": np.array([[1, [2]], ["a", {}]], dtype=object),
    "keys that are no text": {1: "a", (2, "b"): None, None: 3, 1.5: [Linear()]},
    "masked": np.ma.MaskedArray([1.0, 2.0], mask=[True, False]),
    "masked nowhere": np.ma.MaskedArray([1.0, 2.0]),
    "graphs": [Graph([[1], [0]], "ab"), Graph({"a": {"b": (1, "x")}, "b": {"a": (1, "x")}})],
    "weights and attributes": [Graph([[1], [0]], weights=[[2.5], [2.5]]), Graph([[], []], attributes=[[0.5], [2.0]])],
    "text that is no UTF-8": ["\ud800", "\x00"],
    "a generator of random numbers": np.random.RandomState(7),
    "kernels in a list": [Linear(), Gaussian([1.0, 2.0])],
}  # fmt: skip


@pytest.mark.parametrize("name", SPECIAL)
def test_special_values_come_back(name, same):
    value = SPECIAL[name]
    assert same(through(value), value)


@pytest.mark.parametrize("kind", ["csr_array", "csr_matrix", "csc_array", "csc_matrix"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_sparse_matrices_come_back(kind, dtype, same):
    matrix = getattr(sparse, kind)(np.array([[0, 1.5, 0], [2, 0, 0]], dtype=dtype))
    assert same(through(matrix), matrix)
    np.testing.assert_array_equal(through(sparse.coo_array(matrix)).toarray(), matrix.toarray())


FRAME = pd.DataFrame(
    {
        "float": [1.5, math.nan],
        "single": np.array([1.0, 2.0], dtype=np.float32),
        "int": [1, 2],
        "bool": [True, False],
        "object": pd.Series(["a", (1, 2)], dtype=object),
        "text": ["a", None],
        "string": pd.array(["a", None], dtype="string"),
        "nullable": pd.array([1, None], dtype="Int16"),
        "category": pd.Categorical(["b", None], categories=["a", "b"], ordered=True),
        "number category": pd.Categorical([1, 2]),
        "date": pd.to_datetime(["2020-01-01", None]),
        3: [1, 2],
    }
)


@pytest.mark.parametrize("index", [None, ["x", "y"], [5, 3], pd.to_datetime(["2020-01-01", "2021-01-01"])], ids=str)
def test_frames_of_pandas_come_back(index, same):
    frame = FRAME.set_axis(index, axis=0) if index is not None else FRAME
    again = through(frame)
    pd.testing.assert_frame_equal(again, frame)
    series = frame["category"]
    pd.testing.assert_series_equal(through(series), series)


def test_frames_of_polars_come_back():
    frame = pl.DataFrame(
        {"a": [1, None], "b": [0.5, math.nan], "c": ["x", None], "d": [True, False]},
        schema_overrides={"a": pl.Int16, "b": pl.Float32},
    ).with_columns(pl.Series("e", ["u", "v"], dtype=pl.Categorical))
    again = through(frame)
    assert again.schema == frame.schema
    assert again.equals(frame)
    assert through(frame["a"]).equals(frame["a"])


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame({"a": pd.date_range("2020", periods=2, tz="UTC")}), "datetime64"),
        (pd.DataFrame({"a": [1]}, index=pd.MultiIndex.from_tuples([(1, 2)])), "several levels"),
        (pl.DataFrame({"a": [[1, 2]]}), "List"),
    ],
    ids=["zones", "levels", "lists"],
)
def test_frames_that_files_cannot_hold_are_refused(frame, message):
    with pytest.raises(ModelFileError, match=message):
        through(frame)


def test_a_frame_needs_its_library(monkeypatch):
    import sys

    encoder = Encoder()
    node = encoder.node(pl.DataFrame({"a": [1]}))
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ModelFileError, match="polars is not installed"):
        Decoder(encoder.tensors, encoder.finish(), {}).value(node)


@pytest.mark.torch
def test_tensors_become_arrays_and_devices_names():
    torch = pytest.importorskip("torch")
    np.testing.assert_array_equal(through(torch.arange(3.0)), np.arange(3.0, dtype=np.float32))
    assert through(torch.device("cpu")) == "cpu"


def examples():
    """One kernel of each type in the table, with its defaults or with the plainest arguments there are."""
    given = {
        "Custom": (len,), "FromFeatures": (len,), "Precomputed": (np.eye(2),), "PairwiseKernel": ("cosine",),
        "Exp": (Linear(),), "Normalized": (Linear(),), "Power": (Linear(), 2), "Product": (Linear(), Gaussian()),
        "Scaled": (Linear(), 2.0), "Sum": (Linear(), Gaussian()), "After": (Linear(), abs), "On": (Linear(), ["a"]),
        "Coregionalization": (np.eye(2),), "Diffusion": ([[1], [0]],), "RegularizedLaplacian": ([[1], [0]],),
        "MeanEmbedding": (Gaussian(),), "PairSum": (Gaussian(),),
        "NormalizedLocalAlignment": (kernels.LocalAlignment(),),
    }  # fmt: skip
    abstract = {"CountKernel", "BagKernel", "StringKernel", "WindowKernel", "FragmentKernel", "CompactWindow", "Lemma"}
    abstract |= {"EntryKernel", "NodeKernel", "SignatureKernel", "WarpedKernel"}
    found = {entry.cls for entry in _registry.entries() if issubclass(entry.cls, Kernel)}
    return {cls.__name__: cls(*given.get(cls.__name__, ())) for cls in found if cls.__name__ not in abstract}


@pytest.mark.parametrize("name", sorted(examples()))
def test_every_kernel_comes_back_equal(name, roundtrip):
    kernel = examples()[name]
    assert roundtrip(kernel, functions={"len": len, "abs": abs}) == kernel


def test_every_public_kernel_is_in_the_table():
    public = {getattr(kernels, name) for name in kernels.__all__}
    classes = {each for each in public if isinstance(each, type) and issubclass(each, Kernel)}
    assert classes - {Kernel, kernels.ObjectKernel} <= {entry.cls for entry in _registry.entries()}


def test_names_and_types_in_the_table_are_distinct():
    entries = _registry.entries()
    assert len({entry.name for entry in entries}) == len({entry.cls for entry in entries}) == len(entries)


def test_verdicts_come_back(same):
    distance = mercer.certify(lambda x, z: float((x - z) @ (x - z)))
    columns = Gaussian().on([0]).certificate(dim=2)
    for verdict in (Gaussian().certificate(), columns, distance, kernels.Custom(max).certificate(dim=1)):
        assert same(through(verdict), verdict)


def test_what_occurs_twice_is_one_object_again():
    array, items, kernel = np.arange(3.0), ["a"], Gaussian()
    first, second, view, *rest = through([array, array, array[:], items, items, kernel, kernel, array[1:]])
    assert first is second is view
    assert rest[0] is rest[1]
    assert rest[2] is rest[3]
    assert rest[4] is not first


def test_what_contains_itself_is_refused():
    items = [Linear()]
    items.append(items)
    with pytest.raises(ModelFileError, match="contains itself"):
        through(items)


def test_partial_functions_keep_their_keywords():
    again = through([len, functools.partial(len, a=1)], {"len": len})
    assert again[1].func is again[0] is len
    assert again[1].keywords == {"a": 1}
    with pytest.raises(ModelFileError, match="positional"):
        through(functools.partial(len, 1))


def test_functions_have_names_of_their_own():
    encoder = Encoder()
    first, second = (lambda x: x), (lambda x: x)
    encoder.node([first, second, first, np.sum, str.upper, functools.partial(np.sum, axis=0)])
    assert [function.name for function in encoder.functions] == ["lambda", "lambda 2", "sum", "upper"]
    assert "test_functions_have_names_of_their_own.<locals>.<lambda>" in encoder.functions[0].qualified


class Point:
    """An object of a class of the user."""

    label = "a"
    children = ()


def test_other_objects_are_refused_with_a_way_out():
    for value, message in (
        (Point(), "nested tuples"),
        ({1, 2}, "of the type builtins.set"),
        (1j, "complex"),
        (slice("a", "b"), "slice"),
        (slice(0, 10**9), "slice"),
        (np.array([1j]), "real numbers"),
        (np.datetime64("2020"), "numpy.datetime64"),
    ):
        with pytest.raises(ModelFileError, match=message):
            through([value, Linear()])
    with pytest.raises(ModelFileError, match=r"^model\.points\.0 is"):
        Encoder().node([object()], "model.points")
