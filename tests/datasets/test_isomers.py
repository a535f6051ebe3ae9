"""Molecules of one formula, told apart by how their atoms are arranged."""

import numpy as np

from mercer.datasets import load_isomers
from mercer.kernels import WeisfeilerLehman


def test_all_molecules_have_twice_as_many_hydrogens_as_carbons_and_two_oxygens():
    isomers = load_isomers()
    assert np.bincount(isomers.target).tolist() == [12, 12, 12]
    for text, graph in zip(isomers.smiles, isomers.data, strict=True):
        carbons, oxygens, double = (text.count(symbol) for symbol in "CO=")
        assert (oxygens, double) == (2, 1)  # a chain with one double bond: hydrogens fill up 4C + 2O bonds
        assert graph.n_nodes == carbons + oxygens


def test_no_molecule_is_there_twice():
    K = WeisfeilerLehman(4).normalize()(load_isomers().data)
    assert (K[np.triu_indices(len(K), 1)] < 1.0 - 1e-9).all()
