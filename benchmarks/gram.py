"""The lazy Gram matrix against plain chunked NumPy and against scikit-learn, on two cores or however many there are."""

from collections.abc import Callable

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from mercer import Gram, _native
from mercer.gram.native import default_threads
from mercer.kernels import Gaussian, Kernel, Linear, Polynomial

from .measure import best_time, peak_memory, race, table, uci, verdict

N = 20_000
TARGETS = {8: 5.0, 32: 4.0, 128: 2.0}
BUDGET = 256 * 10**6
CHUNKS = (128, 512, 2048)


def composition(d: int) -> Kernel:
    return 2.0 * Gaussian(1.5 * d**0.5) + 0.1 * Gaussian(0.5 * d**0.5) * Linear() + 0.01 * Polynomial(2, 1.0)


Values = Callable[[np.ndarray, np.ndarray], np.ndarray]


def chunked(X: np.ndarray, V: np.ndarray, chunk: int, values: Values, stop: int | None = None) -> np.ndarray:
    """K @ V as one would write it: a matrix product, the elementwise formula in place, a matrix product."""
    norms = np.einsum("ij,ij->i", X, X)
    out = np.empty((len(X), *V.shape[1:]), dtype=X.dtype)
    for start in range(0, stop or len(X), chunk):
        rows = slice(start, start + chunk)
        dots = X[rows] @ X.T
        sizes = norms[rows, None] + norms[None, :]
        out[rows] = values(dots, sizes) @ V
    return out


def gaussian_values(d: int) -> Values:
    def values(dots: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        dots *= 2
        dots -= sizes
        dots *= np.float32(0.5 / d)
        return np.exp(dots, out=dots)

    return values


def composition_values(d: int) -> Values:
    def values(dots: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        distances = sizes
        distances -= 2 * dots
        wide = np.exp(distances * np.float32(-0.5 / (2.25 * d)))
        narrow = np.exp(distances * np.float32(-0.5 / (0.25 * d)))
        wide *= 2
        narrow *= dots
        narrow *= np.float32(0.1)
        wide += narrow
        dots += 1
        dots *= dots
        dots *= np.float32(0.01)
        wide += dots
        return wide

    return values


def product_rows(X: np.ndarray, label: str, target: float | None) -> list[list[str]]:
    d = X.shape[1]
    rows = []
    cases = [("Gaussian", Gaussian(d**0.5), gaussian_values(d)), ("three terms", composition(d), composition_values(d))]
    for name, kernel, values in cases:
        for columns in (1, 8):
            V = np.random.default_rng(1).normal(size=(len(X), columns)).astype(np.float32)
            gram = Gram(kernel, X, memory=BUDGET)
            trials = race([lambda c=c, v=V, f=values: chunked(X, v, c, f, 2048) for c in CHUNKS], repeat=2)
            chunk = CHUNKS[int(np.argmin(trials))]
            ours = best_time(lambda g=gram, v=V: g @ v, repeat=5)
            expected = chunked(X, V, chunk, values)
            error = np.abs(gram @ V - expected).max() / np.abs(expected).max()
            theirs = best_time(lambda c=chunk, v=V, f=values: chunked(X, v, c, f), repeat=2)
            peak = peak_memory(
                "import numpy as np; from mercer import Gram; from mercer.kernels import *\n"
                f"X = np.ones({X.shape}, dtype=np.float32); V = np.ones({V.shape}, dtype=np.float32)",
                f"Gram({kernel!r}, X, memory={BUDGET}) @ V",
            )
            ratio = theirs / ours
            rows.append(
                [
                    label,
                    name,
                    columns,
                    f"{len(X) ** 2 / ours:.2e}",
                    f"{len(X) ** 2 / theirs:.2e}",
                    verdict(ratio, target) if target else f"{ratio:.1f}×",
                    f"{error:.0e}",
                    "?" if peak is None else f"{peak / 1e6:.0f} of {BUDGET / 1e6:.0f} MB",
                ]
            )
    return rows


def dense_row(dtype: type, d: int) -> list[str]:
    X = np.random.default_rng(0).normal(size=(8000, d)).astype(dtype)
    kernel = Gaussian.from_gamma(0.5 / d)
    ours, theirs = race([lambda: Gram(kernel, X).dense(), lambda: rbf_kernel(X, gamma=0.5 / d)], repeat=4)
    speeds = [f"{len(X) ** 2 / seconds:.2e}" for seconds in (ours, theirs)]
    return [np.dtype(dtype).name, str(d), *speeds, verdict(theirs / ours, 2.0)]


def main() -> None:
    threads = default_threads()
    print(f"\n{threads} cores, instruction sets {', '.join(_native.isas())}; entries per second are n² / time")
    rows = []
    for d, target in TARGETS.items():
        X = np.random.default_rng(0).normal(size=(N, d)).astype(np.float32)
        rows += product_rows(X, f"normal, d = {d}", target)
    for name in ("kin40k", "pol"):
        data = uci(name)
        if data is None:
            print(f"{name}: skipped, because MERCER_DATA does not name the data folder")
            continue
        X = data[:N].astype(np.float32)
        rows += product_rows(X, f"{name}, {X.shape[0]:,} × {X.shape[1]}", None)
    header = ["data", "kernel", "columns", "mercer, entries/s", "NumPy, entries/s", "ratio", "difference", "peak"]
    table(f"Gram @ V, float32, n = {N:,}, against chunked NumPy (the best of chunks of {CHUNKS} rows)", header, rows)
    dense = [dense_row(dtype, d) for dtype in (np.float32, np.float64) for d in (8, 32, 128)]
    header = ["type", "d", "mercer, entries/s", "rbf_kernel, entries/s", "ratio"]
    table("Dense Gaussian Gram matrix, n = 8,000, against sklearn's rbf_kernel", header, dense)
