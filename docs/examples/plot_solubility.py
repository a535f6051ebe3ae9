"""
Solubility from fingerprints
============================

A fingerprint counts the patterns that a molecule holds.  :class:`mercer.kernels.MinMax` compares two of them, and ridge
regression with it learns a property of molecules, says how sure it is, and knows which molecules are unlike all that it
has seen.

The molecules here are made up: chains of groups of atoms, whose solubility is a sum over the groups, as in the
estimates of group contributions, and a little for each group beside another.  So the truth is known.
"""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRidgeCV
from mercer.kernels import MinMax

# %%
# What each group adds to the logarithm of the solubility in water, roughly as for real ones: carbon takes away, oxygen
# and nitrogen add, and a ring takes away most.
groups = {"CH3": -0.5, "CH2": -0.45, "CH": -0.3, "OH": 1.4, "COOH": 1.1, "NH2": 1.2, "O": 0.7, "Cl": -0.7, "C6H4": -1.9}
names = list(groups)
rng = np.random.default_rng(0)


def make_molecule(kinds):
    return [kinds[i] for i in rng.integers(len(kinds), size=rng.integers(3, 11))]


def find_solubility(chain):
    beside = sum(0.4 for a, b in pairwise(chain) if {a, b} == {"OH", "C6H4"})
    return 0.5 + sum(groups[name] for name in chain) + beside


def count_patterns(chain):
    """The fingerprint: how often each group, and each chain of two or three groups, occurs; its hash is the text."""
    counts = {}
    for size in (1, 2, 3):
        for start in range(len(chain) - size + 1):
            part = chain[start : start + size]
            pattern = "-".join(min(part, part[::-1]))
            counts[pattern] = counts.get(pattern, 0) + 1
    return counts


known = [name for name in names if name != "Cl"]
chains = [make_molecule(known) for _ in range(400)]
molecules = [count_patterns(chain) for chain in chains]
y = np.array([find_solubility(chain) for chain in chains]) + 0.2 * rng.normal(size=400)
print("-".join(chains[0]), "has", len(molecules[0]), "patterns")

# %%
# Counts by hash go to the kernel as they are, and so do sets of them.  Counts say more than bits, because groups occur
# more than once.
train, test = slice(0, 300), slice(300, 400)
for name, form in {"bits": [set(counts) for counts in molecules], "counts": molecules}.items():
    model = KernelRidgeCV(kernel=MinMax()).fit(form[train], y[train])
    error = np.sqrt(np.mean((model.predict(form[test]) - y[test]) ** 2))
    print(f"{name}: {error:.2f} off, where guessing the mean is {y[test].std():.2f} off")

# %%
# How sure is it?  The model is also a Gaussian process.  ``criterion="marginal"`` finds the size of the kernel and the
# noise that make the data most likely, and the deviation that it states grows with the distance to what it has seen.
# Chlorine was in none of the molecules: the model is further off where there is some, and states a larger deviation.
process = KernelRidgeCV(kernel=MinMax(), criterion="marginal").fit(molecules[train], y[train])
strangers = [make_molecule([*known, "Cl", "Cl", "Cl"]) for _ in range(100)]
fingerprints = [count_patterns(chain) for chain in strangers]
shown = {"like those seen": (molecules[test], y[test])}
shown["with chlorine"] = fingerprints, np.array([find_solubility(chain) for chain in strangers])

figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
for i, (name, (rows, truth)) in enumerate(shown.items()):
    mean, deviation = process.predict(rows, return_std=True)
    inside = np.mean(np.abs(mean - truth) < 2 * deviation)
    print(f"{name}: {inside:.0%} within two deviations")
    axes[0].errorbar(
        truth, mean, 2 * deviation, fmt="o", ms=4, color=f"C{i}", elinewidth=0.8, alpha=0.7, label=name, zorder=2 - i
    )
    axes[1].scatter(deviation, np.abs(mean - truth), s=18, color=f"C{i}", alpha=0.7)
line = np.array([-7.0, 9.0])
axes[0].plot(line, line, color="grey", linewidth=1, zorder=0)
axes[0].set(xlabel="log solubility", ylabel="predicted, ± 2 deviations", title="What is predicted")
axes[1].set(xlabel="deviation that the model states", ylabel="how far off it is", title="How sure it is, and how right")
axes[1].set(ylim=(0, None))
axes[0].legend()
