"""On a CUDA device: fused products, ridge, Nyström, classifiers and predictions, next to torch alone in the same run.

``python -m benchmarks gpu`` runs everything; ``python -m benchmarks.gpu products ridge`` runs the sections named.
"""

import sys
import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.measure import regression_split, table
from mercer import Expansion, Gram, KernelRidge, KernelRidgeClassifier, KernelRidgeCV
from mercer.kernels import Gaussian
from mercer.solvers.base import Problem
from mercer.solvers.ridge.restricted.nystroem import Nystroem

N = 200_000
CHUNK = 2**28  # entries of a chunk of torch alone


def device_time(call, repeat: int = 3) -> float:
    """Median seconds between device events, after one call that compiles and warms up."""
    import torch

    call()
    times = []
    for _ in range(repeat):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        call()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / 1e3)
    return sorted(times)[repeat // 2]


def once(call):
    """Result, seconds by the clock, and peak bytes on the device of one call."""
    import torch

    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    start = time.perf_counter()
    result = call()
    torch.cuda.synchronize()
    return result, time.perf_counter() - start, torch.cuda.max_memory_allocated()


def in_chunks(X, Z, V, gamma: float):
    """K @ V as one would write it in torch: distances, exponential, product, a chunk of rows at a time."""
    import torch

    step = max(1, CHUNK // len(Z))
    norms = (Z * Z).sum(1)
    out = []
    for start in range(0, len(X), step):
        A = X[start : start + step]
        squares = (A * A).sum(1)[:, None] + norms - 2 * A @ Z.T
        out.append(torch.exp(-gamma * squares.clamp_(min=0)) @ V)
    return torch.cat(out)


def product_rows(n: int = N) -> list[list[str]]:
    import torch

    rows = []
    for d, reach in ((8, 3e12), (32, 2.6e12), (90, 1e12)):
        X, Z = torch.randn(n, d, device="cuda"), torch.randn(n, d, device="cuda")
        k = Gaussian(float(np.sqrt(d)))
        some = torch.arange(0, n, n // 256, device="cuda")
        for columns, Y, goal in ((1, Z, reach), (8, Z, reach / 2), (1, None, 1.5 * reach)):
            V = torch.randn(n, columns, device="cuda", dtype=torch.float64)
            other = (X if Y is None else Y).double()
            truth = torch.exp(-(torch.cdist(X[some].double(), other) ** 2) / (2 * d)) @ V
            gram = Gram(k, X, Y)
            rate = n * n / device_time(lambda g=gram, v=V: g @ v)
            error = float((gram @ V)[some].sub(truth).norm() / truth.norm())
            columns_of, single = (X if Y is None else Y), V.float()
            peer = n * n / device_time(lambda x=X, z=columns_of, v=single, g=0.5 / d: in_chunks(x, z, v, g), 1)
            kind = "symmetric" if Y is None else "cross"
            mode = gram.why.split("'")[1]
            rows.append([d, columns, kind, f"{rate:.2e}", f"{goal:.1e}", f"{peer:.1e}", f"{error:.0e}", mode])
    return rows


def smooth(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.sin(2 * X[:, 0]) + X[:, 1] * np.cos(X[:, 2]) + 0.1 * rng.normal(size=len(X))


def ridge_rows(sizes=(500_000, 1_000_000)) -> list[list[str]]:
    rng, rows = np.random.default_rng(0), []
    data = regression_split("kin40k")
    cases = [] if data is None else [("kin40k", data[0], data[1], 2.0, 1e-3, ".4 s")]
    X = rng.normal(size=(57_000, 27)).astype(np.float32)
    cases.append(("57,000 x 27", X, smooth(X, rng), 5.0, 1e-1, "1.5 s"))
    for n, goal in zip(sizes, ("60 s", "240 s"), strict=False):
        X = rng.normal(size=(n, 10)).astype(np.float32)
        cases.append((f"{n:,} x 10", X, smooth(X, rng), 3.0, 1.0, goal))
    for name, X, y, scale, alpha, goal in cases:
        # Kernels are compiled once for a machine, and kept on disk: that is not part of a fit.
        for solver in ("cg", "cholesky"):
            KernelRidge(1.0, kernel=Gaussian(scale), device="cuda", solver=solver).fit(X[:9000], y[:9000])
        peer = f"{_dense_torch(X, y, scale, alpha):.2f} s" if len(X) < 60_000 else ""
        memory = "20GB" if len(X) > 60_000 else None
        model = KernelRidge(alpha, kernel=Gaussian(scale), device="cuda", memory=memory, random_state=0)
        model, seconds, peak = once(lambda m=model, x=X, t=y: m.fit(x, t))
        error = ""
        if name == "kin40k":
            error = f"{np.sqrt(np.mean((model.predict(data[2]) - data[3]) ** 2)):.4f}"
        rows.append(
            [
                name,
                model.plan_.solver,
                f"{seconds:.2f} s",
                goal,
                peer,
                model.n_iter_,
                f"{model.residual_:.0e}",
                f"{peak / 1e9:.1f} GB",
                error,
            ]
        )
    return rows


def _dense_torch(X, y, scale, alpha) -> float:
    """Seconds of the whole matrix in float64 and its Cholesky factor, from NumPy, the second of two runs."""
    import torch

    def solve():
        A = torch.from_numpy(X).cuda().double()
        squares = (A * A).sum(1)[:, None] + (A * A).sum(1) - 2 * A @ A.T
        K = torch.exp(squares.clamp_(min=0).mul_(-0.5 / scale**2))
        K.diagonal().add_(alpha)
        return torch.cholesky_solve(torch.from_numpy(y).cuda()[:, None], torch.linalg.cholesky(K)).cpu()

    once(solve)
    return once(solve)[1]


def say(work: str, seconds: float, reach: str, *details: str) -> None:
    print(f"\n{work}: {seconds:.2f} s (reach {reach}), {', '.join(details)}", flush=True)


def nystroem_row(n: int = 5_000_000, centers: int = 20_000) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n + 10_000, 28)).astype(np.float32)
    y = smooth(X, rng)[:, None]
    options = {"fit_intercept": True, "memory": 10**11, "device": _cuda()}
    alpha = np.array([5.0])
    small = Problem(Gaussian(5.0), X[:50_000], y[:50_000], **options)
    Nystroem(n_centers=1000, selection="uniform", random_state=0).prepare(small).solve(alpha)
    problem = Problem(Gaussian(5.0), X[:n], y[:n], **options)
    solver = Nystroem(n_centers=centers, selection="uniform", random_state=0)
    found, seconds, peak = once(lambda: solver.prepare(problem).solve(alpha))
    f = Expansion(problem.kernel, found.centers, found.coef[:, 0], found.intercept[0])
    error = np.sqrt(np.mean((f(X[n:], device="cuda") - y[n:, 0]) ** 2))
    say(
        f"Nyström, {n:,} x 28, {centers:,} centres", seconds, "5 s; Falkon 35.5 s", f"{found.n_iter} iterations",
        f"residual {found.residual:.0e}", f"test RMSE {error:.4f}", f"peak {peak / 1e9:.1f} GB",
    )  # fmt: skip


def classifier_row(n: int = 60_000) -> None:
    from benchmarks.svm import digits

    X, y = digits(n + 5000)
    X, y, X_test, y_test = X[:n].astype(np.float32), y[:n], X[n:].astype(np.float32), y[n:]
    model = KernelRidgeClassifier(1.0, kernel=Gaussian.from_gamma(0.02), device="cuda", random_state=0)
    model.fit(X[:9000], y[:9000])
    model, seconds, peak = once(lambda: model.fit(X, y))
    accuracy = np.mean(model.predict(X_test) == y_test)
    say(
        f"ridge classifier, {n:,} x 784, ten classes, exact", seconds, "2 s", model.plan_.solver,
        f"accuracy {accuracy:.4f}", f"residual {model.residual_:.0e}", f"peak {peak / 1e9:.1f} GB",
    )  # fmt: skip


def tuning_row(n: int = 20_000) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 8))
    grid = {"alphas": np.logspace(-3, 2, 20), "length_scales": np.logspace(0, 1, 10)}
    model = KernelRidgeCV(**grid, kernel=Gaussian(), device="cuda")
    model, seconds, peak = once(lambda: model.fit(X, smooth(X, rng)))
    work = f"KernelRidgeCV, {n:,} rows, 20 alphas x 10 length scales with leave-one-out"
    say(work, seconds, "30 s", f"alpha {model.alpha_:.3g}", repr(model.kernel_), f"peak {peak / 1e9:.1f} GB")


