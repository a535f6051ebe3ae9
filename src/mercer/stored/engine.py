"""What runs the methods of estimators on tables that stay on a disk."""

from __future__ import annotations

import inspect
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import mercer
from mercer.arrays.budget import parse_memory
from mercer.arrays.tensors import host_array
from mercer.estimators.progress import report_progress
from mercer.estimators.transaction import all_or_nothing

from .checkpoint import Checkpoint, open_checkpoint
from .executor import DiskExecutor
from .names import name_value
from .predict import predict_stored
from .table import StoredTable, as_table, choose_columns

SEEDS = 2**31 - 1


def run_stored(model: Any, method: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a method of an estimator on a stored table, a piece at a time."""
    options = dict(kwargs)
    checkpoint, fits = options.pop("checkpoint", None), method.__name__ == "fit"
    for option, value in (("client", options.pop("client", None)), ("checkpoint", None if fits else checkpoint)):
        if value is not None:
            raise TypeError(
                f"{type(model).__name__}.{method.__name__}: {option}={value!r} was given, but X is a table on a disk, "
                f"of which {'no cluster has pieces' if option == 'client' else 'fit alone saves sums'}; leave it out"
            )
    given = inspect.signature(method).bind(model, *args, **options).arguments
    given.pop("self", None)
    table = as_table(given.pop("X"))
    if not fits:
        return predict_stored(model, method.__name__, table, **given)
    fit_stored(model, table, checkpoint, **given)
    return model


def fit_stored(model: Any, table: StoredTable, checkpoint: Any = None, **given: Any) -> None:
    """Fit a model to a table, going on where a fit that was killed has stopped; all or nothing.

    Sums are saved beside the data, or in the folder ``checkpoint``, and removed when the fit ends, well or with an
    error; what is left of one that was killed is taken up by the next fit of the same model to the same rows.
    """
    fit = getattr(model, "_fit_cluster", None)
    if fit is None:
        raise TypeError(
            f"{type(model).__name__} cannot be fitted to a table on a disk; those that can are KernelRidge, "
            "KernelRidgeCV, KernelRidgeClassifier, KernelLogisticRegression, KernelRegressor, KernelClassifier, "
            "KernelQuantileRegressor, support vector machines, neighbours and Parzen windows. Read the table, "
            "if it fits into memory"
        )
    rows = table.open()
    if not rows.n:
        raise ValueError(f"{type(model).__name__}: {rows.name} has no rows to learn from; look at what wrote it")
    columns = choose_columns(rows, table.columns, given.get("y"), given.get("sample_weight"))
    tell = report_progress(model) if hasattr(model, "_init_callback_context") else nullcontext()
    with tell as on_step, all_or_nothing(model):
        memory = parse_memory(model.memory)
        seed, name = _name_fit(model, rows.describe(), columns, given)
        with _hold(_choose_folder(table, checkpoint), name) as saved:
            executor = DiskExecutor(rows, columns, memory, saved, on_step, given.get("y"))
            with _seeded(model, seed), closing(executor):
                fit(executor, X=table, **given)


@contextmanager
def keep_fit(model: Any, checkpoint: Any, *data: Any) -> Iterator[Checkpoint]:
    """Keep states of a fit to data that is here in a folder while it runs.

    The states of a fit have the hash of the model and of all data as their name, so that fits may share a folder: what
    is left of one that was killed is taken up by the next fit of the same model to the same data, and by no other.
    """
    seed, name = _name_fit(model, *map(host_array, data))
    with _hold(_as_folder(checkpoint), name) as saved, _seeded(model, seed):
        yield saved


@contextmanager
def _hold(folder: Path, name: str) -> Iterator[Checkpoint]:
    """Keep what is saved of a fit only if it is killed or interrupted."""
    saved = open_checkpoint(folder, name)
    try:
        yield saved
    except Exception:
        saved.remove()
        raise
    except BaseException:
        saved.release()
        raise
    saved.remove()


def _name_fit(model: Any, *data: Any) -> tuple[int, str]:
    """Return a seed and a name for the fit of a model to data, the same whenever it is started."""
    name = name_value((mercer.__version__, type(model).__name__, model.get_params(), *data))
    return int(name[:12], 16) % SEEDS, name[:16]


def _as_folder(checkpoint: Any) -> Path:
    """Return the folder that was asked for, which need not be there yet."""
    folder = Path(checkpoint)
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"checkpoint={str(checkpoint)!r} is no folder; give the folder to save sums in")
    return folder


def _choose_folder(table: StoredTable, checkpoint: Any) -> Path:
    """Return where sums are saved: where it was asked for, beside the data, or where temporary files are."""
    if checkpoint is not None:
        return _as_folder(checkpoint)
    source = table.source if isinstance(table.source, Path) else getattr(table.source, "filename", None)
    if source is not None:
        beside = Path(source).resolve().parent
        if os.access(beside, os.W_OK):
            return beside
    return Path(tempfile.gettempdir())


@contextmanager
def _seeded(model: Any, seed: int) -> Iterator[None]:
    """Let a model without a seed take one that is the same when the fit is started again."""
    if getattr(model, "random_state", 0) is not None:
        yield
        return
    model.random_state = seed
    try:
        yield
    finally:
        model.random_state = None
