"""Which letters the bytes of a text stand for."""

from __future__ import annotations

import codecs
import re

from .._errors import CommandError
from .sources import FORMATS

MARKED = (
    (codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
)  # fmt: skip
WESTERN = ("cp1252", "latin-1")  # one byte a letter: any bytes are text in the second
NAMES = {
    "utf-8-sig": "UTF-8 with a mark of byte order", "utf-16": "UTF-16", "utf-16-le": "UTF-16", "utf-16-be": "UTF-16",
    "utf-32": "UTF-32", "cp1252": "Windows-1252", "latin-1": "Latin-1",
}  # fmt: skip
FEWEST = 0.01  # of bytes that are zero in text of two bytes a letter: separators and ends of lines
CONTROL = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f]")  # what no text holds


def list_encodings(head: bytes, name: str) -> tuple[str, ...]:
    r"""Return the encodings that a text which begins with some bytes may have, the likeliest first.

    A mark of byte order decides; without one, UTF-16 is told by the zeros in every other byte, and what is not UTF-8
    has one byte a letter.

    Examples
    --------
    >>> list_encodings("größe\n".encode(), "t.csv"), list_encodings("größe\n".encode("cp1252"), "t.csv")
    (('utf-8', 'cp1252', 'latin-1'), ('cp1252', 'latin-1'))
    >>> list_encodings("größe\n".encode("utf-16-be"), "t.csv")
    ('utf-16-be',)
    """
    for mark, encoding in MARKED:
        if head.startswith(mark):
            return (encoding,)
    if b"\0" in head:
        for encoding, place in (("utf-16-le", 1), ("utf-16-be", 0)):
            if _is_wide(head, encoding, place):
                return (encoding,)
        raise _describe_bytes(name)
    if _can_decode(head, "utf-8"):
        return ("utf-8", *WESTERN)
    if CONTROL.search(head.decode("latin-1")):
        raise _describe_bytes(name)
    return WESTERN if _can_decode(head, "cp1252") else WESTERN[1:]


def check_encoding(encoding: str) -> str:
    """Return the name of an encoding as Python has it, or raise an error that names some.

    Examples
    --------
    >>> check_encoding("UTF8"), check_encoding("latin1")
    ('utf-8-sig', 'iso8859-1')
    """
    try:
        found = codecs.lookup(encoding)
        "a,b".encode(found.name).decode(found.name)
    except (LookupError, ValueError, TypeError, AssertionError):  # others, such as base64, make no text
        raise CommandError(
            f"--encoding {encoding} is not known; give one such as utf-8, utf-16, cp1252, latin-1 or shift-jis"
        ) from None
    return {"utf-8": "utf-8-sig"}.get(found.name, found.name)  # which also reads what has no mark


def choose_encodings(head: bytes, name: str, given: str | None) -> tuple[str, ...]:
    """Return the encodings to try: the one that was given, or what the bytes tell."""
    if given is None:
        return list_encodings(head, name)
    wide = given in ("utf-16-le", "utf-16-be") and head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return ("utf-16",) if wide else (given,)


def describe_text(name: str, encoding: str) -> CommandError:
    """Return the error about a text that is not in an encoding."""
    return CommandError(f"{name} is not text in {encoding}, or is cut short; give another --encoding")


def _describe_bytes(name: str) -> CommandError:
    return CommandError(f"{name} is not a text file; a table must be {FORMATS}")


def _is_wide(head: bytes, encoding: str, place: int) -> bool:
    """Return whether bytes are lines of text of two bytes a letter, with the zeros of common letters on one side."""
    zeros, others = head[place::2].count(0), head[1 - place :: 2].count(0)
    if zeros <= 4 * others or zeros < FEWEST * len(head):
        return False
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(head)
    except UnicodeDecodeError:
        return False
    return bool(re.search("[\r\n]", text)) and not CONTROL.search(text)


def _can_decode(head: bytes, encoding: str) -> bool:
    try:
        codecs.getincrementaldecoder(encoding)().decode(head)  # the last letter may be cut
    except UnicodeDecodeError:
        return False
    return True
