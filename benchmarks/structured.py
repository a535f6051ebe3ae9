"""Kernels on strings, trees and graphs: time, accuracy, and reference values."""

import gzip

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_score, train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from mercer.expansion import Expansion, evaluate_expansion
from mercer.gram import Gram
from mercer.kernels import (
    Fisher,
    GappedKmer,
    Gaussian,
    Graph,
    GraphHopper,
    Graphlet,
    HashedWeisfeilerLehman,
    LocalAlignment,
    Mismatch,
    PartialTree,
    Propagation,
    ShortestPath,
    Spectrum,
    Subsequence,
    SubsetTree,
    WeightedDegree,
    WeisfeilerLehman,
    WeisfeilerLehmanAssignment,
)
from mercer.kernels.strings.base import Part
from mercer.models import SVC, KernelRidgeClassifier

from .measure import best_time, data_folder, timed, verdict


def fasta(path):
    lines = path.read_text().split()
    return [line.upper() for line in lines[1::2]], np.array([int(line[1:]) for line in lines[0::2]])


def splice(folder):
    lines = (folder / "keel" / "splice.dat").read_text().splitlines()
    rows = [[cell.strip() for cell in line.split(",")] for line in lines if line and not line.startswith("@")]
    return ["".join(row[:-1]) for row in rows], np.array([row[-1] for row in rows])


def graphs_of(path):
    numbers = iter(path.read_text().split())
    graphs, classes = [], []
    for _ in range(int(next(numbers))):
        nodes = int(next(numbers))
        classes.append(next(numbers))
        neighbours, labels = [], []
        for _ in range(nodes):
            labels.append(next(numbers))
            neighbours.append([int(next(numbers)) for _ in range(int(next(numbers)))])
        graphs.append(Graph(neighbours, labels))
    return graphs, np.array(classes)


def gapped_row(folder, name, length, gaps, limit, goal) -> None:
    (A, y), (B, z) = (fasta(folder / "strings" / f"{name}.{part}.fasta") for part in ("train", "test"))
    n = len(A)

    def work():
        K = GappedKmer(length, gaps).normalize()(A + B)
        return SVC(kernel="precomputed").fit(K[:n, :n], y).decision_function(K[n:, :n])

    scores, seconds = timed(work)
    print(
        f"GappedKmer({length}, {gaps}), {name}, Gram, fit and predict: {seconds:.1f} s (limit {limit}), ",
        end="",
    )
    print(f"AUC {roc_auc_score(z, scores):.4f} (at least {goal})", flush=True)


def masks_row(folder, few=500) -> None:
    """Both ways to count words with many gaps: by sorting windows for each of 1,716 masks, and by comparing windows."""
    X = fasta(folder / "strings" / "EP300.train.fasta")[0] + fasta(folder / "strings" / "EP300.test.fasta")[0]
    kernel = GappedKmer(13, 7)
    table = kernel.prepare(X[:few], X[:few])[0].table
    ids, first = np.arange(few), np.arange(few)
    sorted_ = Part(table, ids, ids, first, np.full(few, few), np.zeros((few, few)))
    _, part = timed(lambda: kernel.sort(sorted_, kernel.masks()))
    compared = Part(table, ids, ids, first, sorted_.last, np.zeros((few, few)))
    _, own = timed(lambda: kernel.fill(compared))
    same = np.array_equal(np.triu(sorted_.out), np.triu(compared.out))
    _, seconds = timed(lambda: kernel.normalize()(X[:2000]))
    print(f"GappedKmer(13, 7), {few} sequences: {own:.2f} s, by masks {part:.2f} s: ", end="")
    print(
        f"{verdict(part / own, 6.0)}, values {'the same' if same else 'DIFFER'}; Gram of 2,000: {seconds:.1f} s",
        flush=True,
    )


def words_row(folder, count=1000) -> None:
    """Values of sums over 1,000 strings by the words of each new string, and by kernel values as before."""
    X, new = (fasta(folder / "strings" / f"SIN3A.{part}.fasta")[0] for part in ("train", "test"))
    coef = np.random.default_rng(0).normal(size=count)
    for kernel in (Spectrum(6), GappedKmer(8, 2), Mismatch(6, 1), WeightedDegree(8)):
        f = Expansion(kernel.normalize(), X[:count], coef)
        _, first = timed(lambda f=f: f(new))
        seconds = best_time(lambda f=f: f(new), 3)
        values, other = timed(lambda f=f: evaluate_expansion(f.kernel, new, f.centers, f.coef))
        error = np.abs(f(new) - values).max() / np.abs(values).max()
        print(
            f"{kernel!r}, normalised, {count:,} strings in the sum, {len(new):,} new: {1e3 * seconds:.1f} ms ", end=""
        )
        print(
            f"(first {1e3 * first:.0f}), by kernel values {1e3 * other:.0f}: {verdict(other / seconds, 20.0)}, ", end=""
        )
        print(f"difference {error:.0e}", flush=True)


