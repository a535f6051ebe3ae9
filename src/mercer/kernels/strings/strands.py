"""What DNA needs of a table of sequences: letters that are none, the other strand, and weights of windows."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

import numpy as np

from mercer.formula.data import short

from .table import Coded, TokenTable

NONE = -1  # the code of a token that equals nothing
LETTERS, OTHERS = "ACGTRYSWKMBDHVN", "TGCAYRSWMKVHDBN"  # each letter of DNA, and the one across from it
COMPLEMENT: dict[Hashable, Hashable] = {}
for _letters, _others in ((LETTERS, OTHERS), (LETTERS.lower(), OTHERS.lower())):
    COMPLEMENT |= dict(zip(_letters, _others, strict=True))
    COMPLEMENT |= dict(zip(_letters.encode(), _others.encode(), strict=True))  # the tokens of bytes


def drop_tokens(table: TokenTable, skip: frozenset[Hashable]) -> TokenTable:
    """Return a table in which some tokens are none."""
    if not skip.intersection(table.tokens):
        return table
    kept = tuple(token for token in table.tokens if token not in skip)
    numbers = {token: code for code, token in enumerate(kept)}
    own = np.array([numbers.get(token, NONE) for token in table.tokens], dtype=np.int32)
    return replace(table, codes=own[table.codes], tokens=kept)


def add_strands(table: TokenTable, A: Coded, B: Coded, owner: str) -> TokenTable:
    """Return a table that has behind all sequences x, in their order, each once more with the other strand behind it.

    Both strands are one sequence, x, a token that is none, and the reverse complement of x.
    """
    strange = next((token for token in table.tokens if token not in COMPLEMENT), None)
    if strange is not None:
        where = locate(table.tokens.index(strange), table, A, B)
        raise ValueError(
            f"{owner}: the token {short(strange)} of object {where} has no complement; reverse_complement=True takes "
            "DNA as letters ACGT, N and the other codes of ambiguity. Write U as T, and name what is none in skip=…"
        )
    tokens = tuple(dict.fromkeys([*table.tokens, *(COMPLEMENT[token] for token in table.tokens)]))
    numbers = {token: code for code, token in enumerate(tokens)}
    # The last one stands for a token that is none, which −1 leads to.
    across = np.array([numbers[COMPLEMENT[token]] for token in tokens] + [NONE], dtype=np.int32)
    codes, sizes = table.codes, table.sizes
    starts = np.concatenate([[0], np.cumsum(2 * sizes + 1)])
    both = np.full(int(starts[-1]), NONE, dtype=np.int32)
    place = np.arange(len(codes)) - np.repeat(table.starts[:-1], sizes)
    first, size = np.repeat(starts[:-1], sizes), np.repeat(sizes, sizes)
    both[first + place] = codes
    both[first + 2 * size - place] = across[codes]
    return replace(
        table,
        codes=np.concatenate([codes, both]),
        starts=np.concatenate([table.starts, table.starts[-1] + starts[1:]]).astype(np.int64),
        tokens=tokens,
        strands=len(sizes),
    )


def weigh_centers(table: TokenTable, span: int, half_life: float) -> TokenTable:
    """Return a table in which a window weighs half as much for every so many tokens between the middles of it and x."""
    sizes = table.sizes
    place = (np.arange(len(table.codes)) - np.repeat(table.starts[:-1], sizes)).astype(float)
    size = np.repeat(sizes, sizes)
    if table.strands:
        inside = np.repeat(np.arange(len(sizes)) >= table.strands, sizes)
        size = np.where(inside, (size - 1) // 2, size)
        place -= np.where(inside & (place > size), size + 1, 0)
    return replace(table, weights=np.exp2(-np.abs(place + (span - 1) / 2 - (size - 1) / 2) / half_life))


def locate(code: int, table: TokenTable, A: Coded, B: Coded) -> int:
    """Return the position of the first object that has a token, in the collection that it is in."""
    holder = np.searchsorted(table.starts, np.flatnonzero(table.codes == code), side="right") - 1
    found = [np.flatnonzero(np.isin(side.ids, holder)) for side in (A, B)]
    return int(next(rows[0] for rows in found if len(rows)))