def predict_row(n: int = 10_000_000, centers: int = 20_000) -> None:
    import torch

    X = torch.randn(n, 28, device="cuda")
    Z, c = torch.randn(centers, 28, device="cuda"), np.random.default_rng(0).normal(size=centers)
    f = Expansion(Gaussian(5.0), Z, c)
    ours = device_time(lambda: f(X))
    V = torch.from_numpy(c).cuda().float()[:, None]
    theirs = device_time(lambda: in_chunks(X, Z, V, 0.5 / 25), repeat=1)
    host = X.cpu().numpy()
    _, streamed, _ = once(lambda: f(host, device="cuda"))
    ratio = f"{theirs / ours:.1f}x torch in chunks, {theirs:.2f} s"
    say(f"predict, {n:,} x 28, {centers:,} centres", ours, "10x", ratio, f"streamed from NumPy {streamed:.2f} s")


def machines() -> None:
    from benchmarks.gpu_svm import hard_rows, svc_rows

    rows = svc_rows("cuda") + hard_rows("cuda")
    header = ["support vector machines (reach: 3 s for ten classes)", "seconds", "figures"]
    table("", header, [[name, f"{seconds:.2f}", figure] for name, seconds, figure in rows])


def _cuda():
    import torch

    return torch.device("cuda:0")


def products() -> None:
    header = ["d", "columns", "product", "entries/s", "reach", "torch in chunks", "error", "how"]
    table("Fused products, n = m = 200,000, Gaussian, float32", header, product_rows())


def ridge() -> None:
    header = ["data", "solver", "mercer", "reach", "dense torch", "iterations", "residual", "peak", "RMSE"]
    table("Exact ridge from NumPy", header, ridge_rows())


SECTIONS = {
    "products": products,
    "ridge": ridge,
    "nystroem": nystroem_row,
    "classifier": classifier_row,
    "tuning": tuning_row,
    "predict": predict_row,
    "svm": machines,
}


def main(names=()) -> None:
    import torch

    if not torch.cuda.is_available():
        print("gpu: skipped, because torch finds no CUDA device")
        return
    warnings.simplefilter("always", ConvergenceWarning)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    for name in names or SECTIONS:
        try:
            SECTIONS[name]()
        except Exception as problem:  # a section that fails must not hide the others
            print(f"{name}: failed, {type(problem).__name__}: {problem}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