def dna_rows(folder) -> None:
    """What reading DNA from both strands, from the centre, with shifts, or by a model costs, and brings."""
    (A, y), (B, z) = (fasta(folder / "strings" / f"SIN3A.{part}.fasta") for part in ("train", "test"))
    gapped = GappedKmer(8, 2, skip="N")
    kernels = (
        gapped,
        gapped.with_params(reverse_complement=True),
        gapped.with_params(reverse_complement=True, center_weights=50.0),
        WeightedDegree(6, shift=8, skip="N"),
        Fisher.learn(A, order=4, skip="N"),
    )
    for kernel in kernels:
        K, seconds = timed(lambda k=kernel: k.normalize()(A + B))
        n, machine = len(A), SVC(kernel="precomputed")
        area = roc_auc_score(z, machine.fit(K[:n, :n], y).decision_function(K[n:, :n]))
        print(f"{repr(kernel)[:90]}, SIN3A, {len(K):,} sequences: {seconds:.1f} s, AUC {area:.3f}", flush=True)


def local_row(count=100, size=200, limit=10) -> None:
    letters, rng = list("ARNDCQEGHILKMFPSTWYV"), np.random.default_rng(0)
    X = ["".join(rng.choice(letters, size=size)) for _ in range(count)]
    _, seconds = timed(lambda: LocalAlignment().normalize()(X))
    each = 1e9 * seconds / (count * (count + 1) / 2 * size**2)
    print(
        f"LocalAlignment, {count} sequences of {size}: {seconds:.2f} s (limit {limit}), {each:.2f} ns a pair of tokens"
    )


def substructures_row(folder, new=400) -> None:
    """Values of sums over all other graphs by what each new graph has, and by kernel values as before."""
    graphs, _ = graphs_of(folder / "graphs" / "NCI1.txt")
    order = np.random.default_rng(0).permutation(len(graphs))
    some, rest = [graphs[i] for i in order[:new]], [graphs[i] for i in order[new:]]
    coef = np.random.default_rng(0).normal(size=len(rest))
    for kernel in (WeisfeilerLehman(5), WeisfeilerLehmanAssignment(5), ShortestPath()):
        f = Expansion(kernel.normalize(), rest, coef)
        _, first = timed(lambda f=f: f(some))
        seconds = best_time(lambda f=f: f(some), 3)
        values, other = timed(lambda f=f: evaluate_expansion(f.kernel, some, f.centers, f.coef))
        error = np.abs(f(some) - values).max() / np.abs(values).max()
        print(f"{kernel!r}, normalised, {len(rest):,} graphs in the sum, {new} new: {1e3 * seconds:.0f} ms ", end="")
        print(
            f"(first {1e3 * first:.0f}), by kernel values {1e3 * other:.0f}: {verdict(other / seconds, 20.0)}, ", end=""
        )
        print(f"difference {error:.0e}", flush=True)


def subsequence_row(folder, few=200) -> None:
    X = splice(folder)[0][:1000]
    _, seconds = timed(lambda: Subsequence(4, 0.5).normalize()(X))
    print(f"Subsequence(4), 1,000 strings of 60: {seconds:.2f} s", end="")
    try:
        from strkernels import SubsequenceStringKernel
    except ImportError:
        print("; strkernels is not installed")
        return
    some = np.array(X[:few])
    _, part = timed(lambda: SubsequenceStringKernel(maxlen=4, ssk_lambda=0.5)(some, some))
    print(
        f"; strkernels on {few} of them {part:.2f} s: {verdict(part * (1000 / few) ** 2 / seconds, 20.0)} by pairs",
        flush=True,
    )


def spectrum_row(folder) -> None:
    X, y = splice(folder)
    model = KernelRidgeClassifier(0.1, kernel=Spectrum(6).normalize())
    _, seconds = timed(lambda: model.fit(X, y).predict(X[:100]))
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    one_hot = OneHotEncoder(sparse_output=False, handle_unknown="ignore")
    peer = make_pipeline(one_hot, SVC(kernel=Gaussian(5.0), C=10.0))
    ours = cross_val_score(model, X, y, cv=folds).mean()
    theirs = cross_val_score(peer, np.array([list(x) for x in X]), y, cv=folds).mean()
    print(
        f"Spectrum(6) + ridge, splice {len(X):,} windows: {seconds:.1f} s (limit 5), 3-fold accuracy {ours:.3f}; ",
        end="",
    )
    print(f"one-hot Gaussian SVC {theirs:.3f}", flush=True)


