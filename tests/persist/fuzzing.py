"""Model files that were changed with care: each is a right file of wrong content, and what loads must be usable."""

import inspect
import json
import linecache
import warnings
import zlib
from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from traceback import walk_tb

import numpy as np
import sklearn

import mercer
from mercer.auto import TableEncoder
from mercer.formula.data import take
from mercer.persist import ModelFileError
from mercer.persist._container import DTYPES
from mercer.persist._decode import Decoder
from mercer.persist._files import describe

from .test_auto import COLUMNS, TABLE, TARGET
from .test_models import CASES, METHODS, fitted

MEANT = (ValueError, TypeError, AttributeError, ImportError, OverflowError)
OURS = tuple(str(Path(package.__file__).parent) for package in (mercer, sklearn))
NUMBERS = (0, 1, -1, 2, 3, 7, 10**3, 10**9, 10**15, 2**63 - 1, -(2**63), 0.5, -0.5, 1e-300, 1e300, -1e300, True, False)
VALUES = (
    *NUMBERS,
    None,
    "x",
    "",
    {"float": "nan"},
    {"float": "inf"},
    {"list": []},
    {"tuple": [1, 2]},
    {"int": "0x1" + 40 * "0"},
)


OF_TABLES = {
    "automatic ridge": lambda: mercer.AutoRegressor("ridge", kernel=COLUMNS, random_state=0).fit(TABLE, TARGET),
    "automatic machine": lambda: mercer.AutoClassifier("svm", kernel=COLUMNS, test=None, random_state=0).fit(
        TABLE, np.digitize(TARGET, [0.0, 0.6])
    ),
    "encoder": lambda: TableEncoder("overlap").fit(TABLE),
    "encoder of statistics": lambda: TableEncoder("statistics").fit(TABLE, TARGET),
}
NAMES = (*CASES, *OF_TABLES)


@cache
def described(name):
    """The document and the tensors of the file of a case, as JSON gives them back, and two of the points."""
    model, X = fitted(name) if name in CASES else (OF_TABLES[name](), TABLE)
    document, tensors = describe(model)
    return json.dumps(document), tensors, take(X, 0, 2)


