"""Outlines close, cover the frame once, and pass where the class changes."""

import numpy as np
import pytest
from matplotlib.path import Path

from mercer.inspection.drawing.outlines import trace_outlines

TICKS = np.linspace(-1.0, 1.0, 24)
PLANES = {
    "half": lambda p: (p[:, 0] + 0.3 * p[:, 1] > 0.05).astype(int),
    "disc": lambda p: ((p**2).sum(axis=1) < 0.4).astype(int),
    "ring": lambda p: ((p**2).sum(axis=1) * 3 % 2 < 1).astype(int),
    "checks": lambda p: ((np.floor(p[:, 0] * 2.1) + np.floor(p[:, 1] * 2.1)) % 2).astype(int),
    "sectors": lambda p: (np.arctan2(p[:, 1] - 0.04, p[:, 0] + 0.03) // (np.pi / 3)).astype(int) % 5,
    "noise": lambda p: np.floor(1e4 * np.abs(np.sin(1e3 * p[:, 0] + 77 * p[:, 1]))).astype(int) % 4,
    "one": lambda p: np.zeros(len(p), dtype=int),
}


def area(loop):
    return 0.5 * float(np.sum(loop[:-1, 0] * loop[1:, 1] - loop[1:, 0] * loop[:-1, 1]))


@pytest.mark.parametrize("name", PLANES)
def test_regions_are_closed_and_together_cover_the_frame_once(name):
    found = trace_outlines(PLANES[name], TICKS, TICKS, 5)
    for loop in (loop for loops in found.loops for loop in loops):
        np.testing.assert_array_equal(loop[0], loop[-1])
    assert sum(area(loop) for loops in found.loops for loop in loops) == pytest.approx(4.0)


@pytest.mark.parametrize("name", ["half", "disc", "ring", "checks", "sectors", "one"])
def test_points_lie_in_the_region_of_their_class(name):
    found = trace_outlines(PLANES[name], TICKS, TICKS, 5)
    points = np.random.default_rng(0).uniform(-1, 1, size=(2000, 2))
    true = PLANES[name](points)
    shapes = [Path.make_compound_path(*map(Path, loops)) if loops else None for loops in found.loops]
    inside = np.array([np.zeros(2000, bool) if shape is None else shape.contains_points(points) for shape in shapes])
    assert np.mean(inside[true, np.arange(2000)]) > 0.98  # corners are cut inside a cell


def test_a_straight_boundary_is_one_straight_line():
    (line,) = trace_outlines(PLANES["half"], TICKS, TICKS, 2).boundary
    np.testing.assert_allclose(line @ [1.0, 0.3], 0.05, atol=1e-4)
    assert np.all(np.diff(line[:, 1]) > 0) or np.all(np.diff(line[:, 1]) < 0)


def test_a_circle_is_one_closed_line_that_is_as_long_as_it_should_be():
    (line,) = trace_outlines(PLANES["disc"], TICKS, TICKS, 2).boundary
    np.testing.assert_array_equal(line[0], line[-1])
    length = np.linalg.norm(np.diff(line, axis=0), axis=1).sum()
    assert length == pytest.approx(2 * np.pi * np.sqrt(0.4), rel=5e-3)  # a staircase would be 4/π times as long
    assert length < 2 * np.pi * np.sqrt(0.4)


def test_lines_of_three_regions_meet():
    found = trace_outlines(PLANES["sectors"], TICKS, TICKS, 5)
    ends = np.concatenate([line[[0, -1]] for line in found.boundary])
    inner = ends[np.abs(ends).max(axis=1) < 0.999]
    np.testing.assert_allclose(inner, np.broadcast_to([-0.03, 0.04], inner.shape), atol=0.1)


def test_one_class_has_no_boundary():
    assert trace_outlines(PLANES["one"], TICKS, TICKS, 5).boundary == []
