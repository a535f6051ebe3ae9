"""Whatever is done to a file, loading it gives a ModelFileError or a model, and takes little memory."""

import json
import tracemalloc
from copy import copy
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

import mercer
from mercer import features, kernels
from mercer.kernels import Custom, Gaussian, Graph, Linear, Overlap, Polynomial, Spectrum, WeisfeilerLehman
from mercer.persist import ModelFileError, _container
from mercer.persist._files import describe
from mercer.persist._registry import find_name

X = np.random.default_rng(0).normal(size=(12, 2))
Y = np.arange(12) % 3
FRAME = pd.DataFrame({"a": X[:, 0], "b": pd.Categorical(Y), "c": ["x", "y"] * 6})
GRAPHS = [Graph([[1], [0, 2], [1]], "CO" + "NS"[i % 2]) for i in range(12)]
MODELS = {
    "ridge": lambda: mercer.KernelRidge(kernel=2.0 * Gaussian([1.0, 2.0]) + Polynomial(2)).fit(X, Y),
    "features": lambda: mercer.KernelRidge(kernel=(Linear() + 1) ** 2, random_state=np.random.RandomState(0)).fit(X, Y),
    "machine": lambda: mercer.SVC().fit(X, np.array(["no", "yes", "perhaps"])[Y]),
    "sparse": lambda: mercer.SVC(kernel=Linear()).fit(sparse.csr_matrix(X), Y),
    "grid": lambda: mercer.SVRCV([1.0, 2.0], [1.0], cv=2).fit(X, X[:, 0]),
    "perceptron": lambda: mercer.KernelPerceptron(random_state=0).fit(X, Y),
    "frame": lambda: mercer.ParzenRegressor(kernel=Gaussian().on(["a"]) * (1 + Overlap().on(["b", "c"]))).fit(FRAME, Y),
    "strings": lambda: mercer.KernelPCA(2, kernel=Spectrum(1).normalize()).fit(["abc", "cab", "bb", "caba"]),
    "graphs": lambda: mercer.KernelNeighborsClassifier(2, kernel=WeisfeilerLehman(1)).fit(GRAPHS, Y),
    "words": lambda: features.ExplicitMap(Spectrum(2)).fit(["abc", "cab"]),
    "function": lambda: mercer.KernelRidge(kernel=lambda x, z, a: a * (x @ z), kernel_params={"a": 2.0}).fit(X, Y),
    "columns": lambda: Linear().on(slice(0, 2)).after(len) + Custom(min),
}  # fmt: skip
FUNCTIONS = {"lambda": max, "len": len, "min": min}
SUBSTITUTES = (
    None, True, -1, 10**20, 1.5, "x", [], {}, [1, 2], {"list": []}, {"tuple": [0, 10**18, 1]}, {"shared": 0},
    {"float": "nan"}, {"int": "0xfffffffffffffffffffff"}, {"type": "os.system", "fields": {}}, {"function": "len"},
    {"type": "Linear", "fields": {}}, {"slice": [0, 10**9, None]}, {"slice": [0, 9000, None]}, {"objects": "X"},
)  # fmt: skip


