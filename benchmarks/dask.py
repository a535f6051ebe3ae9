"""Kernel ridge on a Dask cluster of this machine: twenty million rows, scaling, overhead, and what moves.

``python -m benchmarks dask`` runs all of it, in about half an hour on two cores; ``python -m benchmarks.dask 0.01`` a
hundredth of the rows, to see that it works.  No other work should run on the machine.
"""

import sys
import time
from collections.abc import Callable

import numpy as np

from mercer.distributed._graph import FAN_IN
from mercer.kernels import Gaussian
from mercer.models import KernelRidge

from .measure import table, verdict

WIDTH, CENTERS = 10, 1000
RATE_OF_NETWORK = 1e9  # bytes a second between two machines, an assumption
SECONDS_A_TASK = 1e-3  # that the scheduler takes for one task, an assumption from Dask's own documentation


def rows_of(place: int, count: int) -> np.ndarray:
    """A block of rows and their target, from its place alone."""
    X = np.random.default_rng(place).standard_normal((count, WIDTH))
    return np.column_stack([X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2]])


def block(block_info=None) -> np.ndarray:
    start, stop = block_info[None]["array-location"][0]
    return rows_of(start, stop - start)


def collection(n: int, parts: int):
    """A dask array of n generated rows and their targets."""
    import dask.array as da

    size = n // parts
    both = da.map_blocks(block, chunks=((size,) * parts, (WIDTH + 1,)), dtype=float, meta=np.empty((0, WIDTH + 1)))
    return both[:, :WIDTH], both[:, WIDTH]


def model(centers: int = CENTERS) -> KernelRidge:
    return KernelRidge(1.0, kernel=Gaussian(3.0), n_centers=centers, random_state=0)


def on_workers(count: int, memory: str, call: Callable) -> tuple[object, float, int, int]:
    """Result and seconds of a call with a client, peak memory of the workers, and the bytes they sent each other."""
    from distributed import Client, LocalCluster

    options = {"n_workers": count, "threads_per_worker": 1, "memory_limit": memory, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster, set_as_default=False) as client:
        client.run(load)  # what workers import is not part of a fit
        start = time.perf_counter()
        result = call(client)
        seconds = time.perf_counter() - start
        peaks = client.run(peak)
        sent = client.run(sent_bytes)
    return result, seconds, max(peaks.values()), sum(sent.values())


def load() -> None:
    import mercer.distributed.ridge  # noqa: F401


def peak() -> int:
    # Not getrusage: its peak is inherited from the process that started this one.
    from pathlib import Path

    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


def sent_bytes(dask_worker=None) -> int:
    return int(dask_worker.transfer_outgoing_bytes_total)


def large_row(n: int, parts: int) -> float:
    """Print the row, and return the rows a second of one worker in all passes together."""
    X, y = collection(n, parts)
    first, seconds, memory, sent = on_workers(2, "2GB", lambda client: model().fit(X, y, client=client))
    again, _, _, _ = on_workers(2, "2GB", lambda client: model().fit(X, y, client=client))
    points = rows_of(-1 % 2**32, 1000)[:, :WIDTH]
    apart = float(np.abs(first.predict(points) - again.predict(points)).max())
    plan = first.plan_
    table(
        f"Nyström ridge, {n:,} × {WIDTH} generated in {parts} blocks, {CENTERS} centres, 2 workers of one thread",
        ["time", "largest worker", "a re-run differs by", "passes", "bytes between workers", "at most, by the plan"],
        [
            [
                f"{seconds:.0f} s (limit 600)",
                f"{memory / 1e9:.2f} GB (limit 1)",
                f"{apart:.1e}",
                plan.passes,
                f"{sent / 1e9:.2f} GB",
                f"{plan.bytes_moved / 1e9:.2f} GB",
            ]
        ],
    )
    print(plan)
    return n / seconds / 2


def scaling_row(n: int, parts: int) -> None:
    X, y = collection(n, parts)
    one, two = (on_workers(k, "4GB", lambda client: model().fit(X, y, client=client))[1] for k in (1, 2))
    table(
        f"1 worker against 2, {n:,} × {WIDTH}, {CENTERS} centres",
        ["1 worker", "2 workers", "ratio"],
        [[f"{one:.1f} s", f"{two:.1f} s", verdict(one / two, 1.8)]],
    )


