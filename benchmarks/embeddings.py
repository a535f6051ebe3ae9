"""Comparing distributions: permutation tests against plain NumPy and hyppo, their power, and clusters.

``python -m benchmarks.embeddings 10`` is a small trial with a tenth of the points.
"""

import sys
import warnings
from collections.abc import Callable

import numpy as np
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score

from mercer import HSICTest, KernelKMeans, KernelSpectralClustering, MMDTest
from mercer.kernels import Gaussian

from .measure import table, timed, verdict

PERMUTATIONS = 500
SHOWN = 3  # permutations that slow ways are timed with; all of them take as long each
PEER_SHARE = 10  # of the points that slower libraries are given; time grows as their square


def plain_mmd(X: np.ndarray, Y: np.ndarray, kernel: Gaussian, permutations: int) -> float:
    """The test as most would write it: one matrix, and means of its blocks in another order."""
    K, n, rng = kernel(np.concatenate([X, Y])), len(X), np.random.default_rng(0)

    def measure(order: np.ndarray) -> float:
        a, b = order[:n], order[n:]
        return float(K[np.ix_(a, a)].mean() + K[np.ix_(b, b)].mean() - 2 * K[np.ix_(a, b)].mean())

    observed = measure(np.arange(len(K)))
    return (1 + sum(measure(rng.permutation(len(K))) >= observed for _ in range(permutations))) / (1 + permutations)


def plain_hsic(X: np.ndarray, Y: np.ndarray, kernel: Gaussian, permutations: int) -> float:
    """The same for independence: a centred matrix, and another one in other orders."""
    K, L, rng = kernel(X), kernel(Y), np.random.default_rng(0)
    K = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    observed = float((K * L).sum())
    orders = (rng.permutation(len(L)) for _ in range(permutations))
    return (1 + sum(float((K * L[np.ix_(p, p)]).sum()) >= observed for p in orders)) / (1 + permutations)


def time_plain(test: Callable[..., float], X: np.ndarray, Y: np.ndarray, kernel: Gaussian) -> float:
    """Seconds of all permutations, from those of a few."""
    few, more = (timed(lambda count=count: test(X, Y, kernel, count))[1] for count in (1, 1 + SHOWN))
    return few + (more - few) * (PERMUTATIONS - 1) / SHOWN


def show_tests(n: int) -> None:
    rng = np.random.default_rng(0)
    X, Y, kernel = rng.normal(size=(n, 10)), rng.normal(size=(n, 10)), Gaussian(4.0)
    rows = []
    for name, test, plain in (
        ("MMD", MMDTest(kernel, n_permutations=PERMUTATIONS, random_state=0), plain_mmd),
        ("HSIC", HSICTest(kernel, kernel, n_permutations=PERMUTATIONS, random_state=0), plain_hsic),
    ):
        outcome, seconds = timed(lambda test=test: test.test(X, Y))
        slow = time_plain(plain, X, Y, kernel)
        rows.append([name, f"{len(outcome.null):,} {outcome.method}", f"{seconds:.2f} s", f"{slow:.0f} s",
                     verdict(slow / seconds, 20), *compare_with_hyppo(name, X, Y, seconds)])  # fmt: skip
    table(
        f"Tests, n = {n:,} of 10 features, {PERMUTATIONS} permutations",
        ["test", "null", "mercer", "NumPy", "faster by", "hyppo", "faster by"],
        rows,
    )


def compare_with_hyppo(name: str, X: np.ndarray, Y: np.ndarray, seconds: float) -> list[str]:
    """Return hyppo's seconds for all points, from those of few, and the ratio."""
    try:
        from hyppo.independence import Hsic
        from hyppo.ksample import MMD
    except ImportError:
        return ["not installed", ""]
    few = len(X) // PEER_SHARE
    test = MMD() if name == "MMD" else Hsic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        test.test(X[:20], Y[:20], reps=2, auto=False)  # which compiles
        _, spent = timed(lambda: test.test(X[:few], Y[:few], reps=PERMUTATIONS, auto=False))
    whole = spent * PEER_SHARE**2
    return [f"{whole:.0f} s (from {few} points)", verdict(whole / seconds, 5)]


