import numpy as np
import pytest

from mercer.playground.limits import MOST_POINTS
from mercer.playground.presets import read_table
from mercer.playground.state import PlayError


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("header", ["a{0}b\n", ""])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_two_columns_of_numbers_are_an_input_and_a_target(separator: str, header: str, ending: str) -> None:
    rows = header.format(separator) + "".join(f"{i}{separator}{i * i}.5\n" for i in range(4))
    state = read_table(rows.replace("\n", ending).encode(), "mine.csv")
    assert state.task == "regression"
    np.testing.assert_array_equal(state.y, [0.5, 1.5, 4.5, 9.5])
    assert state.names == (("a", "b") if header else ("column 1", "column 2"))


def test_a_last_column_of_few_values_is_the_class() -> None:
    state = read_table("id,u,v,kind\nx1,1,2,b\nx2,3,4,a\nx3,5,,a\nx4,7,8,b\n", "mine.csv")
    assert state.task == "classification"
    np.testing.assert_array_equal(state.x, [[1, 2], [3, 4], [7, 8]])
    assert state.y.tolist() == [1, 0, 1]
    assert state.names == ("u", "v")


def test_many_numbers_in_the_last_column_are_a_target() -> None:
    state = read_table("a,b,c\n" + "".join(f"{i},{-i},{i / 7}\n" for i in range(20)), "mine.csv")
    assert state.task == "regression"
    assert state.names == ("a", "c")


def test_commas_may_stand_for_points_where_semicolons_separate() -> None:
    assert read_table("a;b\n1,5;2,25\n2,5;3\n", "mine.csv").y.tolist() == [2.25, 3.0]


def test_cells_are_text_and_nothing_else() -> None:
    rows = "<b>u</b>,v,kind\n" + "1,2,=cmd|'/c calc'!A1\n3,4,<script>\n5,6,\"=1,2\"\n"
    state = read_table(rows, "<script>")
    assert state.names == ("<b>u</b>", "v")
    assert sorted(state.y.tolist()) == [0, 1, 2]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "one column"),
        ("abc\n1\n2\n", "one column"),
        ("a,b\n", "no rows"),
        ("a,b\n1,2\n3\n", "row 3 has 1 columns"),
        ("a,b\n1,2\n3,oops\n", "row 3, column 2 \\(b\\) is 'oops'"),
        ("a,b\n1,2\n\n3,1e9\n", "row 4, column 2 \\(b\\) is more than"),
        (",".join("a" * 500) + "\n", "more than 200 columns"),
        ("a,b\n1,2\n" + "3" * 6_000_000, "bytes"),
        ('a,b\n1,"2\n', "two columns of numbers|cannot be read"),
    ],
)
def test_other_tables_are_refused_with_row_and_column(text: str, words: str) -> None:
    with pytest.raises(PlayError, match=words):
        read_table(text, "mine.csv")


def test_of_many_rows_some_are_taken() -> None:
    text = "a,b\n" + "".join(f"{i},{i}\n" for i in range(MOST_POINTS + 500))
    state = read_table(text, "mine.csv")
    assert state.n == MOST_POINTS
    assert state.x[-1, 0] > MOST_POINTS


def test_the_view_and_the_kernel_are_in_the_units_of_the_table() -> None:
    state = read_table("a,b,c\n" + "".join(f"{i * 1000},{i / 1000},{i % 2}\n" for i in range(30)), "mine.csv")
    assert state.view[0] < 0
    assert state.view[1] > 29_000
    assert state.kernel == "Gaussian([5800.0, 0.0058])"
