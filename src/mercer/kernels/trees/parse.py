"""Trees in all the forms users have them, read as one: labels with numbers of children, children first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from mercer.formula.data import advise_on, short

Nodes = Iterator[tuple[Any, int]]  # label and number of children of every node, children before their parents

_TOKEN = re.compile(r"[()]|[^()\s]+")
_MISSING = object()
FORMS = (
    "an s-expression such as '(S (NP x) (VP y))', nested tuples such as ('S', ('NP', 'x'), ('VP', 'y')), or an object "
    "with a label and children"
)


def read_nodes(tree: Any) -> Nodes:
    """Yield label and number of children of every node, children before their parents.

    A tree is an s-expression; a tuple or list of a label and children, each of which is again one or a label alone; or
    an object with ``label`` and ``children``, attributes or methods (or iteration, as NLTK's trees have it).
    """
    if isinstance(tree, str):
        return _read_text(tree)
    given = tree
    if isinstance(tree, np.ndarray) and tree.dtype.kind != "f":
        tree = tree.tolist()
    if not (isinstance(tree, tuple | list) or hasattr(tree, "label")):
        hint = advise_on(given)
        raise TypeError(f"{short(given)} is no tree but of type {type(given).__name__}; give {FORMS}. {hint}")
    return _read_nested(tree)


def _read_text(text: str) -> Nodes:
    """Read an s-expression; a bare word is a leaf, and so is a word in brackets of its own."""
    stack: list[tuple[Any, int]] = []  # label, or none yet, and number of children of every open node
    roots = 0
    for token in _TOKEN.findall(text):
        if token == "(":
            if stack and stack[-1][0] is _MISSING:
                stack[-1] = ("", stack[-1][1])  # a bracket around a whole tree, as treebanks have it
            stack.append((_MISSING, 0))
            continue
        if token == ")":
            if not stack:
                raise ValueError(f"the tree {short(text)} closes a bracket that was never opened; balance the brackets")
            label, children = stack.pop()
            if label is _MISSING:
                raise ValueError(f"the tree {short(text)} has a node '()' without a label; write '(label child …)'")
        elif stack and stack[-1][0] is _MISSING:
            stack[-1] = (token, 0)
            continue
        else:
            label, children = token, 0
        yield label, children
        if stack:
            stack[-1] = (stack[-1][0], stack[-1][1] + 1)
        else:
            roots += 1
    if stack:
        raise ValueError(f"the tree {short(text)} leaves {len(stack)} brackets open; balance the brackets")
    if roots != 1:
        found = "is empty" if roots == 0 else f"has {roots} roots"
        raise ValueError(f"the tree {short(text)} {found}; give one tree in a string, such as '(S (NP x) (VP y))'")


def _read_nested(root: Any) -> Nodes:
    """Walk through nested tuples or objects without recursion, whatever their depth."""
    stack: list[tuple[Any, Any, Iterator[Any], int]] = []  # node, label, children to come and their number
    path: set[int] = set()
    node: Any = root
    while True:
        label, children = _take_apart(node)
        if children:
            if id(node) in path:
                raise ValueError(f"the tree has a cycle: the node {short(label)} is among its own descendants")
            path.add(id(node))
            stack.append((node, label, iter(children), len(children)))
        else:
            yield label, 0
        while stack:
            following = next(stack[-1][2], _MISSING)
            if following is not _MISSING:
                node = following
                break
            above, label, _, count = stack.pop()
            path.discard(id(above))
            yield label, count
        else:
            return


def _take_apart(node: Any) -> tuple[Any, list[Any]]:
    """Return the label and the children of a node; anything that is no node is the label of a leaf."""
    if hasattr(node, "label"):
        label = node.label() if callable(node.label) else node.label
        children = _list_children(node)
    elif isinstance(node, tuple | list):
        if len(node) == 0:
            raise ValueError(f"the tree has a node {node!r} without a label; give (label, child, …)")
        label, children = node[0], list(node[1:])
        if isinstance(label, tuple | list):
            raise TypeError(f"the node {short(node)} begins with {short(label)} where its label is expected")
    else:
        label, children = node, []
    _check_label(label)
    return label, children


def _list_children(node: Any) -> list[Any]:
    if not hasattr(node, "children") and not isinstance(node, Iterable):
        raise TypeError(
            f"{short(node)} has a label but neither children nor a way to iterate over them; give it an attribute "
            "children, empty for a leaf"
        )
    children = getattr(node, "children", node)
    if callable(children):
        children = children()
    return [] if children is None else list(children)


def _check_label(label: Any) -> None:
    try:
        hash(label)
        known = label is not None and bool(label == label)
    except TypeError:
        raise TypeError(
            f"the label {short(label)} of type {type(label).__name__} is not hashable; use a string, a number or "
            "another hashable value for every node"
        ) from None
    if not known:
        raise ValueError(f"the tree has a node with the label {label!r}; give every node a label")