@cache
def described(name):
    """What the file of a model holds, the document as JSON gives it back."""
    document, tensors = describe(MODELS[name]())
    return json.loads(json.dumps(document)), tensors


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A file of each model."""
    folder = tmp_path_factory.mktemp("files")
    for name, make in MODELS.items():
        mercer.save(make(), folder / name)
    return folder


def attempt(path):
    """Load, and return whether it worked; the only thing that may be raised is a ModelFileError."""
    message = None
    tracemalloc.start()  # here only: all that is done to files would take several times as long
    try:
        mercer.load(path, functions=FUNCTIONS)
    except ModelFileError as error:
        message = str(error)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert message is None or str(path) in message
    assert peak < 2**23
    return message is None


@pytest.fixture(scope="module", autouse=True)
def _imported():
    for name in MODELS:
        described(name)  # which imports what there is to import
    find_name("Report", {})  # so does looking for a type that only automatic models have, or none


slow_start = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


@slow_start
@given(name=st.sampled_from(list(MODELS)), data=st.data())
def test_bytes_that_were_cut_changed_or_moved_are_noticed(files, tmp_path, name, data):
    content = (files / name).read_bytes()
    start = data.draw(st.integers(0, len(content) - 1))
    end = data.draw(st.integers(start + 1, min(start + 64, len(content))))
    way = data.draw(st.sampled_from(["cut", "overwrite", "remove", "repeat", "insert"]))
    new = data.draw(st.binary(min_size=1, max_size=64))
    changed = {
        "cut": content[:start],
        "overwrite": content[:start] + new + content[start + len(new) :],
        "remove": content[:start] + content[end:],
        "repeat": content[:end] + content[start:],
        "insert": content[:start] + new + content[start:],
    }[way]
    (tmp_path / "file").write_bytes(changed)
    assert attempt(tmp_path / "file") == (changed == content)


@slow_start
@given(data=st.binary(max_size=200))
def test_any_bytes_are_refused(tmp_path, data):
    (tmp_path / "file").write_bytes(data)
    assert not attempt(tmp_path / "file")


def places(node, path=()):
    """Every place in a tree of JSON."""
    yield path
    if isinstance(node, dict | list):
        for key in node if isinstance(node, dict) else range(len(node)):
            yield from places(node[key], (*path, key))


def replaced(document, path, new):
    """The same tree with another node in one place, or without it; what lies elsewhere is not copied."""
    changed = node = copy(document)
    for key in path[:-1]:
        node[key] = copy(node[key])
        node = node[key]
    if new is ...:
        del node[path[-1]]
    else:
        node[path[-1]] = new
    return changed


def written(path, document, tensors):
    with open(path, "wb") as stream:
        _container.write(stream, document, tensors)
    return path


@pytest.mark.parametrize("name", MODELS)
def test_any_other_description_with_a_right_checksum_gives_an_error_or_a_model(name, tmp_path):
    document, tensors = described(name)
    assert attempt(written(tmp_path / "file", document, tensors))
    outcomes = set()
    for count, path in enumerate(list(places(document))[1:]):
        # Each place meets some of the substitutes, and all places together meet all of them.
        for offset in range(2):
            new = (..., *SUBSTITUTES)[(2 * count + offset) % (len(SUBSTITUTES) + 1)]
            outcomes.add(attempt(written(tmp_path / "file", replaced(document, path, new), tensors)))
    assert outcomes == {True, False}


@slow_start
@given(name=st.sampled_from(list(MODELS)), data=st.data())
def test_other_tensors_with_a_right_checksum_give_an_error_or_a_model(tmp_path, name, data):
    document, tensors = described(name)
    if not tensors:
        return
    chosen = data.draw(st.sampled_from(sorted(tensors)))
    old = tensors[chosen]
    way = data.draw(st.sampled_from(["extreme", "dtype", "shape", "longer", "missing"]))
    if way == "extreme":
        new = np.full_like(old, np.iinfo(old.dtype).max if old.dtype.kind in "iu" else 1)
    elif way == "dtype":
        with np.errstate(over="ignore"):  # large numbers are infinite in a short type
            new = old.astype(data.draw(st.sampled_from(list(_container.DTYPES.values()))))
    elif way == "shape":
        new = old.reshape(data.draw(st.sampled_from([(-1,), (1, *old.shape), (*old.shape, 1), (old.size, 1, 1)])))
    else:
        new = np.concatenate([old.ravel(), old.ravel()])
    tensors = {key: new if key == chosen else value for key, value in tensors.items()}
    if way == "missing":
        del tensors[chosen]
    attempt(written(tmp_path / "file", document, tensors))


def test_a_description_that_refers_to_itself_is_refused(tmp_path):
    document, tensors = describe(Linear())
    document |= {"shared": [{"list": [{"shared": 1}]}, {"list": [{"shared": 0}]}], "state": {"shared": 0}}
    assert not attempt(written(tmp_path / "file", document, tensors))


def test_a_description_that_doubles_again_and_again_is_refused(tmp_path):
    document, tensors = describe(Linear() + Linear())
    halves = [{"type": "Linear", "fields": {}}]
    for i in range(60):
        halves.append({"type": "Sum", "fields": {"k1": {"shared": i}, "k2": {"shared": i}}})
    document |= {"shared": halves, "state": {"shared": 60}}
    assert not attempt(written(tmp_path / "file", document, tensors))


def test_a_description_that_is_deep_is_refused(tmp_path):
    document, tensors = describe(Linear())
    deep = 0
    for _ in range(300):
        deep = {"list": [deep]}
    assert not attempt(written(tmp_path / "file", document | {"state": deep}, tensors))
    chain = [{"list": [{"shared": i + 1}]} for i in range(5000)] + [{"list": []}]
    assert not attempt(written(tmp_path / "file", document | {"shared": chain, "state": {"shared": 0}}, tensors))


@pytest.mark.parametrize(
    "state",
    [
        {"type": "Monomials", "fields": {"n_inputs": 10**9, "degree": 10**9, "offset": 1.0}},
        {"type": "On", "fields": {"kernel": {"type": "Linear", "fields": {}}, "columns": {"slice": [0, 10**15, 1]}}},
        {"sparse": "csr_array", "shape": {"tuple": [1, 1]}, "data": {"array": "a", "as": "array"},
         "indices": {"array": "i", "as": "array"}, "indptr": {"array": "p", "as": "array"}},
        {"random": "MT19937", "key": {"array": "k", "as": "array"}, "position": 10**6, "gauss": {"tuple": [0, 0.0]}},
        {"array": "t", "as": "text"},
        {"array": "a", "as": "datetime64[fs]"},
        {"frame": "pandas", "names": {"list": ["x"]}, "name": None, "index": {"tuple": ["range", 0, 10**12, 1]},
         "columns": {"list": [{"tuple": ["numpy", {"array": "z", "as": "array"}]}]}},
        {"frame": "pandas", "names": {"list": [{"tuple": [{"list": []}]}]}, "name": None,
         "index": {"tuple": ["range", 0, 1, 1]},
         "columns": {"list": [{"tuple": ["numpy", {"array": "a", "as": "array"}]}]}},
        {"frame": "os", "names": None, "name": None, "index": None, "columns": {"list": []}},
        {"partial": {"type": "Linear", "fields": {}}, "keywords": {"dict": []}},
        {"scalar": "int8", "value": 300},
        {"scalar": "float64", "value": "12"},
    ],
    ids=lambda state: next(iter(state.values())) if "type" in state else str(next(iter(state.items()))),
)  # fmt: skip
def test_what_would_harm_compiled_code_or_fill_memory_is_refused(tmp_path, state):
    document, _ = describe(Linear())
    tensors = {
        "a": np.ones(1), "i": np.array([10**6]), "p": np.array([0, 1]), "k": np.zeros(624, np.uint32),
        "t": np.full((2, 3), 2**32 - 1, np.uint32), "z": np.array(1.0),
    }  # fmt: skip
    assert not attempt(written(tmp_path / "file", document | {"state": state, "estimator": "Linear"}, tensors))
    # Not only because the whole is no kernel:
    state = {"type": "FromFeatures", "fields": {"features": state}}
    with pytest.raises(ModelFileError) as caught:
        mercer.load(written(tmp_path / "file", document | {"state": state, "estimator": "FromFeatures"}, tensors))
    assert "FromFeatures: expected" not in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        lambda words: words[::-1],
        lambda words: words[[0, *range(len(words) - 1)]],
        lambda words: words + np.array([2**63 - 99, 0]),
    ],
    ids=["out of order", "repeated", "at places that no string has"],
)
def test_words_that_could_not_be_searched_for_are_refused(tmp_path, change):
    document, tensors = describe(features.ExplicitMap(kernels.WeightedDegree(2)).fit(["abab", "bcab"]))
    assert attempt(written(tmp_path / "file", document, tensors))
    name = "features_.words.0"
    assert not attempt(written(tmp_path / "file", document, tensors | {name: change(tensors[name]).copy()}))
