"""Saving and loading model files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer import __version__
from mercer.expansion import Expansion
from mercer.files import check_free, remove_stale, replacing
from mercer.formula.data import short
from mercer.kernels import Kernel
from mercer.kernels.value import Value

from . import _container, _registry
from ._decode import Decoder
from ._encode import Encoder
from .errors import ModelFileError

FORMAT = "mercer-model"
VERSION = 1
SHOWN = 1000  # characters of a kernel, and classes, in the part of a file that is for people


def save(model: Any, path: str | os.PathLike[str], overwrite: bool = False) -> None:
    """Write a fitted model to a file that holds no code.

    The file is in the format of safetensors.  Functions, such as that of a ``Custom`` kernel or a ``CustomLoss``, are
    saved by name only: :func:`load` must be given them.  Attributes that are not mercer's own are left out.

    Parameters
    ----------
    model : estimator, Kernel, Loss or Expansion
        A fitted estimator of mercer's, a kernel, a loss, or a function that is an expansion.
    path : str or path
        The file.  It appears complete or not at all: the bytes go to another file next to it, which is then renamed.
    overwrite : bool, default=False
        Whether a file that is already there is replaced.

    Raises
    ------
    FileExistsError
        If the file is there and ``overwrite`` is False.
    NotFittedError
        If the model is not fitted.
    ModelFileError
        If the model holds something that no file can, such as objects of a class of your own.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import mercer
    >>> from mercer.kernels import Gaussian
    >>> model = mercer.KernelRidge(0.1, kernel=Gaussian(2.0)).fit([[0.0], [1.0], [3.0]], [0.0, 1.0, 2.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mercer.save(model, Path(folder) / "line.mercer")
    ...     again = mercer.load(Path(folder) / "line.mercer")
    >>> again
    KernelRidge(alpha=0.1, kernel=Gaussian(length_scale=2.0))
    >>> bool((again.predict([[2.0]]) == model.predict([[2.0]])).all())
    True
    """
    target = Path(os.path.realpath(path))  # so that a link stays a link
    check_free(target, overwrite)
    document, tensors = describe(model)
    with replacing(target, lambda: check_free(target, overwrite)) as temporary, open(temporary, "xb") as stream:
        _container.write(stream, document, tensors)


def load(
    path: str | os.PathLike[str],
    functions: Mapping[str, Any] | None = None,
    kernels: Iterable[type] = (),
    estimators: Iterable[type] = (),
    losses: Iterable[type] = (),
) -> Any:
    """Read a model from a file that :func:`save` has written, without running any code from it.

    Parameters
    ----------
    path : str or path
        The file.
    functions : dict, optional
        The functions, or objects that transform, which the model needs and the file only names.
        ``read_header(path)["functions"]`` lists the names.
    kernels, estimators, losses : iterables of classes
        Those of your own that the model is made of.  A file only names them, so that it cannot run code.

    Returns
    -------
    estimator, Kernel, Loss or Expansion
        What was saved; it gives the same predictions, bit for bit.

    Raises
    ------
    ModelFileError
        If the file is damaged, is no model, is of a later version, or needs functions that were not given.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import mercer
    >>> from mercer.kernels import Custom
    >>> def common(x, z):
    ...     return len(set(x) & set(z))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mercer.save(Custom(common), Path(folder) / "kernel.mercer")
    ...     k = mercer.load(Path(folder) / "kernel.mercer", functions={"common": common})
    >>> k(["abc"], ["bcd"])
    array([[2.]])
    """
    remove_stale(Path(os.path.realpath(path)).parent)
    with _open_named(path) as (stream, size):
        header = _container.read(stream, size)
        document = _check_document(header.document)
        given = _take_functions(path, document["functions"], functions)
        tensors = _container.read_tensors(stream, header)
        own = {entry.name: entry for entry in map(_registry.make_own_entry, (*kernels, *estimators, *losses))}
        model = Decoder(tensors, document["shared"], given, own).value(document["state"])
        entry = _registry.find_type(type(model))
        if entry is None or entry.name != document["estimator"]:
            raise ModelFileError(f"it says that it holds a {document['estimator']}, but it does not")
        return model


def read_header(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what a model file is about, without making the model.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    dict
        ``format`` and its ``version``; the version of ``mercer`` that wrote it; the ``estimator``, its ``kernel`` and
        ``classes``, and the ``preprocessing`` of tables, for people; the ``functions`` that :func:`load` must be given;
        the ``tensors`` with their types and shapes; and the size in ``bytes``.  The checksum is not compared, because
        that takes reading all of the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import mercer
    >>> from mercer.persist import read_header
    >>> model = mercer.SVC().fit([[0.0], [1.0]], ["no", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mercer.save(model, Path(folder) / "answer.mercer")
    ...     header = read_header(Path(folder) / "answer.mercer")
    >>> header["estimator"], header["classes"], header["tensors"]["support_vectors_"]
    ('SVC', ['no', 'yes'], {'dtype': 'F64', 'shape': [2, 1]})
    """
    with _open_named(path) as (stream, size):
        header = _container.read(stream, size)
        document = _check_document(header.document)
        shown = ("format", "version", "mercer", "estimator", "kernel", "classes", "preprocessing", "functions")
        tensors = {
            tensor.name: {"dtype": _container.NAMES[tensor.dtype], "shape": list(tensor.shape)}
            for tensor in header.tensors()
        }
        return {name: document[name] for name in shown} | {"tensors": tensors, "bytes": size}


# -- the document ---------------------------------------------------------------------------------------------------


def describe(model: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the document and the tensors of a model."""
    entry = _registry.find_type(type(model))
    if entry is None or not (isinstance(model, Value | Expansion) or "fitted" in entry.sections):
        raise TypeError(
            f"save takes a fitted estimator of mercer's, a kernel, a loss or an Expansion, got {short(model)} of type "
            f"{type(model).__module__}.{type(model).__qualname__}; skops and pickle save pipelines of scikit-learn "
            "around a mercer model"
        )
    if "fitted" in entry.sections:
        check_is_fitted(model)
    encoder = Encoder()
    state = encoder.node(model)
    kernel = model if isinstance(model, Kernel) else getattr(model, "kernel_", getattr(model, "kernel", None))
    document = {
        "format": FORMAT,
        "version": VERSION,
        "mercer": __version__,
        "estimator": entry.name,
        "kernel": short(kernel, SHOWN) if isinstance(kernel, Kernel) else None,
        "classes": _classes(getattr(model, "classes_", None)),
        "preprocessing": _preprocessing(getattr(model, "encoder_", None)),
        "functions": [
            {"name": function.name, "is": function.qualified, "at": function.place} for function in encoder.functions
        ],
        "shared": encoder.finish(),
        "state": state,
    }
    return document, encoder.tensors


def _classes(classes: Any) -> list[Any] | None:
    """Return classes for people to read: as they are, if JSON has them."""
    if classes is None:
        return None
    if isinstance(classes, list):  # one array for each output
        return [_classes(each) for each in classes]
    return [each if isinstance(each, bool | int | str) else str(each) for each in classes[:SHOWN].tolist()]


def _preprocessing(encoder: Any) -> list[str] | None:
    """Return what is done with the columns of a table, for people to read."""
    return None if encoder is None else [f"{each.name}: {each.treatment}" for each in encoder.columns_[:SHOWN]]


def _check_document(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document of which the outermost level is as it should be."""
    version = document.get("version")
    if document.get("format") != FORMAT or type(version) is not int or version < 1:
        raise ModelFileError("its document is not of a model of mercer")
    if version > VERSION:
        raise ModelFileError(
            f"it has version {version} of the format, written by mercer {short(document.get('mercer'))}, and this "
            f"mercer {__version__} knows versions up to {VERSION}; upgrade mercer"
        )
    for name in ("mercer", "estimator", "kernel", "classes", "preprocessing", "functions", "shared", "state"):
        if name not in document:
            raise ModelFileError(f"its document has no {name!r}")
    if not isinstance(document["functions"], list) or not all(map(_is_note, document["functions"])):
        raise ModelFileError("its list of functions is damaged")
    return document


def _is_note(note: Any) -> bool:
    texts = isinstance(note, dict) and all(isinstance(text, str) for text in note.values())
    return texts and set(note) == {"name", "is", "at"}


def _take_functions(path: Any, notes: list[dict[str, str]], functions: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the functions that a file needs, or say which are missing."""
    functions = functions or {}
    missing = [note for note in notes if note["name"] not in functions]
    if missing:
        listed = "; ".join(f"{note['name']!r}, which was {note['is']} at {note['at'] or 'the top'}" for note in missing)
        pattern = ", ".join(f"{note['name']!r}: …" for note in missing)
        raise ModelFileError(
            f"the model uses {len(missing)} function(s) that a file cannot hold: {listed}. Pass what they were: "
            f"mercer.load({os.fspath(path)!r}, functions={{{pattern}}})"
        )
    found = {note["name"]: functions[note["name"]] for note in notes}
    for name, function in found.items():
        if not (callable(function) or hasattr(function, "transform")):
            raise TypeError(f"load: functions[{name!r}] must be a function or a transformer, got {short(function)}")
    return found


# -- files ----------------------------------------------------------------------------------------------------------


@contextmanager
def _open_named(path: str | os.PathLike[str]) -> Iterator[tuple[Any, int]]:
    """Open a file for reading, and name it in what goes wrong inside."""
    with open(path, "rb") as stream:
        try:
            yield stream, os.fstat(stream.fileno()).st_size
        except ModelFileError as error:
            raise ModelFileError(f"cannot load {os.fspath(path)}: {error}") from None
