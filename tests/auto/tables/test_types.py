"""What a column is said to hold holds, at the fit and for new rows."""

import numpy as np
import pandas as pd
import pytest

from mercer import AutoRegressor, load, save
from mercer.auto import TableEncoder


def encode(column, kind, new=None):
    """Return the encoder of a table of one column that is said to be of a kind, and rows as it encodes them."""
    encoder = TableEncoder(types={"x": kind}).fit(pd.DataFrame({"x": column}))
    return encoder, encoder.transform(pd.DataFrame({"x": column if new is None else new}))


def test_numbers_can_be_categories():
    encoder, rows = encode([1, 2, 3, 1], "category", new=[3, "3", 3.0])
    assert encoder.columns_[0].kind == "categorical"
    np.testing.assert_array_equal(rows, np.repeat(rows[:1], 3, axis=0))
    assert encoder.steps_[0]["categories"] == ["1", "2", "3"]


def test_short_words_can_be_texts():
    encoder, rows = encode(["red", "blue", "reds", "blues"] * 5, "text")
    assert encoder.columns_[0].kind == "text"
    near, far = np.linalg.norm(rows[0] - rows[2]), np.linalg.norm(rows[0] - rows[1])
    assert near < far


def test_cells_that_are_mostly_words_can_be_numbers():
    cells = ["1.5", "2.5", "9.5", *["unknown"] * 17]
    assert TableEncoder().fit(pd.DataFrame({"x": cells})).columns_[0].kind == "categorical"
    column = encode(cells, "number")[0].columns_[0]
    assert (column.kind, column.missing, column.n_stray) == ("numeric", 17, 17)


def test_years_can_be_dates():
    encoder, rows = encode([1990, 1995, 2000, 2010], "date")
    assert "a date, as days" in encoder.columns_[0].treatment
    days = (np.array(["1990", "1995", "2000", "2010"], "datetime64[D]")).astype(float)
    np.testing.assert_allclose(np.corrcoef(rows[:, 0], days)[0, 1], 1.0)


@pytest.mark.parametrize(
    ("types", "says"),
    [
        ({"x": "word"}, r"types\['x'\] must be one of"),
        ({"size": "number"}, "types names column 'size', which is not there"),
        ({"X": "number"}, "did you mean 'x'"),
        ({"x": "number"}, "said to hold numbers, but no cell is one, such as 'a' in row 0"),
        ("number", "types must be a dictionary"),
    ],
)
def test_kinds_that_cannot_be_are_errors(types, says):
    with pytest.raises((TypeError, ValueError), match=says):
        TableEncoder(types=types).fit(pd.DataFrame({"x": ["a", "b"]}))


def test_kinds_are_kept_in_files(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"zip": rng.integers(1, 4, 60), "size": rng.normal(size=60)})
    y = table["zip"].map({1: 0.0, 2: 5.0, 3: -5.0}) + 0.1 * table["size"]
    model = AutoRegressor("ridge", kernel="Gaussian(1.0)", types={"zip": "category"}, test=0, random_state=0)
    model.fit(table, y)
    assert [column.kind for column in model.report_.columns] == ["categorical", "numeric"]
    save(model, tmp_path / "m.mercer")
    again = load(tmp_path / "m.mercer")
    assert again.types == {"zip": "category"}
    np.testing.assert_array_equal(again.predict(table), model.predict(table))
