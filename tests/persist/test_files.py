"""Files appear complete or not at all, and say clearly what is wrong with them."""

import errno
import os
import stat
import subprocess
import sys

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer.kernels import Custom, Gaussian, Linear
from mercer.persist import ModelFileError, _container, _files, read_header

X = np.array([[0.0], [1.0], [3.0]])
Y = np.array([0.0, 1.0, 2.0])


@pytest.fixture
def model():
    return mercer.KernelRidge(kernel=Gaussian()).fit(X, Y)


def rewrite(model, path, **changes):
    """A file whose document says something else."""
    document, tensors = _files.describe(model)
    with open(path, "wb") as stream:
        _container.write(stream, {**document, **changes}, tensors)


def test_kernels_and_expansions_can_be_saved_alone(roundtrip):
    kernel = 2.0 * Gaussian([1.0, 0.5]) + Linear().on([0]) ** 2
    assert roundtrip(kernel) == kernel
    f = mercer.Expansion(Gaussian(), X, Y, 0.5)
    again = roundtrip(f)
    assert (again([[0.3]]) == f([[0.3]])).all()
    assert again.kernel == f.kernel


def test_sums_of_hundreds_of_kernels_can_be_saved(roundtrip):
    kernel = sum(Gaussian(1.0 + i).on(i) for i in range(250))
    assert roundtrip(kernel) == kernel


def test_a_file_is_not_replaced_unless_asked(model, tmp_path):
    mercer.save(model, tmp_path / "model")
    before = (tmp_path / "model").read_bytes()
    with pytest.raises(FileExistsError, match="overwrite=True"):
        mercer.save(Linear(), tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == before
    mercer.save(Linear(), tmp_path / "model", overwrite=True)
    assert mercer.load(tmp_path / "model") == Linear()


def test_a_path_may_be_text_and_a_link_stays_one(model, tmp_path):
    mercer.save(model, str(tmp_path / "model"))
    (tmp_path / "link").symlink_to(tmp_path / "model")
    mercer.save(Linear(), str(tmp_path / "link"), overwrite=True)
    assert (tmp_path / "link").is_symlink()
    assert mercer.load(str(tmp_path / "model")) == Linear()


@pytest.mark.parametrize("overwrite", [False, True])
def test_only_regular_files_are_replaced(model, tmp_path, overwrite):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(IsADirectoryError, match="give the name of a file"):
        mercer.save(model, tmp_path / "folder", overwrite=overwrite)
    with pytest.raises(OSError, match="no regular file"):
        mercer.save(model, tmp_path / "pipe", overwrite=overwrite)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    with pytest.raises(IsADirectoryError):
        mercer.load(tmp_path / "folder")
    assert sorted(os.listdir(tmp_path)) == ["folder", "pipe"]


def test_a_file_has_the_rights_of_any_new_file(model, tmp_path):
    mercer.save(model, tmp_path / "model")
    (tmp_path / "other").write_bytes(b"")
    rights = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("model", "other")]
    assert rights[0] == rights[1]


