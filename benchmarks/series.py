"""Kernels on series: time and accuracy beside pysiglib, tslearn and dtaidistance, and memory at great lengths."""

import importlib

import numpy as np

from mercer.gram import Gram
from mercer.kernels import DTW, Gaussian, Signature, SoftDTW, TruncatedSignature

from .measure import best_time, race, time_and_peak, verdict

COUNT, LENGTH, FEATURES = 100, 100, 3
LONG = 20_000


def walks(count=COUNT, length=LENGTH, features=FEATURES):
    """Return random walks, scaled to lengths at which signatures are of the order of one."""
    steps = np.random.default_rng(0).normal(size=(count, length, features))
    return np.ascontiguousarray(steps.cumsum(axis=1) / np.sqrt(length * features))


def peer(name):
    """Return a library, or None where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        print(f"{name} is not installed", flush=True)
        return None


def signature_rows(X) -> None:
    exact = Signature(order=10)(X[:20])

    def error(K):
        return np.abs(K[:20, :20] / exact - 1).max()

    kernels = [Signature(order=order) for order in (2, 3, 4)]
    times = [best_time(lambda k=k: k(X), 3) for k in kernels]
    for kernel, seconds in zip(kernels, times, strict=True):
        print(f"{kernel!r}, {len(X)} paths of {LENGTH}: {1e3 * seconds:.0f} ms, error {error(kernel(X)):.0e}")
    for levels in (3, 4):
        print(f"TruncatedSignature({levels}): {1e3 * best_time(lambda m=levels: TruncatedSignature(m)(X), 2):.0f} ms")
    siglib = peer("pysiglib")
    if siglib is None:
        return
    for dyadic, mine in ((0, 0), (2, 2)):

        def solve(dyadic=dyadic):
            return siglib.sig_kernel_gram(X, X, dyadic_order=dyadic, n_jobs=-1)

        seconds, other = race([lambda k=kernels[mine]: k(X), solve], 3)
        print(f"pysiglib, dyadic order {dyadic}: {1e3 * other:.0f} ms, error {error(solve()):.0e}; ", end="")
        print(f"order {kernels[mine].order}: {verdict(other / seconds, 3.0)}", flush=True)
    lifted, static = Signature(Gaussian(), order=2), siglib.RBFKernel(1.0)
    seconds, other = race(
        [lambda: lifted(X), lambda: siglib.sig_kernel_gram(X, X, dyadic_order=0, static_kernel=static, n_jobs=-1)], 3
    )
    print(
        f"{lifted!r}: {1e3 * seconds:.0f} ms, pysiglib {1e3 * other:.0f}: {verdict(other / seconds, 3.0)}", flush=True
    )


def device_rows(count=400) -> None:
    """The same kernels on a GPU beside the native core, paths sent over and the matrix left there."""
    torch = peer("torch")
    if torch is None or not torch.cuda.is_available():
        print("signatures on a device: skipped, because there is no GPU", flush=True)
        return
    X = walks(count)
    for kernel in (Signature(order=2), Signature(), Signature(Gaussian()), TruncatedSignature(4)):

        def compute(kernel=kernel):
            K = Gram(kernel, X, device="cuda").dense()
            torch.cuda.synchronize()
            return K

        seconds, other = race([compute, lambda kernel=kernel: kernel(X)], 2)
        error = np.abs(compute().cpu().numpy() / kernel(X) - 1).max()
        print(f"{kernel!r}, {count} paths of {LENGTH}, on the GPU: {1e3 * seconds:.0f} ms, ", end="")
        print(f"native {1e3 * other:.0f}: {verdict(other / seconds, 3.0)}, difference {error:.0e}", flush=True)


def warping_rows(X) -> None:
    tslearn, distances = peer("tslearn.metrics"), peer("dtaidistance.dtw_ndim")
    seconds = best_time(lambda: DTW()(X), 3)
    print(f"DTW(), {len(X)} series of {LENGTH}: {1e3 * seconds:.0f} ms", flush=True)
    if distances is not None:
        other = best_time(lambda: distances.distance_matrix_fast(list(X), FEATURES, parallel=True), 2)
        error = np.abs(
            np.sqrt(-2 * np.log(DTW()(X[:20]))) - distances.distance_matrix_fast(list(X[:20]), FEATURES)
        ).max()
        print(f"dtaidistance {1e3 * other:.0f} ms: {verdict(other / seconds, 3.0)}, difference {error:.0e}", flush=True)
    if tslearn is None:
        return
    other = best_time(lambda: tslearn.cdist_dtw(X, n_jobs=-1), 2)
    print(f"tslearn {1e3 * other:.0f} ms: {verdict(other / seconds, 3.0)}", flush=True)
    few = X[:50]
    seconds, other = race([lambda: SoftDTW(10.0)(few), lambda: tslearn.cdist_soft_dtw(few, gamma=1.0)], 2)
    error = np.abs(-200 * np.log(SoftDTW(10.0)(few)) - tslearn.cdist_soft_dtw(few, gamma=1.0)).max()
    print(f"SoftDTW(), {len(few)} series: {1e3 * seconds:.0f} ms, tslearn {1e3 * other:.0f}: ", end="")
    print(f"{verdict(other / seconds, 3.0)}, difference {error:.0e}", flush=True)


def memory_row() -> None:
    setup = (
        "import numpy as np\nfrom mercer.kernels import Signature\n"
        f"x = np.sin(np.linspace(0, 60, {LONG}))[:, None] / 10\nSignature(order=2)([x[:9]], [x[:9]])"
    )
    seconds, peak = time_and_peak(setup, "Signature(order=2)([x], [x[::-1]])")
    whole = LONG**2 * 8 / 2**20
    print(f"Signature(order=2) of two series of {LONG:,}: {seconds:.1f} s, ", end="")
    print(f"{peak / 2**20:.0f} MiB; the table would be {whole:,.0f} MiB", flush=True)


def main() -> None:
    X = walks()
    signature_rows(X)
    device_rows()
    warping_rows(X)
    memory_row()
