"""The LaTeX of a kernel read back and computed: a second opinion on what its formula says, parentheses included.

It knows nothing of how formulas are written, only the usual rules: powers before products before sums, a sum sign takes
the product on its right, and two letters side by side are multiplied.
"""

import math
import re

import numpy as np
from scipy.special import gamma, kv

TOKEN = re.compile(r"\\(?:left|right)(?:\\\||.)|\\mathrm\{(?:\\.|[^{}\\])*\}|\\[A-Za-z]+|\\,|\d+(?:\.\d+)?|\S")
FUNCTIONS = {
    r"\exp": np.exp,
    r"\log": np.log,
    r"\sin": np.sin,
    r"\cos": np.cos,
    r"\tanh": np.tanh,
    r"\min": np.minimum,
    r"\max": np.maximum,
    r"\dim": len,
}
ENDS = {"+", "-", "=", ",", "}", None}


class Reader:
    """Values of one formula at two points; sums are computed by reading their term once for each index."""

    def __init__(self, text, x, z, **functions):
        self.tokens = [*TOKEN.findall(text.strip("$")), None]
        self.place = 0
        self.names = {"x": np.asarray(x, dtype=float), "z": np.asarray(z, dtype=float), r"\pi": math.pi}
        self.functions = functions

    def value(self):
        found = self.sum()
        assert self.peek() is None, f"{self.tokens[self.place :]} is left"
        return float(found)

    def peek(self):
        return self.tokens[self.place]

    def take(self, expected=None):
        token = self.peek()
        assert expected is None or token == expected, f"{token} instead of {expected}"
        self.place += 1
        return token

    def sum(self):
        sign = -1.0 if self.peek() == "-" and self.take() else 1.0
        total = sign * self.product()
        while self.peek() in ("+", "-"):
            sign = 1.0 if self.take() == "+" else -1.0
            total = total + sign * self.product()
        return total

    def product(self):
        total = 1.0
        while not (self.peek() in ENDS or self.peek().startswith(r"\right")):
            if self.peek() in (r"\,", r"\cdot"):
                self.take()
            elif self.peek() == r"\sum":
                return total * self.series()
            else:
                total = total * self.power()
        return total

    def series(self):
        self.take()
        self.take("_")
        index = self.take()
        first, last = 0, len(self.names["x"]) - 1
        if index == "{":
            index = self.take()
            self.take("=")
            first = int(self.sum())
            self.take("}")
        if self.peek() == "^":
            self.take()
            last = int(self.argument())
        start, total = self.place, 0.0
        for i in range(first, last + 1):
            self.place, self.names[index] = start, i
            try:
                total, stop = total + self.product(), None
            except IndexError:  # fewer columns than the points have
                break
            stop = self.place
            end = stop
        self.place = end
        del self.names[index]
        return total

    def argument(self):
        """Return what a sign above or below holds: a group, or one token."""
        if self.peek() != "{":
            return self.atom()
        self.take()
        found = [self.sum()]
        while self.peek() == ",":
            self.take()
            found.append(self.sum())
        self.take("}")
        return found[0] if len(found) == 1 else np.array(found)

    def power(self):
        base = self.atom()
        if self.peek() == "_":
            self.take()
            base = base[np.asarray(self.argument(), dtype=int)]
        if self.peek() != "^":
            return base
        self.take()
        if self.peek() == r"\top":
            self.take()
            return base @ self.power()
        return base ** self.argument()

    def atom(self):
        token = self.take()
        if token in self.names:
            return self.names[token]
        if token[0].isdigit():
            return float(token)
        if token == r"\frac":
            return self.group() / self.group()
        if token == r"\sqrt":
            return np.sqrt(self.group())
        if token in FUNCTIONS:
            exponent = self.argument() if self.peek() == "^" and self.take() else 1.0
            return FUNCTIONS[token](*self.arguments()) ** exponent
        if token == r"\Gamma":
            return gamma(*self.arguments())
        if token == "K":
            self.take("_")
            return kv(self.argument(), *self.arguments())
        if token.startswith(r"\mathrm"):
            return self.functions[token[8:-1]](*self.arguments())
        if token == r"\left(":
            self.place -= 1
            found = self.arguments()
            return found[0] if len(found) == 1 else np.array(found)
        if token == r"\left|":
            return self.close(np.abs(self.sum()), r"\right|")
        if token == r"\left\|":
            inside, order = self.close(self.sum(), r"\right\|"), 2.0
            if self.peek() == "_":
                self.take()
                order = self.argument()
            return (np.abs(inside) ** order).sum() ** (1.0 / order)
        if token == r"\left[":
            left = self.sum()
            self.take("=")
            return self.close(float(np.all(left == self.sum())), r"\right]")
        raise AssertionError(f"{token} begins nothing")

    def close(self, value, end):
        self.take(end)
        return value

    def group(self):
        self.take("{")
        return self.close(self.sum(), "}")

    def arguments(self):
        self.take(r"\left(")
        found = [self.sum()]
        while self.peek() == ",":
            self.take()
            found.append(self.sum())
        return self.close(found, r"\right)")


def compute(text, x, z, **functions):
    """Return the value of LaTeX at two points."""
    return Reader(text, x, z, **functions).value()
