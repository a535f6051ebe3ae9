"""``mercer bench``: this machine, side by side with scikit-learn."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from mercer.words import show_seconds

from . import _show
from ._options import command, count_option, json_option

FEATURES = 8
LENGTH_SCALE = 2.0
ALPHA = 0.1
TOLERANCE = 1e-3  # of both SVMs


@dataclass(frozen=True)
class Race:
    """The same work done by both libraries, whose results are compared."""

    name: str
    rows: int
    ours: Callable[[], Any]
    theirs: Callable[[], Any]


@command(
    "bench",
    "Time it next to scikit-learn on this machine.",
    ["mercer bench", "mercer bench --n 1000 --repeat 1 --json"],
)
@count_option("--n", "Number of rows.", default=3000)
@count_option("--repeat", "Fastest of how many runs.", default=3)
@json_option
def bench(n: int, repeat: int, as_json: bool) -> None:
    """Time kernel products, kernel ridge regression and support vector machines next to scikit-learn.

    Data are generated. Both libraries take turns, with the same parameters, and their results are compared.
    """
    results = []
    for race in _list_races(n):
        if not as_json:
            click.echo(f"running: {race.name} …", err=True)
        results.append(_run(race, repeat))
    if as_json:
        _show.as_json({"features": FEATURES, "repeat": repeat, "machine": _describe_machine(), "results": results})
        return
    rows = []
    for item in results:
        times = [show_seconds(item[f"{name}_seconds"]) for name in ("mercer", "sklearn")]
        rows.append([item["work"], f"{item['rows']:,}", *times, f"{item['ratio']:.1f}×", f"{item['difference']:.0e}"])
    columns = ["work", "rows", "mercer", "scikit-learn", "faster", "difference"]
    _show.table(columns, rows, right=columns[1:])
    _show.paragraph(
        f"\nGenerated data with {FEATURES} features; the fastest of {repeat} runs each; the difference is that of the "
        f"results, relative to their size. {_describe_machine()}."
    )


def _run(race: Race, repeat: int) -> dict[str, Any]:
    import numpy as np

    calls = (race.ours, race.theirs)
    best, values = [float("inf")] * 2, [np.zeros(0)] * 2
    for turn in range(repeat + 1):  # the first warms up
        for i, call in enumerate(calls):
            start = time.perf_counter()
            values[i] = np.asarray(call(), dtype=float)
            if turn > 0:
                best[i] = min(best[i], time.perf_counter() - start)
    ours, theirs = values
    size = float(np.abs(theirs).max()) or 1.0
    return {
        "work": race.name,
        "rows": race.rows,
        "mercer_seconds": best[0],
        "sklearn_seconds": best[1],
        "ratio": best[1] / best[0],
        "difference": float(np.abs(ours - theirs).max()) / size,
    }


def _list_races(n: int) -> list[Race]:
    import numpy as np
    from sklearn import kernel_ridge, svm
    from sklearn.metrics.pairwise import rbf_kernel

    from mercer import SVC, Gram, KernelRidge
    from mercer.kernels import Gaussian

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, FEATURES))
    v = rng.normal(size=n)
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)
    labels = (y + 0.5 * rng.normal(size=n) > np.median(y)).astype(int)
    if n > 1:
        labels[:2] = 0, 1  # whatever the draw, there are two classes
    new = X[: min(n, 200)] + 0.1
    kernel, gamma = Gaussian(LENGTH_SCALE), 0.5 / LENGTH_SCALE**2

    def ridge(model: Any) -> Callable[[], Any]:
        return lambda: model.fit(X, y).predict(new)

    def machine(model: Any) -> Callable[[], Any]:
        return lambda: model.fit(X, labels).decision_function(new)

    return [
        Race("kernel matrix × vector", n, lambda: Gram(kernel, X) @ v, lambda: rbf_kernel(X, gamma=gamma) @ v),
        Race("kernel ridge regression", n,
             ridge(KernelRidge(alpha=ALPHA, kernel="rbf", gamma=gamma)),
             ridge(kernel_ridge.KernelRidge(alpha=ALPHA, kernel="rbf", gamma=gamma))),
        Race("support vector classifier", n,
             machine(SVC(C=1.0, gamma=gamma, tol=TOLERANCE)),
             machine(svm.SVC(C=1.0, gamma=gamma, tol=TOLERANCE))),
    ]  # fmt: skip


def _describe_machine() -> str:
    import platform

    import numpy
    import sklearn

    from mercer._native import isas
    from mercer.arrays.threads import default_threads, name_blas_kernels

    threads = default_threads()
    return (
        f"{threads} thread{'s' * (threads != 1)}, {platform.machine()} with {isas()[0]}, "
        f"BLAS for {name_blas_kernels()}, Python {platform.python_version()}, NumPy {numpy.__version__}, "
        f"scikit-learn {sklearn.__version__}"
    )