PROBLEMS: dict[str, Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]] = {
    "means differ by 0.4": lambda rng: (rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) + np.array([0.4, 0.0])),
    "variances 1 and 2": lambda rng: (rng.normal(size=(60, 2)), np.sqrt(2.0) * rng.normal(size=(60, 2))),
    "normal and mixture": lambda rng: (
        rng.normal(size=(100, 1)),
        0.9 * rng.choice([-1.0, 1.0], size=(100, 1)) + np.sqrt(0.19) * rng.normal(size=(100, 1)),
    ),
    "waves, frequency 6": lambda rng: (rng.uniform(size=(200, 1)), draw_wave(rng, 200, 6)),
}
PAIRS: dict[str, Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]] = {
    "a line with noise": lambda rng: add_noise(rng, lambda x: 0.35 * x),
    "a parabola": lambda rng: add_noise(rng, lambda x: 0.5 * x**2),
    "a wave": lambda rng: add_noise(rng, lambda x: np.sin(3 * x)),
}


def draw_wave(rng: np.random.Generator, n: int, frequency: int) -> np.ndarray:
    """Points of the density 1 + sin(2π·frequency·x) on the unit interval."""
    x = rng.uniform(size=4 * n)
    kept = rng.uniform(size=4 * n) < (1 + np.sin(2 * np.pi * frequency * x)) / 2
    return x[kept][:n, None]


def add_noise(rng: np.random.Generator, function: Callable[[np.ndarray], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    x = rng.normal(size=(60, 1))
    return x, function(x) + rng.normal(size=(60, 1))


def show_power(repetitions: int) -> None:
    rows = []
    for name, draw, test in (
        *((name, draw, MMDTest) for name, draw in PROBLEMS.items()),
        *((name, draw, HSICTest) for name, draw in PAIRS.items()),
    ):
        ours, theirs = 0, 0
        for seed in range(repetitions):
            X, Y = draw(np.random.default_rng(seed))
            ours += test(n_permutations=199, random_state=seed).test(X, Y).rejected
            theirs += reject_with_hyppo(test is MMDTest, X, Y)
        shown = f"{theirs / repetitions:.0%}" if theirs >= 0 else "not installed"
        rows.append([test.__name__, name, f"{ours / repetitions:.0%}", shown])
    table(
        f"Power at level 5 %, {repetitions} repetitions, defaults of both", ["test", "problem", "mercer", "hyppo"], rows
    )


def reject_with_hyppo(two: bool, X: np.ndarray, Y: np.ndarray) -> int:
    try:
        from hyppo.independence import Hsic
        from hyppo.ksample import MMD
    except ImportError:
        return -1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return int((MMD() if two else Hsic()).test(X, Y, reps=199, auto=False)[1] <= 0.05)


def show_clusters(n: int) -> None:
    X, _ = make_blobs(n, n_features=8, centers=10, cluster_std=3.0, random_state=0)
    model, seconds = timed(lambda: KernelKMeans(10, kernel=Gaussian(6.0), random_state=0).fit(X))
    row = [f"{n:,}", f"{seconds:.2f} s, {model.n_iter_} rounds", "not installed", ""]
    try:
        from tslearn.clustering import KernelKMeans as Theirs
    except ImportError:
        pass
    else:
        few = X[: n // 4, :, None]
        theirs = Theirs(10, kernel="rbf", kernel_params={"gamma": 1 / 72}, random_state=0)
        _, spent = timed(lambda: theirs.fit(few))
        row[2:] = [f"{16 * spent:.0f} s (from {len(few):,} points)", verdict(16 * spent / seconds, 10)]
    table("Ten clusters in feature space, 8 features", ["points", "mercer", "tslearn", "faster by"], [row])


def show_cuts(n: int) -> None:
    """Spectral clustering by neighbours and by Nyström features, of clusters around means and of others."""
    rows = []
    for name, (X, which), count in (
        ("blobs, 10 features", make_blobs(n, n_features=10, centers=8, cluster_std=3.0, random_state=0), 8),
        ("moons, 2 features", make_moons(n, noise=0.05, random_state=0), 2),
    ):
        for solver in ("neighbors", "nystroem"):
            model = KernelSpectralClustering(count, solver=solver, random_state=0)
            _, seconds = timed(lambda model=model, X=X: model.fit(X))
            score = adjusted_rand_score(which, model.labels_)
            rows.append([name, solver, f"{seconds:.1f} s", f"{score:.2f}"])
    table(f"Spectral clustering, n = {n:,}", ["points", "solver", "mercer", "adjusted Rand index"], rows)


def main() -> None:
    share = int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 1
    show_tests(5000 // share)
    show_clusters(20_000 // share)
    show_cuts(100_000 // share)
    show_power(max(10, 200 // share))


if __name__ == "__main__":
    main()
