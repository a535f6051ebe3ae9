"""Losses from text: what prints is read back, and errors point at what is wrong."""

import pytest

from mercer import losses
from mercer.formula.syntax import ExpressionError
from mercer.losses import as_loss, parse_loss
from mercer.losses.text import find_losses

VALUES = [cls() for cls in find_losses().values()]
VALUES += [
    losses.Huber(1.5), losses.Quantile(0.9), losses.Expectile(1e-3), losses.EpsilonInsensitive(0),
    losses.SquaredEpsilonInsensitive(2.5e-7),
]  # fmt: skip


@pytest.mark.parametrize("loss", VALUES, ids=repr)
def test_what_prints_is_read_back(loss):
    assert parse_loss(repr(loss)) == loss
    assert as_loss(repr(loss)) == loss == as_loss(loss)


@pytest.mark.parametrize(
    ("text", "loss"),
    [
        ("huber", losses.Huber()), ("Huber(1.5)", losses.Huber(1.5)), ("HUBER( width = 3/2 )", losses.Huber(1.5)),
        ("quantile(level=.9)", losses.Quantile(0.9)), ("Quantile(1 - 0.25)", losses.Quantile(0.75)),
        ("epsilon_insensitive(0.1)", losses.EpsilonInsensitive(0.1)), ("squared_hinge", losses.SquaredHinge()),
        ("SquaredHinge", losses.SquaredHinge()), ("log_cosh()", losses.LogCosh()), (" hinge\n", losses.Hinge()),
        ("squared_epsilon_insensitive", losses.SquaredEpsilonInsensitive()),
    ],
)  # fmt: skip
def test_names_may_be_written_in_any_case_and_with_underscores(text, loss):
    assert parse_loss(text) == loss


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("hubber(1)", 1, "did you mean Huber"), ("squared_error", 1, "did you mean Squared?"),
        ("absolute_error", 1, "did you mean Absolute"), ("pinball(0.9)", 1, "did you mean Quantile"),
        ("log_loss", 1, "did you mean Logistic"), ("modified_huber", 1, "did you mean SquaredHinge"),
        ("nothing_like_it", 1, "is no loss; there are Absolute"), ("Huber(widht=1)", 1, "did you mean width"),
        ("Huber(1, 2)", 1, "got 2 parameters; it has width"), ("Hinge(1)", 1, "it has none"),
        ("Huber(1, width=2)", 1, "got width twice"), ("Huber(0)", 1, "positive finite number"),
        ("  Quantile(2)", 1, "between 0 and 1"), ("Huber(wide)", 7, "is no loss"), ("Huber('a')", 7, "not a number"),
        ("CustomLoss(len)", 12, "is no loss"), ("CustomLoss", 1, "Python function"), ("1.5", 1, "is a number"),
        ("Huber(1) + Hinge()", 1, "not added"), ("-Hinge()", 1, "no sign"), ("Huber(1)(2)", 1, "only names"),
        ("Huber.width", 7, "not allowed"), ("Huber(", 6, "never closed"), ("Huber(1/0)", 7, "division by zero"),
        ("Huber(*[1])", 7, "starred"), ("__import__('os')", 1, "is no loss"),
    ],
)  # fmt: skip
def test_errors_say_where_and_what(text, column, message):
    with pytest.raises(ExpressionError, match=message.replace("?", r"\?")) as found:
        parse_loss(text)
    assert found.value.column == column


def test_an_empty_text_is_answered_with_a_loss():
    with pytest.raises(ExpressionError, match=r"empty; write for example Huber\(1.5\)"):
        parse_loss(" ")


@pytest.mark.parametrize(
    ("value", "remedy"),
    [
        (lambda y, f: (y - f) ** 2, r"CustomLoss\(function\)"), (losses.Huber, r"make one of the class, Huber\(\)"),
        (3.0, "mercer.losses"), (None, "mercer.losses"),
    ],
)  # fmt: skip
def test_what_is_neither_a_loss_nor_a_text_is_refused_with_the_remedy(value, remedy):
    with pytest.raises(TypeError, match=remedy):
        as_loss(value)
