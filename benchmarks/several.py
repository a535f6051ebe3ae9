"""Several kernels: weights for each of many targets beside himalaya, and strings, numbers and graphs in one model.

``python -m benchmarks.several 10`` is a small trial with a tenth of the targets.  himalaya is compared with where it is
installed.
"""

import importlib.util
import sys

import numpy as np
import pandas as pd

from mercer.kernels import Gaussian, Graph, Kernel, Linear, Matern, Polynomial, Spectrum, WeisfeilerLehman
from mercer.models import MultipleKernelRidge

from .measure import table, timed, verdict

WIDTH = 6  # columns of each view
ALPHAS = np.logspace(-10, 10, 41)  # as in himalaya's examples


def columns(view: int) -> slice:
    return slice(view * WIDTH, (view + 1) * WIDTH)


KERNELS: list[Kernel] = [
    Linear().on(columns(0)), Gaussian(2.0).on(columns(1)), Gaussian(4.0).on(columns(2)),
    Matern(1.5, 3.0).on(columns(3)), Polynomial(2).on(columns(4)),
]  # fmt: skip


def centre(K: np.ndarray, T: np.ndarray | None = None) -> np.ndarray:
    """A matrix between training points, or of new ones with these, centred and divided by the mean of its diagonal."""
    means = K.mean(axis=0)
    own = K - means - means[:, None] + means.mean()
    other = own if T is None else T - means - T.mean(axis=1)[:, None] + means.mean()
    return other / (own.trace() / len(K))


def mixed_targets(n: int, q: int, held: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Points of five views, and targets that are sums of random functions of each, in different parts, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + held, len(KERNELS) * WIDTH))
    parts = rng.dirichlet(np.full(len(KERNELS), 0.5), size=q).T
    Y = rng.uniform(0.2, 1.5, size=q) * rng.normal(size=(n + held, q))
    for kernel, part in zip(KERNELS, parts, strict=True):
        root = np.linalg.cholesky(centre(kernel(X)) + 1e-8 * np.eye(n + held))
        Y += np.sqrt(part) * (root @ rng.normal(size=(n + held, q)))
    return X, Y


def r2(Y: np.ndarray, predictions: np.ndarray) -> float:
    """The mean over targets."""
    return float(np.mean(1 - ((Y - predictions) ** 2).sum(axis=0) / ((Y - Y.mean(axis=0)) ** 2).sum(axis=0)))


def fit_himalaya(X: np.ndarray, Y: np.ndarray, X_test: np.ndarray, n_iter: int) -> tuple[np.ndarray, float]:
    """Predictions of its random search, in float32, which is quicker, with its default of five folds."""
    from himalaya.kernel_ridge import MultipleKernelRidgeCV

    grams = [kernel(X) for kernel in KERNELS]
    train = np.array([centre(K) for K in grams], dtype=np.float32)
    test = np.array([centre(K, k(X_test, X)) for K, k in zip(grams, KERNELS, strict=True)], dtype=np.float32)
    options = {"n_iter": n_iter, "alphas": ALPHAS, "n_targets_batch": 1000, "n_alphas_batch": 10, "progress_bar": False}
    model = MultipleKernelRidgeCV(kernels="precomputed", solver="random_search", solver_params=options, random_state=0)
    means = Y.mean(axis=0)
    _, seconds = timed(lambda: model.fit(train, (Y - means).astype(np.float32)))
    return model.predict(test) + means, seconds


def target_rows(n: int, q: int, held: int = 500, n_iter: int = 100) -> list[list[object]]:
    """Ours includes the kernels' matrices, which himalaya is given."""
    X, Y = mixed_targets(n, q, held)
    fit, new = (X[:n], Y[:n]), (X[n:], Y[n:])
    model = MultipleKernelRidge(KERNELS, per_target=True, random_state=0)
    _, seconds = timed(lambda: model.fit(*fit))
    shared, average = (MultipleKernelRidge(KERNELS, method=m, random_state=0) for m in ("loo", "average"))
    rows: list[list[object]] = [
        ["mercer, weights of each target", f"{seconds:.1f} s", f"{r2(new[1], model.predict(new[0])):.4f}", ""]
    ]
    for name, other in (("mercer, one set of weights", shared), ("mercer, the average", average)):
        _, its = timed(lambda m=other: m.fit(*fit))
        rows.append([name, f"{its:.1f} s", f"{r2(new[1], other.predict(new[0])):.4f}", ""])
    if importlib.util.find_spec("himalaya") is not None:
        predictions, theirs = fit_himalaya(*fit, new[0], n_iter)
        rows.append(
            [
                f"himalaya, {n_iter} draws",
                f"{theirs:.1f} s",
                f"{r2(new[1], predictions):.4f}",
                verdict(theirs / seconds, 3.0),
            ]
        )
    return rows


def make_views(n: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """DNA, numbers and a molecule in each row, and a target to which all of them add."""
    rng = np.random.default_rng(seed)
    words = ["".join(rng.choice(list("ACGT"), size=30)) for _ in range(n)]
    molecules, rings = np.empty(n, dtype=object), rng.integers(3, 7, size=n)
    for i, size in enumerate(rings):
        closed = [[(j - 1) % size, (j + 1) % size] for j in range(size)]
        labels = rng.choice(list("CCCON"), size=size)
        molecules[i] = Graph(closed, "".join(labels))
    numbers = rng.normal(size=(n, 3))
    y = np.array([word.count("ACG") + word.count("GT") for word in words]) / 1.5
    y = (
        y
        + np.array([str(graph.labels).count("O") for graph in molecules])
        + 1.5 * np.sin(2 * numbers[:, 0]) * numbers[:, 1]
    )
    frame = pd.DataFrame({"dna": words, "molecule": molecules, **dict(zip("abc", numbers.T, strict=True))})
    return frame, y + 0.3 * rng.normal(size=n)


VIEWS: dict[str, Kernel] = {
    "DNA": Spectrum(3, 2).on("dna"), "numbers": Gaussian(1.5).on(["a", "b", "c"]),
    "graph": WeisfeilerLehman(2).on("molecule"),
}  # fmt: skip


def view_rows(n: int, held: int = 500) -> list[list[object]]:
    """One model of all views beside one of each."""
    frame, y = make_views(n + held)
    rows: list[list[object]] = []
    for name, kernels in {**{name: [kernel] for name, kernel in VIEWS.items()}, "all": list(VIEWS.values())}.items():
        model, seconds = timed(lambda k=kernels: MultipleKernelRidge(k, random_state=0).fit(frame[:n], y[:n]))
        shares = ", ".join(f"{share:.0%}" for share in model.shares_)
        rows.append(
            [name, f"{seconds:.1f} s", f"{r2(y[n:], model.predict(frame[n:])):.3f}", f"{model.loo_score_:.3f}", shares]
        )
    return rows


def main(part: int = 1) -> None:
    """All tables, with one of so many parts of the targets."""
    q = 10_000 // part
    header = ["model", "fit", "R², held-out rows", "ratio"]
    table(f"5 kernels × 1,000 rows × {q:,} targets, each with its own mix", header, target_rows(1000, q))
    header = ["views", "fit", "R², held-out rows", "R², leave-one-out", "shares of the variance"]
    table("DNA, numbers and a graph in each of 600 rows", header, view_rows(600))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
