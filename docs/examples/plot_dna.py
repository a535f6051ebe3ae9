"""
A motif in DNA
==============

Proteins bind to DNA at short words, seldom spelled quite the same.  Here every second sequence hides such a word at a
random place, with three of its letters changed.  Whole words of the same length rarely match, short ones match
everywhere; kernels that allow gaps or mismatches see what the sequences have in common.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_auc_score, roc_curve

from mercer import SVC
from mercer.kernels import GappedKmer, Mismatch, Spectrum, Subsequence

MOTIF = "GATGACGTCATC"  # around the word at which the protein CREB binds
rng = np.random.default_rng(0)


def sequence(bound):
    """Sixty random letters, with a damaged motif somewhere if a protein is to bind there."""
    letters = rng.choice(list("ACGT"), size=60)
    if bound:
        word = np.array(list(MOTIF))
        for changed in rng.choice(12, size=3, replace=False):
            word[changed] = rng.choice([letter for letter in "ACGT" if letter != word[changed]])
        place = rng.integers(0, 49)
        letters[place : place + 12] = word
    return "".join(letters)


y = np.arange(600) % 2
X = [sequence(bound) for bound in y]
train, test = slice(0, 400), slice(400, None)

# %%
# The data are plain lists of strings.  Each kernel is normalised, because repeats make some sequences longer vectors
# than others.

kernels = {
    "words of 8": Spectrum(8),
    "words of 5": Spectrum(5),
    "8 letters, 2 mismatches": Mismatch(8, 2),
    "8 letters, 3 gaps": GappedKmer(8, 3),
    "subsequences of 5": Subsequence(5, decay=0.5),
}
figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
for name, kernel in kernels.items():
    machine = SVC(kernel=kernel.normalize()).fit(X[train], y[train])
    scores = machine.decision_function(X[test])
    false, true, _ = roc_curve(y[test], scores)
    axes[0].plot(false, true, label=f"{name}: {roc_auc_score(y[test], scores):.2f}")
axes[0].plot([0, 1], [0, 1], color="grey", linestyle=":")
axes[0].set(xlabel="false positives", ylabel="true positives", title="area under the curve, 200 new sequences")
axes[0].legend(fontsize="small")

# %%
# The features of a kernel with gaps are words with gaps, so that a linear function of them can be read.  The machine's
# weight of a word is wᵤ = Σ cᵢ φᵤ(xᵢ); the heaviest words spell parts of the motif.

machine = SVC(kernel=GappedKmer(8, 3)).fit(X[train], y[train])
words = GappedKmer(8, 3).features().fit(X[train])
f = machine.expansion_
weights = words.transform(f.centers).T @ np.ravel(f.coef)
heaviest = np.argsort(weights)[-12:]
names = np.array(words.features_.names([]))
axes[1].barh(names[heaviest], weights[heaviest], color="C3")
axes[1].tick_params(axis="y", labelfontfamily="monospace")
axes[1].set(xlabel="weight", title=f"the heaviest words with gaps ({MOTIF} is hidden)")
