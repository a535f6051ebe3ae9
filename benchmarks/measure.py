"""Timing, peak memory and tables for the benchmarks."""

import gzip
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np


def best_time(call: Callable[[], object], repeat: int = 5, at_least: float = 0.0) -> float:
    """Seconds of the fastest of several calls; the first, which warms up, does not count."""
    call()
    times: list[float] = []
    while len(times) < repeat or sum(times) < at_least:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """Result and seconds of one call."""
    start = time.perf_counter()
    result = call()
    return result, time.perf_counter() - start


def race(calls: Sequence[Callable[[], object]], repeat: int = 5) -> list[float]:
    """Fastest seconds of each call, in turns, so that a slow moment of the machine hits all alike."""
    best = [float("inf")] * len(calls)
    for call in calls:
        call()
    for _ in range(repeat):
        for i, call in enumerate(calls):
            start = time.perf_counter()
            call()
            best[i] = min(best[i], time.perf_counter() - start)
    return best


def time_and_peak(setup: str, call: str) -> tuple[float, int]:
    """Seconds of a call and bytes by which memory rises during it, in a fresh process that has nothing to reuse."""
    code = f"""
import time
from pathlib import Path
from typing import Any
def status(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field + ":"))
{setup}
before = status("VmRSS")
Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
start = time.perf_counter()
{call}
print(time.perf_counter() - start, status("VmHWM") - before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    seconds, peak = done.stdout.split()[-2:]
    return float(seconds), int(peak)


def peak_memory(setup: str, call: str) -> int | None:
    """Bytes by which memory rises during a call, or None where the system does not tell."""
    try:
        return time_and_peak(setup, call)[1]
    except subprocess.CalledProcessError:
        return None


def table(title: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    cells = [[str(cell) for cell in row] for row in (header, *rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    print(f"\n{title}")
    for number, row in enumerate(cells):
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        if number == 0:
            print("  ".join("-" * width for width in widths))


def verdict(ratio: float, target: float) -> str:
    return f"{ratio:.1f}× (target {target:g}×{'' if ratio >= target else ', missed'})"


def data_folder() -> Path | None:
    """The folder of real data, or None when MERCER_DATA does not name it."""
    folder = os.environ.get("MERCER_DATA")
    return Path(folder) if folder else None


def uci(name: str) -> np.ndarray | None:
    """Standardised inputs of a real data set, or None when MERCER_DATA does not name the folder."""
    folder = data_folder()
    if folder is None:
        return None
    with gzip.open(folder / "uci" / name / "data.csv.gz", "rt") as file:
        X = np.loadtxt(file, delimiter=",")[:, :-1]
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def regression_split(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None:
    """Training and test part of the first split, both standardised on the training part, or None without data."""
    folder = data_folder()
    if folder is None:
        return None
    place = folder / "uci" / name
    with gzip.open(place / "data.csv.gz", "rt") as file:
        data = np.loadtxt(file, delimiter=",")
    with gzip.open(place / "test_mask.csv.gz", "rt") as file:
        test = np.loadtxt(file, delimiter=",", usecols=0).astype(bool)
    centre, spread = data[~test].mean(axis=0), data[~test].std(axis=0)
    data = (data - centre) / np.where(spread > 0, spread, 1.0)
    return data[~test, :-1], data[~test, -1], data[test, :-1], data[test, -1]


def mnist() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None:
    """Training and test digits, 28 × 28 numbers from 0 to 1 each, with their labels, or None without data."""
    folder = data_folder()
    if folder is None or not (folder / "mnist").is_dir():
        return None
    found = []
    for part in ("train", "t10k"):
        images = np.frombuffer((folder / "mnist" / f"{part}-images-idx3-ubyte").read_bytes(), np.uint8, offset=16)
        labels = np.frombuffer((folder / "mnist" / f"{part}-labels-idx1-ubyte").read_bytes(), np.uint8, offset=8)
        found += [images.reshape(-1, 784) / 255.0, labels.astype(np.int64)]
    return found[0], found[1], found[2], found[3]


def keel(name: str) -> tuple[np.ndarray, np.ndarray] | None:
    """Features and labels of a classification set, columns of text one-hot encoded, or None without data."""
    folder = data_folder()
    if folder is None:
        return None
    lines = (folder / "keel" / f"{name}.dat").read_text().splitlines()
    cells = np.array([[c.strip() for c in line.split(",")] for line in lines if line and not line.startswith("@")])
    columns = []
    for column in cells[:, :-1].T:
        try:
            columns.append(column.astype(float)[:, None])
        except ValueError:
            columns.append((column[:, None] == np.unique(column)).astype(float))
    return np.hstack(columns), cells[:, -1]
