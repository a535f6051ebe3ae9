"""
Questions as trees
==================

*Which dog did the man chase?* and *which man did the dog chase?* are made of the same words.  What differs is who acts,
and that is in the parse tree.  A tree kernel counts the fragments that two trees have in common, among them "this noun
in front of the verb", a feature that nobody had to write down.
"""

from itertools import product

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_predict

from mercer import SVC
from mercer.kernels import FromFeatures, PartialTree, SubsetTree, Subtree

# %%
# Ninety-six questions in three shapes, as s-expressions.  An animal meets a person, and either may act.


def phrase(noun):
    return f"(NP (D the) (N {noun}))"


def did(actor, verb, other):
    """Did the dog chase the man?"""
    return f"(SQ (AUX did) {phrase(actor)} (VP (V {verb}) {phrase(other)}))"


def which(actor, verb, other):
    """Which dog chased the man?"""
    return f"(SBARQ (WHNP (D which) (N {actor})) (SQ (VP (V {verb}) {phrase(other)})))"


def which_did(actor, verb, other):
    """Which man did the dog chase?"""
    return f"(SBARQ (WHNP (D which) (N {other})) (SQ (AUX did) {phrase(actor)} (VP (V {verb}))))"


animals, people, verbs = ["dog", "fox", "goat", "horse"], ["man", "girl", "king", "nurse"], ["chase", "see", "hear"]
meetings = list(product((did, which, which_did), animals, verbs, people))
rng = np.random.default_rng(0)
trees, classes = [], []
for number in rng.choice(len(meetings), 48, replace=False):
    shape, animal, verb, person = meetings[number]
    trees += [shape(animal, verb, person), shape(person, verb, animal)]
    classes += ["animal", "person"]
print(trees[0], trees[1], sep="\n")

# %%
# Every question has a partner with the same words and the other answer, so that words alone say nothing.  Complete
# subtrees say little more: they hold a noun with its article, but not what stands next to it.  Fragments that may stop
# above the leaves tell who acts.  The further a question is from the line, the surer is a classifier that has not seen
# it.


def words(tree):
    return [word for word in tree.replace(")", " ").split() if not word.startswith("(")]


known = sorted({word for tree in trees for word in words(tree)})
kernels = {
    "words": FromFeatures(lambda tree: [words(tree).count(word) for word in known]),
    "complete subtrees": Subtree(),
    "subset trees": SubsetTree(),
    "partial trees": PartialTree(),
}
figure, axis = plt.subplots(figsize=(8, 4.2), layout="constrained")
answers = np.array(classes)
for place, kernel in enumerate(kernels.values()):
    model = SVC(C=10, kernel=kernel.normalize())
    values = cross_val_predict(model, trees, answers, cv=6, method="decision_function")
    right = np.mean((values > 0) == (answers == "person"))
    for answer, colour in (("animal", "C0"), ("person", "C1")):
        chosen = answers == answer
        spread = place + rng.uniform(-0.25, 0.25, chosen.sum())
        axis.scatter(values[chosen], spread, s=14, color=colour, label=answer if place == 0 else None)
    axis.text(1.02, place, f"{right:.0%} right", transform=axis.get_yaxis_transform(), va="center")
axis.axvline(0, color="grey", linewidth=1)
axis.set(xlabel="decision value, questions left out in turn", yticks=range(4), title="who acts?")
axis.set_yticklabels(list(kernels))
axis.invert_yaxis()
axis.legend(loc="upper left")
