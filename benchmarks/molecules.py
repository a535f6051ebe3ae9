"""Tanimoto's kernel on 4,200 fingerprints: against the same formula by matrix products, and what it learns.

The rival is what libraries of Gaussian processes compute for molecules, in torch where it is installed and in NumPy
elsewhere: products of rows of numbers, then the ratio, then the product with a vector.
"""

import gzip
from functools import partial

import numpy as np

from mercer import Gram, KernelRidgeCV
from mercer.kernels import MinMax, Tanimoto

from .measure import best_time, data_folder, table, verdict

ROWS, PLACES, SHARE = 4_200, 2_048, 0.025
GOAL = 20.0


def make_bits() -> np.ndarray:
    """Return random bits of the size and density of fingerprints."""
    return (np.random.default_rng(0).uniform(size=(ROWS, PLACES)) < SHARE).astype(np.float64)


def read_fingerprints(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return counts of patterns of the molecules in a file, and the target."""
    with gzip.open(data_folder() / "molecules" / f"{name}.tsv.gz", "rt") as file:
        lines = [line.rstrip("\n").split("\t") for line in file]
    lines = [line for line in lines if ":" in line[-1]]  # without a header
    counts = np.zeros((len(lines), PLACES))
    for row, line in enumerate(lines):
        for pair in line[-1].split():
            place, _, count = pair.partition(":")
            counts[row, int(place)] += float(count)
    return counts, np.array([float(line[0]) for line in lines])


def find_rival():
    """Return a function that multiplies the matrix of bits with a vector, and its name."""
    try:
        import torch
    except ImportError:

        def multiply(X, v):
            norms, common = (X * X).sum(axis=1), X @ X.T
            return (common / (norms[:, None] + norms[None, :] - common)) @ v

        return multiply, "NumPy", lambda array: array

    def multiply_tensors(X, v):
        norms, common = (X * X).sum(-1), X @ X.T
        return (common / (norms[:, None] + norms[None, :] - common)) @ v

    return multiply_tensors, "torch", torch.from_numpy


def prepare_and_multiply(X: np.ndarray, v: np.ndarray) -> np.ndarray:
    return Gram(Tanimoto(), X) @ v


def product_rows() -> list[list[str]]:
    multiply, name, convert = find_rival()
    rows = []
    for dtype in (np.float64, np.float32):
        X, v = make_bits().astype(dtype), np.ones((ROWS, 1), dtype=dtype)
        rival_X, rival_v = convert(X), convert(v)
        gram = Gram(Tanimoto(), X)
        calls = [
            partial(multiply, rival_X, rival_v),
            partial(gram.__matmul__, v),
            partial(prepare_and_multiply, X, v),
        ]
        theirs, ours, whole = (best_time(call, repeat=5) for call in calls)
        error = np.abs(np.asarray(multiply(rival_X, rival_v)) - gram @ v).max() / ROWS
        times = f"{1e3 * theirs:.0f} ms ({name})", f"{1e3 * ours:.1f} ms", f"{1e3 * whole:.0f} ms"
        rows.append([np.dtype(dtype).name, *times, f"{error:.0e}", verdict(theirs / ours, GOAL)])
    return rows


def learning_rows() -> list[list[str]]:
    rows = []
    for name in ("esol", "lipophilicity"):
        X, y = read_fingerprints(name)
        test = np.random.default_rng(0).permutation(len(y)) < len(y) // 5
        for kernel, data in ((Tanimoto(), np.minimum(X, 1.0)), (MinMax(), X)):
            model = KernelRidgeCV(kernel=kernel).fit(data[~test], y[~test])
            error = np.sqrt(np.mean((model.predict(data[test]) - y[test]) ** 2))
            rows.append([name, repr(kernel), f"{error:.3f}", f"{error / y[test].std():.3f}"])
    return rows


def main() -> None:
    headings = ["numbers", "products of rows", "mercer, K @ v", "with its preparation", "difference", "ratio"]
    table(f"Tanimoto, {ROWS:,} × {PLACES:,} bits, K @ v", headings, product_rows())
    if data_folder() is None:
        print("molecules: skipped, because MERCER_DATA names no folder")
        return
    table("What fingerprints say", ["data", "kernel", "RMSE", "of the deviation"], learning_rows())


if __name__ == "__main__":
    main()
