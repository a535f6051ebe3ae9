"""Plain objects survive being packed, and arrays that are no packed object are refused."""

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.kernels import Graph
from mercer.persist import ModelFileError
from mercer.persist._packing import MOST_DEPTH, PARTS, NotPlainError, pack, unpack

HASHABLE = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
LABELS = st.text() | st.integers() | st.tuples(st.integers(), st.text())
WEIGHTS = st.lists(st.floats(1e-9, 1e9), min_size=2, max_size=2)


def around_path(kinds):
    """Return what two edges of a path have, at each of its nodes."""
    return None if kinds is None else [kinds[:1], kinds, kinds[1:]]


GRAPHS = st.builds(
    lambda labels, kinds, weights, rows: Graph(
        [[1], [0, 2], [1]], labels, around_path(kinds), around_path(weights), rows
    ),
    st.none() | st.lists(LABELS, min_size=3, max_size=3),
    st.none() | st.lists(LABELS, min_size=2, max_size=2),
    st.none() | WEIGHTS,
    st.none() | st.lists(st.floats(-1e9, 1e9), min_size=3, max_size=3),
)
OBJECTS = st.recursive(
    HASHABLE | st.floats() | GRAPHS,
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(HASHABLE, inner),
    max_leaves=30,
)


@given(OBJECTS)
def test_objects_come_back_as_they_were(value):
    assert repr(unpack(pack(value))) == repr(value)
    if "nan" not in repr(value):
        assert unpack(pack(value)) == value


def test_arrays_of_different_lengths_come_back(same):
    arrays = [np.arange(n, dtype=dtype).reshape(n, 1) for n in range(3) for dtype in ("f4", "f8", "i2", "?")]
    assert same(unpack(pack(arrays)), arrays)


def test_scalars_of_numpy_become_those_of_python(same):
    value = [np.str_("a"), np.int8(3), np.float32(0.1), np.bool_(True), np.float64(2.0)]
    assert same(unpack(pack(value)), ["a", 3, float(np.float32(0.1)), True, 2.0])


def test_deep_objects_are_packed_without_recursion_and_too_deep_ones_refused():
    tree = "leaf"
    for _ in range(MOST_DEPTH):
        tree = ("node", tree)
    assert unpack(pack([tree][0])) is not None
    with pytest.raises(NotPlainError, match="deep"):
        pack((tree, tree))
    endless = []
    endless.append(endless)
    with pytest.raises(NotPlainError, match="contain themselves"):
        pack(endless)


@pytest.mark.parametrize("value", [object(), {1, 2}, np.array(["a"]), 1j, range(3), type("T", (tuple,), {})()])
def test_other_objects_are_not_plain(value):
    with pytest.raises(NotPlainError, match="plain"):
        pack([value])


EXAMPLE = pack(
    [
        ("S", 1, 2.5, None),
        {"a": b"xy"},
        Graph([[1], [0]], "ab"),
        Graph([[0]], None, None, [[2.5]], [[0.5]]),
        np.arange(3),
        2**70,
        [True],
    ]
)


@given(st.data())
def test_damaged_arrays_give_an_error_or_an_object(data):
    name = data.draw(st.sampled_from(PARTS))
    arrays = {part: array.copy() for part, array in EXAMPLE.items()}
    if data.draw(st.booleans()):
        place = data.draw(st.integers(0, len(arrays[name]) - 1))
        largest = 255 if arrays[name].dtype == np.uint8 else 2**63 - 1
        arrays[name][place] = data.draw(st.integers(0 if largest == 255 else -(2**63), largest))
    else:
        arrays[name] = arrays[name][: data.draw(st.integers(0, len(arrays[name]) - 1))]
    with suppress(ModelFileError):
        unpack(arrays)


@given(st.lists(st.integers(0, 14)), st.lists(st.integers(-2, 40)))
def test_any_arrays_give_an_error_or_an_object(kinds, numbers):
    arrays = EXAMPLE | {"kinds": np.array(kinds, np.uint8), "numbers": np.array(numbers, np.int64)}
    with suppress(ModelFileError):
        unpack(arrays)


def test_arrays_of_the_wrong_type_are_refused():
    with pytest.raises(ModelFileError, match="wrong type"):
        unpack(EXAMPLE | {"kinds": EXAMPLE["kinds"].astype(float)})


def test_keys_that_occur_twice_are_refused():
    arrays = pack({"a": 1, "b": 2})
    arrays["numbers"] = np.array([2, 0, 1, 0, 2])
    with pytest.raises(ModelFileError, match="twice"):
        unpack(arrays)