class Mutation:
    """The file of a case with some things changed, always the same ones for the same number."""

    def __init__(self, name, number):
        self.name, self.number = name, number
        self.rng = np.random.default_rng([zlib.crc32(name.encode()), number])
        text, tensors, self.X = described(name)
        self.document, self.tensors, self.done = json.loads(text), dict(tensors), []
        for _ in range(1 + (self.rng.random() < 0.2)):
            ways = [self._change_tensor] * bool(self.tensors) + [self._change_node, self._change_node]
            ways[self.rng.integers(len(ways))]()

    def load(self):
        """The model, as a file with these contents would give it."""
        document = json.loads(json.dumps(self.document))
        model = Decoder(self.tensors, document["shared"], {}).value(document["state"])
        if not hasattr(model, "get_params"):
            raise ModelFileError("it is no model")
        return model

    def _pick(self, things):
        return things[self.rng.integers(len(things))]

    # -- tensors ----------------------------------------------------------------------------------------------------

    def _change_tensor(self):
        name = self._pick(sorted(self.tensors))
        way = self._pick(["longer", "shorter", "empty", "turned", "flat", "axis", "dtype", "entry", "filled", "mixed",
                          "swapped", "foreign"])  # fmt: skip
        old = self.tensors[name]
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            self.tensors[name] = new = getattr(self, f"_{way}")(old)
        if way == "swapped":
            other = self._pick(sorted(self.tensors))
            self.tensors[name], self.tensors[other] = self.tensors[other], old
            way += f" with {other}"
        self.done.append(f"{name}: {way} {old.dtype}{old.shape} -> {new.dtype}{new.shape}")

    def _longer(self, old):
        axis = self.rng.integers(old.ndim) if old.ndim else None
        return old if axis is None else np.concatenate([old, np.take(old, [-1] if old.shape[axis] else [], axis)], axis)

    def _shorter(self, old):
        axis = self.rng.integers(old.ndim) if old.ndim else None
        return old if axis is None else np.take(old, range(max(old.shape[axis] - 1, 0)), axis)

    def _empty(self, old):
        return old[:0] if old.ndim else old

    def _turned(self, old):
        return np.ascontiguousarray(old.T)

    def _flat(self, old):
        return old.ravel()

    def _axis(self, old):
        return np.ascontiguousarray(np.expand_dims(old, self.rng.integers(old.ndim + 1)))

    def _dtype(self, old):
        return old.astype(self._pick(list(DTYPES.values())))

    def _entry(self, old):
        new = old.copy()
        if new.size:
            new.flat[self.rng.integers(new.size)] = self._number(new.dtype)
        return new

    def _filled(self, old):
        return np.full_like(old, self._number(old.dtype))

    def _mixed(self, old):
        return self.rng.permutation(old.flatten()).reshape(old.shape)

    def _swapped(self, old):
        return old

    def _foreign(self, old):
        tensors = described(self._pick(NAMES))[1]
        return tensors[self._pick(sorted(tensors))] if tensors else old

    def _number(self, dtype):
        if dtype.kind == "f":
            return dtype.type(self._pick([np.nan, np.inf, -np.inf, 0, -1, 1e300, 1e-300, 3]))
        if dtype.kind == "b":
            return bool(self.rng.integers(2))
        limits = np.iinfo(dtype)
        return self._pick([limits.min, limits.max, 0, 1, 2, 100, *([-1] if limits.min else [])])

    # -- the description --------------------------------------------------------------------------------------------

    def _change_node(self):
        places = list(find_places(self.document["state"], ("state",)))
        places += list(find_places(self.document["shared"], ("shared",)))
        place = self._pick([place for place in places if len(place) > 1])
        way = self._pick(["value", "value", "drop", "double", "swap", "foreign"])
        holder = follow(self.document, place[:-1])
        old = holder[place[-1]]
        if way == "value":
            holder[place[-1]] = new = self._pick(VALUES)
            way += f" {new}"
        elif way == "drop":
            del holder[place[-1]]
        elif way == "double" and isinstance(holder, list):
            holder.insert(place[-1], old)
        elif way == "swap":
            other = self._pick([other for other in places if len(other) > 1])
            if other[: len(place)] != place and place[: len(other)] != other:
                second = follow(self.document, other[:-1])
                holder[place[-1]], second[other[-1]] = second[other[-1]], old
                way += f" with {'.'.join(map(str, other))}"
        elif way == "foreign":
            text, tensors, _ = described(self._pick(NAMES))
            state = json.loads(text)["state"]
            source = self._pick(list(find_places(state, ())))
            holder[place[-1]] = follow(state, source)
            self.tensors = tensors | self.tensors
            way += f" {'.'.join(map(str, source))}"
        self.done.append(f"{'.'.join(map(str, place))}: {way}")


def find_places(node, place):
    """Every place in a tree of JSON."""
    yield place
    if isinstance(node, dict | list):
        for key in node if isinstance(node, dict) else range(len(node)):
            yield from find_places(node[key], (*place, key))


def follow(node, place):
    for key in place:
        node = node[key]
    return node


def find_problems(model, X):
    """What goes wrong in the use of a model and is told in other words than ours."""
    problems = []
    with warnings.catch_warnings(), np.errstate(all="ignore"), redirect_stdout(StringIO()):
        warnings.simplefilter("ignore")
        for name in METHODS:
            try:
                method = getattr(model, name, None)
                if method is not None:
                    arguments = (X,) if "X" in inspect.signature(method).parameters else ()
                    method(*arguments, **({"random_state": 0} if name == "sample" else {}))
            except Exception as error:
                if not is_ours(error):
                    problems.append((name, error))
    return problems


def is_ours(error):
    """Whether an error was raised on purpose, by this library or scikit-learn, and not inside of what they call."""
    if type(error).__module__.startswith("mercer."):
        return True
    lines = [
        linecache.getline(frame.f_code.co_filename, number).strip()
        for frame, number in walk_tb(error.__traceback__)
        if frame.f_code.co_filename.startswith(OURS)
    ]
    return isinstance(error, MEANT) and any(line.startswith("raise") for line in lines)