def overhead_row(n: int, parts: int) -> None:
    X, y = collection(n, parts)
    both = np.concatenate([rows_of(i * (n // parts), n // parts) for i in range(parts)])
    model().fit(both[: n // 20, :WIDTH], both[: n // 20, WIDTH])  # warms up
    start = time.perf_counter()
    here = model().fit(both[:, :WIDTH], both[:, WIDTH])
    local = time.perf_counter() - start
    there, seconds, _, _ = on_workers(2, "4GB", lambda client: model().fit(X, y, client=client))
    points = both[:1000, :WIDTH]
    apart = float(np.abs(here.predict(points) - there.predict(points)).max() / np.abs(here.predict(points)).max())
    more = 100 * (seconds / local - 1)
    table(
        f"overhead, {n:,} × {WIDTH}, {CENTERS} centres: 2 workers against 2 threads of one process",
        ["2 threads", "2 workers", "overhead", "answers differ by"],
        [[f"{local:.1f} s", f"{seconds:.1f} s", f"{more:.0f} % (limit 25)", f"{apart:.0e}"]],
    )


def moved_rows(scale: float) -> None:
    rows = []
    for n, parts, centers in ((200_000, 10, 200), (800_000, 10, 200), (200_000, 20, 200), (200_000, 10, 400)):
        n = max(int(n * scale), 100 * parts)
        X, y = collection(n, parts)
        fitted, _, _, sent = on_workers(2, "4GB", lambda client, X=X, y=y, m=centers: model(m).fit(X, y, client=client))
        plan = fitted.plan_
        rows.append(
            [
                f"{n:,}", parts, centers, plan.passes, f"{plan.moved['sums'] / 1e6:.1f} MB", f"{sent / 1e6:.1f} MB",
                f"{parts * 8 * centers**2 / 1e6:.1f} MB",
            ]
        )  # fmt: skip
    table(
        "bytes moved: they grow with partitions × centres², not with rows",
        ["rows", "partitions", "centres", "passes", "sums, at most", "between workers", "partitions × centres²"],
        rows,
    )


def paper_exercise(rate: float, centers: int = CENTERS, block_rows: int = 1_000_000) -> None:
    """Print tasks, bytes, depth and expected time of fits that are not run, from the measured rate of one worker.

    Parameters
    ----------
    rate : float
        Rows a second of one worker in a whole fit.
    centers : int
        Centres.
    block_rows : int
        Rows of a partition.
    """
    rows = []
    for n in (10**9, 10**10):
        for workers in (100, 1000):
            rows.append([f"{n:.0e}", workers, *paper_row(n, workers, rate, centers, block_rows)])
    table(
        f"on paper: {centers} centres, partitions of {block_rows:,} rows, {rate:,.0f} rows a second and worker "
        f"(measured), {SECONDS_A_TASK * 1e3:g} ms a task, {RATE_OF_NETWORK / 1e9:g} GB/s (assumed)",
        ["rows", "workers", "tasks", "bytes", "depth", "computing", "scheduling", "sums", "in all"],
        rows,
    )


def paper_row(n: int, workers: int, rate: float, centers: int, block_rows: int) -> list[str]:
    """Tasks, bytes, depth and seconds of one fit: a survey, the picks, the sums and two residuals."""
    parts = -(-n // block_rows)
    depth = max(1, int(np.ceil(np.log(parts) / np.log(FAN_IN))))
    sums = parts * FAN_IN / (FAN_IN - 1)
    tasks = 5 * parts + 4 * (sums - parts)  # one for each partition in five passes, of which four add up
    moved = sums * 8 * centers**2
    computing, scheduling = n / rate / workers, tasks * SECONDS_A_TASK
    # The sums of a level move side by side, and those of the last levels one after the other.
    adding = moved / workers / RATE_OF_NETWORK + depth * FAN_IN * 8 * centers**2 / RATE_OF_NETWORK
    total = max(computing, scheduling) + adding
    times = [f"{seconds:,.0f} s" for seconds in (computing, scheduling, adding, total)]
    return [f"{tasks:,.0f}", f"{moved / 1e9:,.0f} GB", str(depth), *times]


def main(scale: float = 1.0) -> None:
    def parts(count: int) -> int:
        return max(4, int(count * min(1.0, scale)))

    rate = large_row(int(20_000_000 * scale), parts(200))
    scaling_row(int(4_000_000 * scale), parts(40))
    overhead_row(int(1_000_000 * scale), parts(20))
    moved_rows(scale)
    paper_exercise(rate)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0)