@pytest.mark.parametrize("where", ["write", "fsync", "replace"])
def test_nothing_is_left_behind_when_the_disk_is_full(model, tmp_path, monkeypatch, where):
    mercer.save(Linear(), tmp_path / "model")

    def full(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(_container if where == "write" else os, where, full)
    with pytest.raises(OSError, match="No space left"):
        mercer.save(model, tmp_path / "model", overwrite=True)
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["model"]
    assert mercer.load(tmp_path / "model") == Linear()


def test_a_model_that_cannot_be_saved_leaves_no_file(tmp_path):
    model = mercer.SVC(kernel=Custom(lambda x, z: 1.0 + (x is z))).fit([object(), object()], [0, 1])
    with pytest.raises(ModelFileError, match=r"support_vectors_\.0 is <object"):
        mercer.save(model, tmp_path / "model")
    assert os.listdir(tmp_path) == []


def test_only_fitted_models_of_mercer_are_saved(tmp_path):
    with pytest.raises(NotFittedError):
        mercer.save(mercer.SVC(), tmp_path / "model")
    for other in (make_pipeline(StandardScaler(), mercer.SVC()), [1], StandardScaler(), None):
        with pytest.raises(TypeError, match="fitted estimator of mercer's"):
            mercer.save(other, tmp_path / "model")
    assert os.listdir(tmp_path) == []


def test_attributes_of_others_are_left_out(model, roundtrip):
    model.note_ = object()
    assert not hasattr(roundtrip(model), "note_")


def test_a_header_tells_people_what_a_file_is(tmp_path):
    model = mercer.SVC().fit(X, [0, 1, 1])
    mercer.save(model, tmp_path / "model")
    header = read_header(tmp_path / "model")
    assert (header["format"], header["version"]) == ("mercer-model", 1)
    assert header["mercer"] == mercer.__version__
    assert header["estimator"] == "SVC"
    assert header["kernel"] == repr(model.kernel_)
    assert header["classes"] == [0, 1]
    assert header["preprocessing"] is None
    assert header["functions"] == []
    assert header["tensors"]["support_vectors_"] == {"dtype": "F64", "shape": list(model.support_vectors_.shape)}
    assert header["bytes"] == (tmp_path / "model").stat().st_size


def test_missing_functions_are_named_with_the_call_that_gives_them(tmp_path):
    path = tmp_path / "model"
    mercer.save(Custom(len) + Linear().after(abs) + Custom(lambda x, z: 1.0), path)
    with pytest.raises(ModelFileError) as caught:
        mercer.load(path, functions={"len": len})
    message = str(caught.value)
    assert "uses 2 function(s)" in message
    assert "'abs', which was builtins.abs at k1.k2.map" in message
    assert f"mercer.load({str(path)!r}, functions={{'abs': …, 'lambda': …}})" in message
    assert [each["name"] for each in read_header(path)["functions"]] == ["len", "abs", "lambda"]
    with pytest.raises(TypeError, match=r"functions\['abs'\] must be a function"):
        mercer.load(path, functions={"len": len, "abs": 3, "lambda": max})
    kernel = mercer.load(path, functions={"len": len, "abs": abs, "lambda": max, "another": min})
    assert kernel.k2.function is max


def test_a_later_version_asks_for_an_upgrade(model, tmp_path):
    rewrite(model, tmp_path / "model", version=2, mercer="9.0", state={"something": "new"})
    for read in (mercer.load, read_header):
        with pytest.raises(ModelFileError, match=r"version 2 .* mercer '9\.0'.* upgrade mercer"):
            read(tmp_path / "model")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 0}, "not of a model"),
        ({"version": "1"}, "not of a model"),
        ({"version": True}, "not of a model"),
        ({"format": "other"}, "not of a model"),
        ({"functions": [{"name": 1}]}, "functions is damaged"),
        ({"functions": None}, "functions is damaged"),
        ({"estimator": "SVC"}, "holds a SVC"),
        ({"state": {"list": []}}, "holds a KernelRidge"),
        ({"shared": None}, "no list"),
    ],
    ids=str,
)
def test_a_document_that_is_wrong_is_refused(model, tmp_path, changes, message):
    rewrite(model, tmp_path / "model", **changes)
    with pytest.raises(ModelFileError, match=message):
        mercer.load(tmp_path / "model")


def test_a_message_names_the_file(tmp_path):
    (tmp_path / "notes.txt").write_text("not a model, but long enough to hold a length of a header")
    with pytest.raises(ModelFileError, match=r"cannot load .*notes\.txt: this is no model file"):
        mercer.load(tmp_path / "notes.txt")
    with pytest.raises(FileNotFoundError):
        mercer.load(tmp_path / "missing")
    assert issubclass(ModelFileError, ValueError)


def test_another_safetensors_file_is_no_model(tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    safetensors.save_file({"a": np.zeros(3)}, tmp_path / "file", metadata={"format": "np"})
    with pytest.raises(ModelFileError, match=r"mercer\.save writes those"):
        mercer.load(tmp_path / "file")


def test_loading_runs_in_a_new_process(model, tmp_path):
    mercer.save(model, tmp_path / "model")
    code = f"import mercer; print(mercer.load({str(tmp_path / 'model')!r}).predict([[0.7]]).tobytes().hex())"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == model.predict([[0.7]]).tobytes().hex()


def test_loading_imports_nothing_that_the_model_does_not_need(model, tmp_path):
    mercer.save(model, tmp_path / "model")
    code = (
        f"import sys, mercer; mercer.load({str(tmp_path / 'model')!r}); "
        "print(sorted({'mercer.auto', 'polars', 'matplotlib', 'torch', 'dask', 'click'} & set(sys.modules)))"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "[]"
