"""What cannot be learned from says why."""

import numpy as np
import pandas as pd
import pytest

from mercer.auto.judging.checks import check_table_has_something

TABLE = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", "x", "x"]})


@pytest.mark.parametrize(
    ("X", "y", "says"),
    [
        (TABLE[:0], np.empty(0), "at least 2 rows with a target, got n_samples = 0; add rows"),
        (TABLE[:1], np.ones(1), "got n_samples = 1; add rows, and look whether 'price' is filled in"),
        (TABLE, np.full(3, 2.5), "'price' is always 2.5; there is nothing to learn from one class or value: add rows"),
        (TABLE, np.array(["no"] * 3), "'price' is always 'no'; there is nothing"),
        (TABLE[["b"]], np.arange(3.0), "the only column is the same in every row, so that it says nothing"),
        (TABLE[["b", "b"]], np.arange(3.0), "all 2 columns are the same in every row, so that they say nothing"),
        (pd.DataFrame({"a": [None] * 3, "b": [np.nan] * 3}), np.arange(3.0), "all 2 columns are the same"),
    ],
)
def test_the_reason_is_the_true_one(X, y, says):
    with pytest.raises(ValueError, match=f"AutoRegressor.*{says}"):
        check_table_has_something(X, y, "price", "AutoRegressor")


@pytest.mark.parametrize("X", [TABLE, TABLE.to_numpy(), pd.DataFrame({"a": [None, "x", "x"]})])
def test_one_column_that_varies_is_enough(X):
    check_table_has_something(X, np.arange(3.0))
