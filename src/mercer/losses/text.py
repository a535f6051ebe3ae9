"""Losses from text: the names of :mod:`mercer.losses` and their parameters."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from dataclasses import MISSING, fields
from typing import Any, cast

from mercer.formula.syntax import ConstructorReader, is_number, quote, read
from mercer.messages import did_you_mean

from .base import Loss
from .custom import CustomLoss

OTHER_NAMES = {  # of scikit-learn and others, without their underscores
    "squarederror": "Squared?",
    "squaredloss": "Squared?",
    "mse": "Squared?",
    "absoluteerror": "Absolute?",
    "mae": "Absolute?",
    "pinball": "Quantile?",
    "logloss": "Logistic?",
    "binomial": "Logistic?",
    "binarycrossentropy": "Logistic?",
    "multinomial": "Softmax?",
    "crossentropy": "Softmax?",
    "modifiedhuber": "SquaredHinge?",
    "adaboost": "Exponential?",
}


@functools.cache
def find_losses() -> dict[str, type[Loss]]:
    """Return the losses of this library by name: those that numbers make, and that no other one is made of.

    Examples
    --------
    >>> sorted(find_losses())[:4]
    ['Absolute', 'EpsilonInsensitive', 'Expectile', 'Exponential']
    """
    ours = [each for each in _list_below(Loss) if each.__module__.startswith("mercer.losses.")]
    bases = {base for each in ours for base in each.__bases__}
    plain = [each for each in ours if all(field.default is not MISSING for field in fields(cast(Any, each)))]
    return {each.__name__: each for each in plain if each not in bases}


def _list_below(kind: type[Loss]) -> Iterator[type[Loss]]:
    for each in kind.__subclasses__():
        yield each
        yield from _list_below(each)


def parse_loss(text: str) -> Loss:
    """Read a loss from text, without running any of it.

    The text of a loss, ``repr(loss)``, is read back as an equal loss.  Names may be written in lower case, with or
    without underscores, and a name alone is the loss with its defaults.

    Parameters
    ----------
    text : str
        A name of :mod:`mercer.losses`, with numbers as parameters.

    Returns
    -------
    Loss
        The loss.

    Raises
    ------
    ExpressionError
        If the text is something else; it says where.

    Examples
    --------
    >>> from mercer.losses import parse_loss
    >>> parse_loss("Huber(1.5)"), parse_loss("quantile(level=.9)"), parse_loss("squared_hinge")
    (Huber(width=1.5), Quantile(level=0.9), SquaredHinge())
    >>> parse_loss("pinball(0.9)")
    Traceback (most recent call last):
    ...
    mercer.formula.syntax.ExpressionError: cannot read "pinball(0.9)" at column 1: pinball: did you mean Quantile?
    """
    source = read(text, example="Huber(1.5)")
    found = _LossReader(source).read_all()
    if isinstance(found, Loss):
        return found
    raise source.error(source.tree, f"{quote(found)} is a number, and no loss such as Huber(1.5)")


def as_loss(value: Any) -> Loss:
    """Return a loss as it is, and the one that a text stands for.

    Parameters
    ----------
    value : Loss or str
        A loss, or what :func:`parse_loss` reads.

    Returns
    -------
    Loss
        The loss.

    Examples
    --------
    >>> from mercer.losses import Huber, as_loss
    >>> as_loss("huber(2)") == as_loss(Huber(2.0))
    True
    """
    if isinstance(value, Loss):
        return value
    if isinstance(value, str):
        return parse_loss(value)
    if isinstance(value, type) and issubclass(value, Loss):
        remedy = f"make one of the class, {value.__name__}()"
    elif callable(value):
        remedy = "wrap a function of y and f as CustomLoss(function)"
    else:
        remedy = "those there are stand in mercer.losses"
    raise TypeError(f"a loss is one of mercer.losses, such as Huber(1.5), or its text; got {quote(value)}: {remedy}")


class _LossReader(ConstructorReader):
    """A walk over the one call that a loss is."""

    example = "Huber(1.5)"
    hold_functions = ("CustomLoss",)

    def find_class(self, node: ast.Name) -> type:
        """Return the loss of a name in any case, with or without underscores."""
        plain, known = node.id.replace("_", "").lower(), find_losses()
        for name, found in (known | {"CustomLoss": CustomLoss}).items():
            if name.lower() == plain:
                return found
        hint = did_you_mean(node.id, known, OTHER_NAMES)
        raise self.error(node, f"{quote(node.id)[1:-1]}{hint or ' is no loss; there are ' + ', '.join(sorted(known))}")

    def read_binop(self, node: ast.BinOp) -> int | float:
        """Return a number that is written as a calculation."""
        left, right = self.read(node.left), self.read(node.right)
        if not (is_number(left) and is_number(right)):
            raise self.error(node, "losses are not added, multiplied or raised to powers; write one with CustomLoss")
        return self.combine(node, left, right)

    def read_unaryop(self, node: ast.UnaryOp) -> Any:
        """Return a number behind a sign."""
        if isinstance(self.read(node.operand), Loss):
            raise self.error(node, "a loss has no sign")
        return super().read_unaryop(node)
