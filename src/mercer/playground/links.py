"""States as text that fits into an address, and back, whoever wrote it."""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from typing import Any
from urllib.parse import unquote

from .limits import LONGEST_LINK, PlayError, round_number
from .state import State

VERSION = 1
MOST_BYTES = 600_000  # of an unpacked link: more than the most points take
_STATE = re.compile(r"(?:^|[?&#])state=([^&#]*)")
_SAFE = re.compile(r"[A-Za-z0-9_-]*")
_BROKEN = "this link is broken or was cut: {}. Copy the whole address again."


def encode(state: State) -> str:
    """Return a state as text of letters, digits, ``-`` and ``_``.

    Coordinates keep six digits, so that links are short; ranges keep all, or a narrow one could close.
    What :func:`decode` makes of the text has the same text.

    Examples
    --------
    >>> from mercer.playground.links import decode, encode
    >>> from mercer.playground.state import State
    >>> state = State("regression", [[0.0], [1.0]], [1.0, 2.0], kernel="Linear()")
    >>> decode(encode(state)).same(state), decode("https://localhost/?state=" + encode(state)).kernel
    (True, 'Linear()')
    """
    packed = {
        "v": VERSION, "task": state.task, "x": [round_number(value) for value in state.x.ravel().tolist()],
        "y": [value if isinstance(value, int) else round_number(value) for value in state.y.tolist()],
        "kernel": state.kernel, "learner": state.learner, "view": list(state.view),
        "settings": {k: v if isinstance(v, str) else round_number(v) for k, v in sorted(state.settings.items())},
        "names": list(state.names),
    }  # fmt: skip
    text = json.dumps(packed, ensure_ascii=False, separators=(",", ":"))
    return base64.urlsafe_b64encode(zlib.compress(text.encode(errors="replace"), 9)).decode().rstrip("=")


def decode(text: str) -> State:
    """Return the state of a text, or of a whole address with ``state=…`` in it; nothing of it is run.

    Raises
    ------
    PlayError
        If the text is no link of ours, or says what no state can be.
    """
    if not isinstance(text, str):
        raise PlayError(_BROKEN.format(f"it is no text but {type(text).__name__}"))
    if len(text) > LONGEST_LINK:
        raise PlayError(
            f"a link has at most {LONGEST_LINK} characters, and this one has {len(text)}. Use fewer points."
        )
    found = _STATE.search(text)
    return _build(_read(_unpack(unquote(found[1]) if found else text.strip())))


def _unpack(text: str) -> bytes:
    text = text.rstrip("=")
    if not text or not _SAFE.fullmatch(text):
        raise PlayError(_BROKEN.format("it has characters that no link has" if text else "nothing is in it"))
    try:
        packed = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        inflate = zlib.decompressobj()
        data = inflate.decompress(packed, MOST_BYTES)
    except (binascii.Error, ValueError, zlib.error):
        raise PlayError(_BROKEN.format("it cannot be unpacked")) from None
    if inflate.unconsumed_tail or len(data) >= MOST_BYTES:
        raise PlayError(f"this link unpacks to more than {MOST_BYTES:,} bytes, which no state takes. Do not open it.")
    if not inflate.eof:
        raise PlayError(_BROKEN.format("its end is missing"))
    return data


def _read(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data.decode(), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise PlayError(_BROKEN.format("what is in it cannot be read")) from None
    if not isinstance(found, dict):
        raise PlayError(_BROKEN.format("what is in it is no state"))
    version = found.pop("v", None)
    if version != VERSION:
        raise PlayError(f"this link is of version {str(version)[:20]}, and only version {VERSION} can be read here.")
    return found


def _refuse_constant(name: str) -> float:
    raise ValueError(name)


def _build(found: dict[str, Any]) -> State:
    wanted = {"task", "x", "y", "kernel", "learner", "view", "settings", "names"}
    if found.keys() != wanted:
        raise PlayError(_BROKEN.format("parts are missing or unknown"))
    x, y = found["x"], found["y"]
    for values in (x, y):
        if not isinstance(values, list) or not all(type(value) in (int, float) for value in values):
            raise PlayError(_BROKEN.format("its points are no numbers"))
    if len(x) != len(y) * (1 if found["task"] == "regression" else 2):
        raise PlayError(_BROKEN.format("its points have too few or too many coordinates"))
    rows = [[value] for value in x] if len(x) == len(y) else list(zip(x[::2], x[1::2], strict=True))
    view, names = found["view"], found["names"]
    view = view if isinstance(view, list) and all(type(value) in (int, float) for value in view) else []
    return State(**{**found, "x": rows, "y": y, "view": view, "names": names})
