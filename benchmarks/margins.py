"""Several kernels for classes: weights from the margin against MKLpy's EasyMKL, and what other ways to weigh take.

``python -m benchmarks.margins 4`` is a small trial with a fourth of the rows.  Needs ``MERCER_DATA``; MKLpy and cvxopt
are compared with if they are there.
"""

import sys
import warnings
from functools import partial

import numpy as np
import pandas as pd

from mercer.gram import Gram
from mercer.kernels import Gaussian, Laplacian, Linear, Spectrum
from mercer.models import MultipleKernelClassifier

from .measure import data_folder, keel, table, timed, verdict
from .structured import splice

try:
    import torch
    from MKLpy.algorithms import EasyMKL
except ImportError:
    EasyMKL = None

SPLITS = 3
WIDTHS = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4)  # of Gaussians, in units of √d deviations


def vector_kernels(d):
    wide = [Gaussian(width * d**0.5) for width in WIDTHS]
    return [*wide, Linear(), (Linear() + 1.0) ** 2, Laplacian(d**0.5)]


def read(name):
    """Points, kernels of them, and classes; windows of DNA are words and columns of numbers at once."""
    X, y = keel(name)
    if name != "splice":
        return X, vector_kernels(X.shape[1]), y
    frame = pd.DataFrame(X).rename(columns=str).assign(dna=splice(data_folder())[0])
    columns = list(map(str, range(X.shape[1])))
    strings = [Spectrum(length).on("dna") for length in (1, 2, 3, 4)]
    return frame, [*strings, *(kernel.on(columns) for kernel in vector_kernels(60)[3:9])], y


def split(X, rows, rest):
    """Return training and test points; arrays with columns divided by their deviation in the former."""
    if not isinstance(X, np.ndarray):
        return X.iloc[rows], X.iloc[rest]
    centre, spread = X[rows].mean(axis=0), X[rows].std(axis=0)
    return tuple((X[part] - centre) / np.where(spread > 0, spread, 1.0) for part in (rows, rest))


def peer(kernels, train, y):
    """Fit MKLpy's EasyMKL to the same kernels divided by the mean of k(x, x), as its users do."""
    matrices = [Gram(kernel, train).dense() for kernel in kernels]
    scales = [K.diagonal().mean() for K in matrices]
    return scales, EasyMKL(lam=0.1).fit([torch.from_numpy(K / s) for K, s in zip(matrices, scales, strict=True)], y)


def peer_predict(found, kernels, train, test):
    scales, model = found
    matrices = [Gram(kernel, test, train).dense() / s for kernel, s in zip(kernels, scales, strict=True)]
    return np.asarray(model.predict([torch.from_numpy(K) for K in matrices]))


def compare(name, n):
    """Least seconds and mean accuracies on random splits, fitted in turns; matrices are computed in either time."""
    X, kernels, labels = read(name)
    y = np.unique(labels, return_inverse=True)[1]
    n = min(n, 8 * len(y) // 10)
    fits = {
        method: partial(lambda method, train, y: MultipleKernelClassifier(kernels, method=method).fit(train, y), method)
        for method in ("easy", "simple", "average")
    }
    if EasyMKL is not None:
        fits["MKLpy"] = lambda train, y: peer(kernels, train, torch.from_numpy(y))
    seconds, right = {who: [] for who in fits}, {who: [] for who in fits}
    for seed in range(SPLITS):
        order = np.random.default_rng(seed).permutation(len(y))
        rows, rest = order[:n], order[n : n + 2000]
        train, test = split(X, rows, rest)
        for who, fit in fits.items():
            found, time = timed(lambda fit=fit, train=train, rows=rows: fit(train, y[rows]))
            predicted = peer_predict(found, kernels, train, test) if who == "MKLpy" else found.predict(test)
            seconds[who].append(time)
            right[who].append(np.mean(predicted == y[rest]))
    return n, len(kernels), {who: (min(seconds[who]), float(np.mean(right[who]))) for who in fits}


def rows_of(name, n):
    n, count, found = compare(name, n)
    ours, theirs = found["easy"], found.get("MKLpy")
    cells = [f"{time:.2f} s, {share:.4f}" for time, share in found.values()]
    if theirs is None:
        return [name, n, count, *cells, "skipped: no MKLpy", "", ""]
    worse = "" if ours[1] >= theirs[1] else " (missed)"
    return [name, n, count, *cells, verdict(theirs[0] / ours[0], 5.0), f"{ours[1] - theirs[1]:+.4f}{worse}"]


def main(part: int = 1) -> None:
    """The table, with one of so many parts of the rows."""
    if data_folder() is None:
        print("\nSeveral kernels for classes: skipped, MERCER_DATA names no folder")
        return
    warnings.filterwarnings("ignore", module="MKLpy")
    sizes = {"german": 800, "phoneme": 2000, "banana": 2000, "splice": 2000}
    rows = [rows_of(name, n // part) for name, n in sizes.items()]
    header = ["data", "rows", "kernels", "easy", "simple", "average", "MKLpy's EasyMKL", "easy, faster",
              "more right"]  # fmt: skip
    title = f"Several kernels for classes: least seconds of a fit and mean share of right classes, {SPLITS} splits"
    table(title, header, rows)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
