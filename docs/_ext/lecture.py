"""The gallery in the order of the lecture, as the guide has it."""

ORDER = (
    "feature_space", "kernel_zoo", "what_a_kernel_sees", "primal_dual", "ridge_path", "ridge_intervals", "fit_and_path",
    "svm_boundary", "svm_gap", "svm_grid", "svm_novelty", "probabilities_against_margins", "robust_fit",
    "quantile_bands", "own_loss", "import_vectors", "perceptron_steps", "neighbors_in_feature_space", "six_classifiers",
    "dna", "questions", "molecules", "time_series", "pen_strokes", "million_rows",
)  # fmt: skip


class LectureOrder:
    """A key for sphinx-gallery: the place in the lecture, and after all of these the name."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, filename):
        name = filename.removeprefix("plot_").removesuffix(".py")
        return (ORDER.index(name) if name in ORDER else len(ORDER), name)
