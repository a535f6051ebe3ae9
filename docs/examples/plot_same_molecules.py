"""
Are these two sets of molecules the same?
=========================================

All molecules of two sets have formulas :math:`\\mathrm{C}_n\\mathrm{H}_{2n}\\mathrm{O}_2`.  Whether they could be
samples of one distribution is a question for :class:`mercer.MMDTest`, with a kernel on graphs: it compares the means of
their features with those of the same molecules dealt out to two sets in other ways.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import MMDTest
from mercer.datasets import load_isomers
from mercer.embeddings import witness
from mercer.inspection import OutcomeDisplay
from mercer.kernels import WeisfeilerLehman

# %%
# Carboxylic acids and esters, without their hydrogen atoms.
isomers = load_isomers()
X, Y = (
    [molecule for molecule, family in zip(isomers.data, isomers.target, strict=True) if family == i] for i in (0, 1)
)

# %%
# What a kernel cannot see, no test finds.  Without any round of looking around, a molecule is the number of its atoms
# of each element, which is much the same in both sets.  After two rounds an atom is told by what lies within two bonds
# of it.
rounds = {count: WeisfeilerLehman(count).normalize() for count in (0, 2)}
for count, kernel in rounds.items():
    print(f"{count} rounds:", MMDTest(kernel, random_state=0).test(X, Y))
    print()

# %%
# Molecules of one family, every other one in each set, are not told apart.
print(MMDTest(rounds[2], random_state=0).test(X[::2], X[1::2]))

# %%
# The witness function says which molecules are typical of one set and not of the other: it is largest at the first and
# smallest at the last.
f = witness(X, Y, rounds[2])
values, texts = f(X + Y), np.array(isomers.smiles[: len(X + Y)])
order = np.argsort(-values)
figure, axes = plt.subplots(1, 2, figsize=(12, 5), layout="constrained")
OutcomeDisplay.from_outcome(MMDTest(rounds[2], random_state=0).test(X, Y), ax=axes[0])
colours = np.where(np.arange(len(texts)) < len(X), "#0072B2", "#E69F00")
axes[1].barh(np.arange(len(texts)), values[order], color=colours[order])
axes[1].set_yticks(np.arange(len(texts)), texts[order], fontsize=8)
axes[1].invert_yaxis()
axes[1].axvline(0.0, color="#6E6E6E", linewidth=0.8)
axes[1].set(xlabel="witness f(x): acids blue, esters orange")
