"""Sets of points on which functions that are no kernels tend to give themselves away.

Regular grids see frequencies at which a spectrum is negative, cubes and lattices see norms that are not Euclidean,
points of many sizes see functions that grow in the wrong way, and random points see whatever is left.  Each shape is
tried at many scales.  Coordinates are short decimals, so that evidence is easy to read and to copy, and rarely whole
fractions of 1, so that thresholds such as ‖x−z‖ ≤ 1 are not hit exactly.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mercer.kernels.base import Domain

SPACINGS = (0.3, 0.7, 1.5, 0.15, 3.0, 0.07, 0.03, 7.0, 0.015, 15.0)  # the likely ones first
SIZES = (0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, -3.0, 0.1, -0.3, 1.5, -1.5)


@dataclass(frozen=True)
class PointSet:
    """Points to examine, one in each row, and what they look like."""

    shape: str
    points: np.ndarray


def generate_point_sets(dim: int, domain: Domain = "real", spacings: Sequence[float] = ()) -> Iterator[PointSet]:
    """Yield sets of points with ``dim`` features, simple ones first, with some scales before the usual ones."""
    if domain == "categories":
        yield from _generate_categories(dim)
        return
    if domain == "bits":
        yield from _generate_bits(dim)
        return
    signed = domain != "nonnegative"
    for candidate in _generate_real(dim, tuple(spacings), 0.0 if signed else 1.0):
        points = candidate.points if signed else np.abs(candidate.points)
        if domain == "directions":
            points = points[points.any(axis=1)]
        # Multiplying decimals leaves digits behind, and minus zeros.
        points = _drop_repeated(np.round(points, 6) + 0.0)
        points.flags.writeable = False  # a function that changes its arguments would change the evidence
        yield PointSet(candidate.shape, points)


def _generate_real(dim: int, spacings: tuple[float, ...], shift: float) -> Iterator[PointSet]:
    rng = np.random.default_rng(20)
    yield PointSet("a few points", _build_many_sizes(dim, rng)[:6])  # enough for many, and cheap for slow functions
    yield PointSet("points of many sizes", _build_many_sizes(dim, rng))
    scales = (*spacings, *SPACINGS)
    for h in scales:
        yield PointSet("grids", h * _build_line(dim, 13))
        if dim > 1:
            yield PointSet("grids along a diagonal", h * _build_line(dim, 9, diagonal=True))
        yield from _build_lattices(dim, h, small=True)
        yield PointSet("random points", h * np.round(rng.normal(size=(14, dim)), 2))
    for h in scales:
        yield PointSet("grids", h * _build_line(dim, 30))
        yield from _build_lattices(dim, h, small=False)
        yield PointSet("random points", h * np.round(rng.normal(size=(36, dim)), 2))
        yield PointSet("clusters", _build_clusters(dim, h, rng))
    for offset in (1.0, 5.0, 40.0):
        for h in (0.07, 0.7, 7.0):
            yield PointSet("points far from the origin", offset + shift + h * np.round(rng.normal(size=(12, dim)), 2))


def _build_line(dim: int, count: int, diagonal: bool = False) -> np.ndarray:
    steps = np.arange(count) - count // 2
    direction = np.ones(dim) if diagonal else np.eye(1, dim)[0]
    return steps[:, None] * direction[None, :].astype(float)


def _build_lattices(dim: int, h: float, small: bool) -> Iterator[PointSet]:
    if dim == 1:
        return
    if dim == 2:
        yield PointSet("lattices", h * _build_cube(2, np.arange(-1, 2) if small else np.arange(-3, 4), dim))
        if small:
            yield PointSet("lattices", h * _build_cube(2, np.arange(-2, 3), dim))
        return
    if small:
        yield PointSet("cubes with their faces' centres", h * _build_cube(3, np.arange(-1, 2), dim))
        axes = np.eye(min(dim, 20), dim)
        yield PointSet("crosses", h * np.concatenate([np.zeros((1, dim)), axes, -axes]))
    else:
        yield PointSet("lattices", h * _build_cube(2, np.arange(-2, 3), dim))
        yield PointSet("lattices", h * _build_cube(3, np.arange(-1.5, 2), dim))


def _build_cube(axes: int, steps: np.ndarray, dim: int) -> np.ndarray:
    points = np.zeros((len(steps) ** axes, dim))
    points[:, :axes] = list(itertools.product(steps, repeat=axes))
    return points


def _build_many_sizes(dim: int, rng: np.random.Generator) -> np.ndarray:
    sizes = np.array(SIZES)
    if dim == 1:
        return np.concatenate([sizes, np.round(rng.uniform(-3, 3, 9), 2)])[:, None]
    along = sizes[:, None] * np.eye(1, dim)
    others = np.zeros((5, dim))
    others[:, :2] = [(0, 1), (1, 1), (1, -1), (0.5, 0.5), (0, 2)]
    return np.concatenate([along[:4], others, along[4:9], np.round(rng.uniform(-2, 2, (10, dim)), 2)])


def _build_clusters(dim: int, h: float, rng: np.random.Generator) -> np.ndarray:
    centres = rng.normal(size=(4, dim))
    members = centres[:, None, :] + 0.1 * rng.normal(size=(4, 5, dim))
    return h * np.round(members.reshape(20, dim), 2)


def _generate_categories(dim: int) -> Iterator[PointSet]:
    """Rows of small whole numbers, which serve as categories, as histograms and as real numbers alike."""
    rng = np.random.default_rng(20)
    for levels in (2, 3, 5):
        if levels**dim <= 64:
            yield PointSet("tables of all categories", _build_cube(dim, np.arange(float(levels)), dim))
        table = _drop_repeated(rng.integers(0, levels, (40, dim)).astype(float))
        table.flags.writeable = False
        yield PointSet("random tables", table)


def _generate_bits(dim: int) -> Iterator[PointSet]:
    """Rows of zeros and ones: all of them where there are few, and otherwise some with few bits and some with many."""
    rng = np.random.default_rng(20)
    few = np.concatenate([np.zeros((1, dim)), np.eye(min(dim, 8), dim), np.ones((1, dim))])
    yield PointSet("rows with one bit, and with all", _freeze(_drop_repeated(few)))
    for axes in (2, 3, 4, 5):
        if axes <= dim:
            yield PointSet("all bits of a few places", _freeze(_build_cube(axes, np.arange(2.0), dim)))
    for share in (0.5, 0.2, 0.8):
        rows = (rng.uniform(size=(40, dim)) < share).astype(float)
        yield PointSet("random bits", _freeze(_drop_repeated(rows)))


def _freeze(points: np.ndarray) -> np.ndarray:
    points.flags.writeable = False
    return points


def _drop_repeated(points: np.ndarray) -> np.ndarray:
    first = {row.tobytes(): i for i, row in reversed(list(enumerate(points)))}
    return points[sorted(first.values())]
