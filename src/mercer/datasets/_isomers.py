"""Small molecules with the same formulas, as graphs."""

from __future__ import annotations

import numpy as np
from sklearn.utils import Bunch

from mercer.kernels import Graph

ISOMERS = {
    "acid": """OC=O CC(=O)O CCC(=O)O CCCC(=O)O CC(C)C(=O)O CCCCC(=O)O CC(C)CC(=O)O CCC(C)C(=O)O CC(C)(C)C(=O)O
        CCCCCC(=O)O CC(C)CCC(=O)O CCC(C)CC(=O)O""",
    "ester": """COC=O CCOC=O COC(=O)C CCCOC=O CC(C)OC=O CCOC(=O)C COC(=O)CC CCCCOC=O CCCOC(=O)C CC(C)OC(=O)C CCOC(=O)CC
        COC(=O)CCC""",
    "hydroxy ketone or aldehyde": """OCC=O OCCC=O CC(O)C=O CC(=O)CO OCCCC=O CC(=O)CCO CC(=O)C(C)O CCC(=O)CO CC(O)CC=O
        OCCCCC=O CCCC(=O)CO CC(=O)CCCO""",
}


def load_isomers() -> Bunch:
    """Return 36 molecules of formulas CₙH₂ₙO₂ as graphs: carboxylic acids, esters, and hydroxy ketones or aldehydes.

    Nodes are atoms but for hydrogen, labelled by their element; edges are bonds, labelled 1 or 2 for single and double
    ones.

    Returns
    -------
    Bunch
        ``data``, a list of 36 :class:`~mercer.kernels.Graph`; ``target`` (36,), the number of the family of each;
        ``target_names``, the families; ``smiles``, the molecules as text: a letter is an atom bound to the one before
        it, ``=`` makes the bond a double one, and what stands in parentheses is a branch.

    Examples
    --------
    >>> from mercer.datasets import load_isomers
    >>> isomers = load_isomers()
    >>> isomers.smiles[1], isomers.target_names[isomers.target[1]], isomers.data[1]
    ('CC(=O)O', 'acid', <Graph of 4 nodes and 3 edges, nodes and edges labelled>)
    """
    families = [texts.split() for texts in ISOMERS.values()]
    smiles = [text for family in families for text in family]
    target = np.repeat(np.arange(len(families)), [len(family) for family in families])
    return Bunch(data=[_read(text) for text in smiles], target=target, target_names=list(ISOMERS), smiles=smiles)


def _read(text: str) -> Graph:
    """Return the graph of letters, double bonds and branches."""
    atoms: list[str] = []
    bonds: list[tuple[int, int, int]] = []
    branches: list[int] = []
    last, order = -1, 1
    for symbol in text:
        if symbol == "(":
            branches.append(last)
        elif symbol == ")":
            last = branches.pop()
        elif symbol == "=":
            order = 2
        else:
            atoms.append(symbol)
            if last >= 0:
                bonds.append((last, len(atoms) - 1, order))
            last, order = len(atoms) - 1, 1
    return Graph.from_edges(bonds, labels=atoms)
