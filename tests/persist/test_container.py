"""The bytes of a file are those of safetensors, and nothing they say is believed."""

import io
import json
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mercer.persist import ModelFileError
from mercer.persist._container import DTYPES, MOST_HEADER, OPENING, read, read_tensors, write

NUMBERS = st.sampled_from([np.dtype(code) for code in DTYPES.values()])
ARRAYS = NUMBERS.flatmap(lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, min_side=0, max_side=4)))


def written(document, tensors):
    stream = io.BytesIO()
    write(stream, document, tensors)
    return stream.getvalue()


def loaded(data):
    stream = io.BytesIO(data)
    header = read(stream, len(data))
    return header.document, read_tensors(stream, header)


def forged(entries, data=b"", document="{}", zeros="0" * 64):
    """A file whose header says what we like."""
    rest = "".join(f",{json.dumps(name)}:{json.dumps(entry)}" for name, entry in entries.items())
    text = OPENING + zeros.encode() + b'","document":' + json.dumps(document).encode() + b"}" + rest.encode() + b"}"
    return len(text).to_bytes(8, "little") + text + data


@given(st.dictionaries(st.text(min_size=1), ARRAYS, max_size=5))
def test_tensors_come_back_bit_for_bit(tensors):
    tensors.pop("__metadata__", None)
    document, found = loaded(written({"a": [1, "é\ud800", None]}, tensors))
    assert document == {"a": [1, "é\ud800", None]}
    assert set(found) == set(tensors)
    for name, tensor in tensors.items():
        assert found[name].dtype == tensor.dtype
        assert found[name].shape == tensor.shape
        assert found[name].tobytes() == tensor.tobytes()


def test_the_library_of_the_format_reads_the_tensors(tmp_path):
    safetensors = pytest.importorskip("safetensors")
    tensors = {f"a {code}": np.arange(6).reshape(2, 3).astype(code) for code in DTYPES.values()} | {"b": np.zeros(0)}
    (tmp_path / "file").write_bytes(written({"x": 1}, tensors))
    with safetensors.safe_open(tmp_path / "file", "np") as stream:
        assert stream.metadata()["format"] == "mercer-model"
        assert json.loads(stream.metadata()["document"]) == {"x": 1}
        for name, tensor in tensors.items():
            np.testing.assert_array_equal(stream.get_tensor(name), tensor)


def test_tensors_are_aligned_in_the_file():
    data = written({}, {"a": np.zeros(3, np.int8), "b": np.zeros(2), "c": np.zeros(1, np.float32)})
    header = read(io.BytesIO(data), len(data))
    assert [(tensor.name, tensor.begin) for tensor in header.tensors()] == [("b", 0), ("c", 16), ("a", 20)]
    assert len(header.raw) % 8 == 0


def test_every_flipped_bit_is_noticed():
    data = written({"a": 1}, {"x": np.arange(3.0)})
    for place in range(len(data)):
        for bit in (1, 128):
            changed = bytearray(data)
            changed[place] ^= bit
            with pytest.raises(ModelFileError):
                loaded(bytes(changed))


def test_every_cut_is_noticed():
    data = written({"a": 1}, {"x": np.arange(3.0)})
    for end in range(len(data)):
        with pytest.raises(ModelFileError):
            loaded(data[:end])
    with pytest.raises(ModelFileError, match="added to"):
        loaded(data + b"\0")


LIES = {
    "a shape that is too large": ({"dtype": "F64", "shape": [2**40], "data_offsets": [0, 8]}, "needs"),
    "a shape of which the product overflows": ({"dtype": "F64", "shape": [2**33] * 2, "data_offsets": [0, 8]}, "needs"),
    "offsets beyond the end": ({"dtype": "F64", "shape": [2**40], "data_offsets": [0, 2**43]}, "cut off"),
    "offsets that start late": ({"dtype": "F64", "shape": [1], "data_offsets": [8, 16]}, "starts"),
    "offsets the wrong way round": ({"dtype": "F64", "shape": [1], "data_offsets": [8, 0]}, "needs"),
    "a negative axis": ({"dtype": "F64", "shape": [-1], "data_offsets": [0, 8]}, "whole"),
    "no axis at all": ({"dtype": "F64", "shape": None, "data_offsets": [0, 8]}, "whole"),
    "an axis that is no number": ({"dtype": "F64", "shape": ["1"], "data_offsets": [0, 8]}, "whole"),
    "a truth value for an axis": ({"dtype": "F64", "shape": [True], "data_offsets": [0, 8]}, "whole"),
    "too many axes": ({"dtype": "F64", "shape": [1] * 65, "data_offsets": [0, 8]}, "whole"),
    "an empty shape that is huge": ({"dtype": "F64", "shape": [0, 2**62], "data_offsets": [0, 0]}, "needs"),
    "an unknown type": ({"dtype": "O", "shape": [1], "data_offsets": [0, 8]}, "dtype"),
    "a type that is a list": ({"dtype": ["F64"], "shape": [1], "data_offsets": [0, 8]}, "dtype"),
    "one offset": ({"dtype": "F64", "shape": [1], "data_offsets": [8]}, "whole"),
    "no offsets": ({"dtype": "F64", "shape": [1]}, "described"),
    "a number instead": (3, "described"),
    "truth values that are neither": ({"dtype": "BOOL", "shape": [8], "data_offsets": [0, 8]}, "truth"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lying_tensor_is_refused_before_memory_is_taken(lie):
    entry, message = LIES[lie]
    data = forged({"x": entry}, bytes([7] * 8))
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match=message):
            loaded(data)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def test_overlapping_tensors_are_refused():
    entry = {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}
    with pytest.raises(ModelFileError, match="starts at byte 0"):
        loaded(forged({"x": entry, "y": entry}, bytes(8)))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"abc",
        b"\xff" * 8,
        b"\xff" * 64,
        (2**40).to_bytes(8, "little") + b"{}",
        (MOST_HEADER + 1).to_bytes(8, "little") + bytes(100),
        (2).to_bytes(8, "little") + b"{}",
        (len(OPENING)).to_bytes(8, "little") + OPENING,
        forged({}, document="[]"),
        forged({}, document='{"a": NaN}'),
        forged({}, document='{"a": 1, "a": 2}'),
        forged({}, document="[" * 100_000),
        forged({}, document='{"a": ' + "9" * 10_000 + "}"),
        forged({}, document="," * 2_000_000),
        forged({"__metadata__": {}}),
        forged({}, document=3),
    ],
    ids=lambda data: f"{len(data)} bytes {data[:12].hex()}",
)
def test_a_header_that_makes_no_sense_is_refused(data):
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError):
            loaded(data)
        assert tracemalloc.get_traced_memory()[1] < 2**25
    finally:
        tracemalloc.stop()


def test_a_document_that_is_too_long_is_refused_when_it_is_written():
    with pytest.raises(ModelFileError, match="limited to"):
        written({"a": "x" * MOST_HEADER}, {})
