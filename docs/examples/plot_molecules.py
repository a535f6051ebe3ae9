"""
Molecules as graphs
===================

Carboxylic acids, esters and hydroxy ketones or aldehydes with the same number of carbon atoms have the same formula,
:math:`\\mathrm{C}_n\\mathrm{H}_{2n}\\mathrm{O}_2`, the same atoms and almost the same bonds.  What they are is a matter
of how the atoms are arranged.  :class:`mercer.kernels.WeisfeilerLehman` compares the surroundings of atoms: after
:math:`t` rounds two atoms agree if everything within :math:`t` bonds of them looks the same.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import LeaveOneOut, cross_val_score

from mercer import KernelPCA, KernelRidgeClassifier
from mercer.datasets import load_isomers
from mercer.kernels import WeisfeilerLehman

# %%
# The molecules, without their hydrogen atoms.
isomers = load_isomers()
molecules, y = isomers.data, isomers.target
print(isomers.smiles[4], "is", molecules[4])

# %%
# How well each molecule is recognised from all others, by the number of rounds.  Without any, a molecule is the number
# of its atoms of each element, and those with the same numbers are of the other families.
for iterations in range(5):
    model = KernelRidgeClassifier(kernel=WeisfeilerLehman(iterations).normalize(), alpha=0.1)
    accuracy = cross_val_score(model, molecules, y, cv=LeaveOneOut()).mean()
    print(f"{iterations} rounds: {accuracy:.0%} of {len(y)} molecules")

# %%
# The kernel matrix, sorted by family, and the molecules along the first two principal components in feature space.
figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
kernel = WeisfeilerLehman(2).normalize()
axes[0].imshow(kernel(molecules), cmap="Blues", vmin=0, vmax=1)
axes[0].set(title="k(G, H), two rounds", xticks=[], yticks=[])
for axis, iterations in zip(axes[1:], (0, 2), strict=True):
    shown = KernelPCA(n_components=2, kernel=WeisfeilerLehman(iterations).normalize()).fit_transform(molecules)
    jitter = 0.01 * np.random.default_rng(0).normal(size=shown.shape)
    for i, (name, marker) in enumerate(zip(isomers.target_names, "os^", strict=True)):
        axis.scatter(*(shown + jitter)[y == i].T, s=36, marker=marker, color=f"C{i}", alpha=0.8, label=name)
    axis.set(title=f"{iterations} rounds", xticks=[], yticks=[], xlabel="first component", ylabel="second component")
axes[1].legend(fontsize=9)
