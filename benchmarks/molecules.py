"""Tanimoto's kernel on 4,200 fingerprints: against the same formula by matrix products, and what it learns.

The rival is what libraries of Gaussian processes, such as GAUCHE, compute for molecules, in torch where it is installed
and in NumPy elsewhere: products of rows of numbers, norms, then the ratio; and the product with a vector.  Both take
turns in one process.  With MERCER_DATA the fingerprints are those of the lipophilicity set, random bits otherwise.
"""

import gzip
from functools import partial

import numpy as np

from mercer import Gram, KernelRidgeCV
from mercer.kernels import MinMax, Tanimoto

from .measure import data_folder, race, table, verdict

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
    """Return the matrix by products of rows as a function of them, its name, and what makes its arrays."""
    try:
        import torch
    except ImportError:
        convert, name = np.asarray, "NumPy"
    else:
        convert, name = torch.from_numpy, "torch"

    def compare(X):
        norms, common = (X**2).sum(-1), X @ X.T
        return common / (norms[:, None] + norms[None, :] - common)

    return compare, name, convert


def prepare_and_multiply(X: np.ndarray, v: np.ndarray) -> np.ndarray:
    return Gram(Tanimoto(), X) @ v


def product_rows(bits: np.ndarray) -> list[list[str]]:
    compare, name, convert = find_rival()
    rows = []
    for dtype in (np.float64, np.float32):
        X, v = bits.astype(dtype), np.ones((len(bits), 1), dtype=dtype)
        rival_X, rival_v, gram = convert(X), convert(v), Gram(Tanimoto(), X)
        theirs, whole, ours, prepared, dense = race(
            [
                lambda X=rival_X, v=rival_v: compare(X) @ v,
                partial(compare, rival_X),
                partial(gram.__matmul__, v),
                partial(prepare_and_multiply, X, v),
                gram.dense,
            ]
        )
        error = np.abs(np.asarray(compare(rival_X) @ rival_v) - gram @ v).max() / len(bits)
        pairs = len(bits) * (len(bits) + 1) / 2  # which a symmetric product looks at
        for task, slow, fast in (
            ("K @ v", theirs, ours),
            ("K @ v, with its preparation", theirs, prepared),
            ("K", whole, dense),
        ):
            speed = f"{pairs * bits.shape[1] / fast / 1e12:.1f}" if task == "K @ v" else ""
            rows.append([np.dtype(dtype).name, task, f"{1e3 * slow:.0f} ms ({name})", f"{1e3 * fast:.1f} ms",
                         speed, f"{error:.0e}", verdict(slow / fast, GOAL)])  # fmt: skip
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
    headings = ["numbers", "task", "products of rows", "mercer", "10¹² bits/s", "difference", "ratio"]
    real = data_folder() is not None
    bits = np.minimum(read_fingerprints("lipophilicity")[0], 1.0) if real else make_bits()
    kind = "of molecules" if real else "at random"
    table(f"Tanimoto, {bits.shape[0]:,} × {bits.shape[1]:,} bits {kind}", headings, product_rows(bits))
    if not real:
        print("molecules: skipped, because MERCER_DATA names no folder")
        return
    table("What fingerprints say", ["data", "kernel", "RMSE", "of the deviation"], learning_rows())


if __name__ == "__main__":
    main()
