"""Letters in annotations stand for one number in all of an object, and in the objects inside."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pytest

from mercer.arrays.shapes import Axes, Inside, Number, Positions, SizeError, measure_object


@dataclass
class Votes:
    label: Annotated[np.ndarray, Axes("m", below="c")]
    weight: Annotated[np.ndarray, Axes("m", of="float64")] | None = None


@dataclass
class Model:
    points: Annotated[list, Axes("n …")]
    coef: Annotated[np.ndarray, Axes("n q?")]
    classes: Annotated[np.ndarray, Axes("c+", of="U")]
    width: Annotated[int, Number("d")]
    columns: Annotated[tuple, Positions("d")]
    votes: Annotated[Votes, Inside(m="n", c=lambda c: c)]


RIGHT = {
    "points": ["a", "b", "c"], "coef": np.ones((3, 2)), "classes": np.array(["x", "y"]), "width": 4,
    "columns": (0, -4, "name"), "votes": Votes(np.array([0, 1, 1])),
}  # fmt: skip


def test_sizes_are_read_from_what_is_there():
    assert measure_object(Model(**RIGHT)).exact == {"n": 3, "q": 2, "c": 2, "d": 4}
    assert measure_object(Model(**RIGHT | {"coef": np.ones(3)})).exact["q"] == 0
    assert measure_object(Model(**RIGHT | {"points": np.ones((3, 2, 2))})).exact["n"] == 3


@pytest.mark.parametrize(
    "change",
    [
        {"points": ["a", "b"]},
        {"points": None},
        {"coef": np.ones((2, 3))},
        {"coef": np.ones((3, 1, 1))},
        {"coef": np.array(["a", "b", "c"])},
        {"classes": np.array([], dtype=str), "votes": Votes(np.zeros(3, dtype=np.int64))},
        {"classes": np.array([1, 2])},
        {"width": 3},
        {"columns": (4,)},
        {"columns": (-5,)},
        {"votes": Votes(np.array([0, 1]))},
        {"votes": Votes(np.array([0, 1, 2]))},
        {"votes": Votes(np.array([0, 1, -1]))},
        {"votes": Votes(np.array([0.0, 1.0, 1.0]))},
        {"votes": Votes(np.array([0, 1, 1]), np.ones(3, dtype=np.float32))},
        {"votes": Votes(np.array([0, 1, 1]), np.ones(2))},
    ],
    ids=str,
)
def test_what_does_not_fit_together_is_noticed(change):
    with pytest.raises(SizeError):
        measure_object(Model(**RIGHT | change))