def tree_rows(folder) -> None:
    def read(name):
        with gzip.open(folder / "trees" / f"qc_{name}.tsv.gz", "rt") as lines:
            rows = [line.rstrip("\n").split("\t") for line in lines]
        return [row[2] for row in rows], np.array([row[0] for row in rows])

    (train, y), (test, y_test) = read("train"), read("test")
    subset, partial = SubsetTree(0.4).normalize(), PartialTree(0.4, 0.4, 5.0).normalize()
    for kernel, name in ((subset, "subset"), (partial, "partial")):
        expected = np.loadtxt(folder / "trees" / f"{name}_tree_first100.txt")
        error = np.abs(np.diag(kernel(test[:101]), 1) - expected).max()
        print(f"{name} trees: largest difference from 100 reference values in float32 {error:.1e}")
    K, seconds = timed(lambda: Gram(subset, train + test).dense())
    print(f"SubsetTree, Gram of {len(K):,} questions: {seconds:.1f} s (limit 15), SVC(C=3) ", end="", flush=True)
    n, machine = len(train), SVC(C=3, kernel="precomputed")
    for label, model in (("one against all", OneVsRestClassifier(machine)), ("one against one", machine)):
        print(f"{label} {model.fit(K[:n, :n], y).score(K[n:, :n], y_test):.3f} ", end="")
    _, seconds = timed(lambda: Gram(partial, test).dense())
    print(f"(at least .90)\nPartialTree, Gram of {len(test)} test questions: {seconds:.2f} s (limit 30)", flush=True)


def graph_row(folder, kernel, limit, goal) -> None:
    """10 folds; C is chosen by one hold-out inside each training fold."""
    graphs, y = graphs_of(folder / "graphs" / "NCI1.txt")
    K, seconds = timed(lambda: Gram(kernel.normalize(), graphs).dense())

    def score(C, fit, held):
        machine = SVC(kernel="precomputed", C=C).fit(K[np.ix_(fit, fit)], y[fit])
        return machine.score(K[np.ix_(held, fit)], y[held])

    scores = []
    for train, test in StratifiedKFold(10, shuffle=True, random_state=1).split(graphs, y):
        a, b = train_test_split(train, train_size=2400, test_size=900, stratify=y[train], random_state=0)
        best = max((1.0, 3.0, 10.0, 30.0), key=lambda C, a=a, b=b: score(C, a, b))
        scores.append(score(best, train, test))
    print(f"{kernel!r}, NCI1, Gram of {len(graphs):,}: {seconds:.1f} s (limit {limit}), ", end="")
    print(f"10-fold accuracy {np.mean(scores):.3f} ± {np.std(scores):.3f} (at least {goal})", flush=True)


def peer_rows(folder, few=200) -> None:
    """Kernels on graphs that GraKeL has as well, on a few molecules; GraphHopper compares random attributes."""
    graphs = graphs_of(folder / "graphs" / "NCI1.txt")[0][:few]
    rng = np.random.default_rng(0)
    with_rows = [Graph(g.neighbours, attributes=rng.normal(size=(g.n_nodes, 2))) for g in graphs[: few // 4]]
    work = [
        ("WeisfeilerLehman", WeisfeilerLehman(5), graphs, {"n_iter": 5}),
        ("ShortestPath", ShortestPath(), graphs, {"with_labels": True}),
        ("Propagation", Propagation(5), graphs, {"t_max": 5}),
        ("GraphHopper", GraphHopper(Gaussian(1.0)), with_rows, {"kernel_type": ("gaussian", 0.5)}),
        (None, Graphlet(4), graphs, {}),
        (None, HashedWeisfeilerLehman(3), with_rows, {}),
    ]
    for name, kernel, given, options in work:
        K, seconds = timed(lambda kernel=kernel, given=given: kernel(given))
        print(f"{kernel!r}, {len(given)} molecules: {seconds:.3f} s", end="")
        try:
            import grakel
        except ImportError:
            print("; GraKeL is not installed", flush=True)
            continue
        if name is None:
            print(flush=True)
            continue
        theirs = [_write_for_grakel(grakel, graph) for graph in given]
        other, part = timed(
            lambda name=name, options=options, theirs=theirs: getattr(grakel, name)(**options).fit_transform(theirs)
        )
        off = np.abs(K - other).max() / np.abs(K).max()
        print(f"; GraKeL {part:.2f} s: {verdict(part / seconds, 1.0)}, largest difference {off:.0e}", flush=True)


def _write_for_grakel(grakel, graph):
    edges = {(u, v): 1 for u, listed in enumerate(graph.neighbours) for v in listed}
    rows = graph.labels if graph.attributes is None else map(np.array, graph.attributes)
    return grakel.Graph(edges, node_labels=dict(enumerate(rows)))


def main() -> None:
    folder = data_folder()
    if folder is None:
        print("strings, trees and graphs: skipped, because MERCER_DATA does not name the data folder")
        return
    gapped_row(folder, "SIN3A", 8, 2, 10, 0.905)
    gapped_row(folder, "EP300", 10, 4, 60, 0.985)
    masks_row(folder)
    words_row(folder)
    dna_rows(folder)
    local_row()
    substructures_row(folder)
    subsequence_row(folder)
    spectrum_row(folder)
    tree_rows(folder)
    graph_row(folder, WeisfeilerLehman(5), 5, 0.84)
    graph_row(folder, WeisfeilerLehmanAssignment(5), 10, 0.85)
    peer_rows(folder)
