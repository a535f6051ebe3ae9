"""Tasks that are joined: the same results from fewer tasks, and nothing twice."""

import numpy as np
import pytest

from mercer.distributed._graph import fuse, join_tasks, map_blocks, sum_tasks, tell_sizes
from mercer.solvers.ridge.restricted.rows import RestrictedSums

from .conftest import da, dask

PARTS = 20


def total(values):
    return np.array([values.sum(), len(values)])


def names(task):
    return [key[0] if isinstance(key, tuple) else key for key in dict(task.dask)]


def pieces(array):
    return list(array.to_delayed(optimize_graph=False).ravel())


@pytest.fixture
def columns():
    both = da.random.default_rng(0).normal(size=(400, 3), chunks=(400 // PARTS, 3))
    return both[:, :2], both[:, 2]


def test_a_partition_is_one_task(columns):
    pairs = [[X, y] for X, y in zip(*map(pieces, columns), strict=True)]
    tasks = map_blocks("total", lambda pair: total(pair[0]) + total(pair[1]), pairs)
    whole = sum_tasks("total", tasks)
    (found,) = fuse([whole])
    assert found.key == whole.key
    of_maps = [name for name in names(found) if name.startswith("mercer-total-")]
    of_sums = [name for name in names(found) if name.startswith("mercer-sum-total-")]
    assert (len(of_maps), len(of_sums)) == (PARTS, 4)  # sums of 8, 8 and 4, and their sum
    assert len(of_maps) + len(of_sums) == len(names(found))
    np.testing.assert_array_equal(found.compute(), whole.compute())


def test_what_two_tasks_need_is_computed_once(columns):
    seen = []

    def read(values):
        seen.append(len(values))
        return values

    parts = map_blocks("read", read, pieces(columns[0])[:3])
    first, second = map_blocks("total", total, parts), map_blocks("other", total, parts)
    with dask.config.set(scheduler="synchronous"):
        found = dask.compute(*fuse([*first, *second]))
    assert len(seen) == 3
    np.testing.assert_array_equal(found[:3], found[3:])


def test_rows_that_are_joined_are_read_side_by_side(columns):
    tasks = map_blocks("pick", lambda values: values[:2], pieces(columns[0]))
    joined = join_tasks("rows", np.concatenate, tasks)
    (found,) = fuse([joined])
    assert len([name for name in names(found) if name.startswith("mercer-pick-")]) == PARTS
    np.testing.assert_array_equal(found.compute(), joined.compute())


def test_results_that_are_there_already_are_taken(columns):
    with dask.config.set(scheduler="synchronous"):
        kept = list(dask.persist(*map_blocks("double", lambda values: 2 * values, pieces(columns[1]))))
        tasks = map_blocks(
            "total", lambda pair: total(pair[0]) - 2 * total(pair[1]), list(zip(kept, pieces(columns[1]), strict=True))
        )
        values = dask.compute(*fuse(tasks))
    np.testing.assert_allclose([value[0] for value in values], 0.0, atol=1e-12)


def test_tasks_with_wishes_of_their_own_are_left_alone():
    with dask.annotate(retries=3):
        X = da.ones((40, 2), chunks=(10, 2)) + 1
    tasks = map_blocks("total", total, pieces(X))
    assert fuse(tasks) == tasks


def test_dask_knows_how_large_sums_are():
    from dask.sizeof import sizeof

    import mercer.distributed.ridge  # noqa: F401  (whose tasks return them)

    tell_sizes()
    assert sizeof(RestrictedSums(np.zeros((50, 50)), np.zeros((50, 2)), np.zeros(50))) == 8 * (50 * 50 + 50 * 3)
