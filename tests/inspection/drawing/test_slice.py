"""A slice varies what is drawn, keeps the rest where it is, and says so."""

import numpy as np
import pandas as pd
import pytest

from mercer.inspection.drawing.slice import Slice


@pytest.fixture
def frame():
    return pd.DataFrame({"a": [1.0, 2.0, 9.0], "b": ["u", "v", "u"], "c": [3, 4, 5], "d": [0.5, 0.5, 1.0]})


def test_nothing_is_said_where_nothing_is_left_out(frame):
    assert Slice("it", frame[["a"]], 1, None, None).describe_rest() == ""
    assert Slice("it", np.ones((3, 2)), 2, None, None).describe_rest() == ""


def test_few_columns_are_named_with_the_values_that_the_rows_have(frame):
    view = Slice("it", frame, 1, ["a"], {"c": 7})
    assert view.describe_rest() == "slice: b = u, c = 7, d = 0.5"
    rows = view.points(np.array([[0.0], [1.0]]))
    assert rows["b"].tolist() == ["u", "u"]
    assert rows["c"].tolist() == [7, 7]
    assert rows["d"].tolist() == [0.5, 0.5]


def test_many_columns_are_counted_and_those_that_were_put_somewhere_are_named(frame):
    wide = pd.concat([frame, frame.add_suffix("2")], axis=1)
    view = Slice("it", wide, 2, ["a", "c"], {"d": 0.25})
    assert view.describe_rest() == "slice: d = 0.25, 5 others at their medians or most frequent values"
    numbers = Slice("it", np.ones((3, 14)), 2, [0, 1], None)
    assert numbers.describe_rest() == "slice: 12 others at their medians"


def test_long_values_are_cut(frame):
    frame["b"] = "a very long name of a level that would fill the line"
    assert len(Slice("it", frame, 1, ["a"], None).describe_rest()) < 60
