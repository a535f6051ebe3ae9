"""What is said to whoever calls: warnings at the line of theirs, and what a name of elsewhere is called here."""

from __future__ import annotations

import dis
import functools
import inspect
import numbers
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from .words import find_close

INSIDE = frozenset({"mercer", "sklearn", "joblib", "functools", "contextlib"})  # whose lines no caller can change
FEW = 4  # names that are read before a question
LIKE = 0.7  # how alike a name must be to one of a short list
FEWEST = 3  # letters that may stand for the whole of a name
Answer = TypeVar("Answer")
LONGEST = 60  # characters of a name that are compared

GAMMA = "exp(−γ‖x − z‖²) is Gaussian.from_gamma(γ), whose length_scale is σ = 1/√(2γ)"
PENALTY = "Σ loss + α‖f‖² is ½‖f‖² + C Σ loss for α = 1/(2C)"
MEAN = "the mean loss of n points + λ‖f‖² is Σ loss + α‖f‖² for α = λn"


def _by_name(*rows: tuple[str, Answer]) -> dict[str, Answer]:
    return {name: answer for names, answer in rows for name in names.split()}


# Names of other libraries, in small letters, without underscores and "kernel" at the end, and what to write here.
KERNELS = _by_name(
    ("rbf se eq squaredexponential sqexp expquad expsquared exponentiatedquadratic", f"Gaussian? {GAMMA}"),
    ("fromgamma", f"Gaussian.from_gamma? {GAMMA}"),
    ("poly quadratic cubic", "Polynomial? (γ xᵀz + c)^q is (γ * Linear() + c) ** q"),
    ("matern12 exponential absexponential ou ornsteinuhlenbeck", "Matern(nu=0.5)?"),
    ("matern32", "Matern(nu=1.5)?"),
    ("matern52", "Matern(nu=2.5)?"),
    ("rq ratquad", "RationalQuadratic?"),
    ("expsinesquared expsine2", "Periodic?"),
    ("dotproduct", "Linear? DotProduct(s) is Linear() + s**2"),
    ("bias", "Constant? A number does as well, as in Linear() + 1.0"),
    ("whitenoise", "White, or alpha, the penalty of a model such as KernelRidge? It is the variance of the noise"),
    ("scale scaled", "a multiple such as 2.0 * Gaussian()?"),
    ("additive sum", "a sum such as Gaussian() + Linear()?"),
    ("product", "a product such as Gaussian() * Linear()?"),
    ("exponentiation power", "a power such as Linear() ** 2?"),
    ("cosinesimilarity", "Linear().normalize()?"),
    ("gammaexponential powered poweredexponential", "PowerExponential? exp(−(‖x − z‖/σ)^γ) is PowerExponential(2, γ)"),
    ("jaccard", "Tanimoto?"),
    ("ruzicka weightedjaccard", "MinMax?"),
    ("dice sorensen ochiai russellrao rogerstanimoto sokalsneath kulczynski forbes", "BitSimilarity, by its name?"),
    ("brownian brownianmotion", "Wiener?"),
    ("fbm", "FractionalBrownian?"),
    ("arccos relu nngp", "ArcCosine?"),
    ("sm", "SpectralMixture?"),
    ("piecewisepolynomial compact", "Wendland?"),
    ("bhattacharyya", "Hellinger?"),
    ("ardlinear scaledlinear", "WeightedLinear?"),
    (
        "index multitask coregionalization coregionalisation icm lmc",
        "Coregionalization? Coregionalization(B).on([-1]) * k.on(slice(0, -1))",
    ),
    ("tanh mlp", "Sigmoid?"),
    ("histogramintersection", "Intersection?"),
    ("hamming categorical delta", "Overlap?"),
    ("string text ssk", "Spectrum, Subsequence or Mismatch? They compare strings"),
    ("levenshtein", "Edit?"),
    ("gak ga", "GlobalAlignment?"),
    ("dynamictimewarping", "DTW? It is no kernel; GlobalAlignment and Signature are"),
    ("sig signaturekernel sigkernel", "Signature?"),
    ("tree", "SubsetTree, Subtree or PartialTree? They compare trees"),
    ("wl weisfeilerlehmansubtree", "WeisfeilerLehman?"),
    ("graphletsampling", "Graphlet?"),
    ("heat", "Diffusion, of the nodes of a graph?"),
)
MODELS = _by_name(
    ("krr ridge ridgeregression kernelregression", "KernelRidge?"),
    ("svm ksvm kernelsvm supportvectormachine", "SVC, for classes, or SVR, for numbers?"),
    ("linearsvc", "SVC(kernel='linear')?"),
    ("linearsvr", "SVR(kernel='linear')?"),
    ("lssvm", "KernelRidgeClassifier?"),
    ("logisticregression klr", "KernelLogisticRegression?"),
    (
        "gaussianprocessregressor gaussianprocess gpr gp",
        "KernelRidge? It predicts the mean of the process, with noise of variance alpha",
    ),
    ("gaussianprocessclassifier gpc", "KernelLogisticRegression?"),
    ("kerneldensity kde gaussiankde", "ParzenDensity?"),
    ("nadarayawatson", "ParzenRegressor?"),
    ("kpca pca", "KernelPCA?"),
    ("knn kneighborsclassifier", "KernelNeighborsClassifier?"),
    ("kneighborsregressor", "KernelNeighborsRegressor?"),
    ("perceptron", "KernelPerceptron?"),
    ("quantileregressor", "KernelQuantileRegressor?"),
    ("ivm", "ImportVectorMachine?"),
    ("mkl simplemkl easymkl", "MultipleKernelRidge or MultipleKernelClassifier?"),
    ("rfm recursivefeaturemachine", "RecursiveFeatureRegressor or RecursiveFeatureClassifier?"),
    ("automl automlregressor automlclassifier", "AutoRegressor or AutoClassifier?"),
    ("nystroem nystrom", "mercer.features.Nystroem?"),
    ("rbfsampler rff randomfourierfeatures", "mercer.features.RandomFourier?"),
    ("dump", "save?"),
)
# What a parameter of elsewhere is here, for a class of this name or for one that has this parameter.
PARAMETERS = _by_name(
    (
        "gamma",
        {
            "Gaussian": f"length_scale? {GAMMA}",
            "Laplacian": "length_scale? exp(−γ‖x − z‖₁) is Laplacian.from_gamma(γ), whose length_scale is σ = 1/γ",
            "Polynomial": "a multiple? (γ xᵀz + c)^q is (γ * Linear() + c) ** q",
            "scale": "scale?",
            "length_scale": "length_scale?",
            "kernel": f"kernel=Gaussian.from_gamma(γ)? {GAMMA}",
        },
    ),
    (
        "sigma lengthscale bandwidth scale width ls ell l h",
        {
            "Gaussian": "length_scale? It is the σ of exp(−‖x − z‖²/2σ²), in the unit of the data",
            "length_scale": "length_scale?",
            "kernel": "kernel=Gaussian(length_scale=σ)?",
        },
    ),
    ("coef0 c bias", {"offset": "offset?", "kernel": "kernel=Polynomial(degree, offset)?"}),
    ("degree", {"kernel": "kernel=Polynomial(degree)?"}),
    ("smoothness order", {"nu": "nu?"}),
    ("nu", {"C": "NuSVC or NuSVR, which have nu?", "kernel": "kernel=Matern(nu), or NuSVC, NuSVR and OneClassSVM?"}),
    ("C", {"alpha": f"alpha? {PENALTY}", "alphas": f"alphas? {PENALTY}", "Cs": "Cs, those to choose from?"}),
    (
        "alpha lam lambda_ lambd reg reg_param regularization ridge l2 noise",
        {
            "alpha": f"alpha? {MEAN}",
            "alphas": "alphas, the penalties to choose from?",
            "C": f"C? {PENALTY}",
            "Cs": f"Cs? {PENALTY}",
        },
    ),
    ("epsilon", {"kernel": "SVR, which has epsilon, or KernelRegressor(loss='EpsilonInsensitive(…)')?"}),
    ("k n_neighbours neighbors", {"n_neighbors": "n_neighbors?"}),
    ("landmarks n_landmarks n_inducing", {"n_centers": "n_centers?"}),
    ("delta threshold", {"width": "width?"}),
    ("tau quantile quantiles", {"level": "level?", "levels": "levels?"}),
    ("timeout time_limit seconds", {"budget": "budget, such as '5m'?", "max_time": "max_time?"}),
)


def name_kernels(value: object) -> str:
    """Return which kernels compare things such as this one, as a sentence without its end.

    Examples
    --------
    >>> name_kernels("abc")
    'Strings are compared by Spectrum(), Subsequence() or Edit(), categories by Overlap()'
    >>> name_kernels("(S (NP x) (VP y))")
    'Trees are compared by SubsetTree(), Subtree() or PartialTree()'
    """
    if value is None:
        return "A missing value is compared by no kernel; drop its row, or put something in its place"
    if isinstance(value, str | bytes):
        if value[:1] in ("(", b"("):
            return "Trees are compared by SubsetTree(), Subtree() or PartialTree()"
        try:
            float(value)
        except ValueError:
            return "Strings are compared by Spectrum(), Subsequence() or Edit(), categories by Overlap()"
        return "Numbers in the form of text become numbers by X.astype(float)"
    if hasattr(value, "neighbours") or hasattr(value, "adjacency"):
        return "Graphs are compared by WeisfeilerLehman(), ShortestPath() or RandomWalk(), nodes by Diffusion(graph)"
    if isinstance(value, numbers.Real) or hasattr(value, "dtype"):
        return "Rows of numbers are compared by Gaussian(), Matern() or Linear(), series of them by GlobalAlignment()"
    if isinstance(value, list | tuple):
        return (
            "Lists of tokens are compared by Spectrum(), trees by SubsetTree(), series of numbers by "
            "GlobalAlignment(), sets of points by MeanEmbedding(Gaussian())"
        )
    return "Objects of any kind are compared by Custom(function)"


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line that asked for what is warned of: the last one that is neither ours nor scikit-learn's.

    Every warning goes through here, so that none has a level of its own that could be wrong.
    """
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in INSIDE:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def did_you_mean(name: str, known: Iterable[str], others: Mapping[str, str] | None = None) -> str:
    """Return the question that helps with an unknown name, or nothing.

    Parameters
    ----------
    name : str
        What was written.
    known : iterable of str
        What could have been.
    others : mapping, optional
        What names of other libraries are here: :data:`KERNELS` or :data:`MODELS`.

    Examples
    --------
    >>> did_you_mean("Gausian", ["Gaussian", "Laplacian"]), did_you_mean("zebra", ["Gaussian"])
    (': did you mean Gaussian?', '')
    >>> did_you_mean("Matern52Kernel", ["Matern"], KERNELS)
    ': did you mean Matern(nu=2.5)?'
    """
    plain = name[:LONGEST].replace("_", "").casefold().removesuffix("kernel")
    if others and plain in others:
        return f": did you mean {others[plain]}"
    known = list(known)
    close = find_close(plain, known, LIKE) or find_close(name[:LONGEST], known, LIKE) or _find_longer(plain, known)
    return f": did you mean {close}?" if close else ""


def _find_longer(plain: str, known: Iterable[str]) -> str | None:
    """Return the one known name that begins with another of a few letters, such as lin; None if there are several."""
    found = [other for other in known if len(plain) >= FEWEST and other.casefold().startswith(plain)]
    return found[0] if len(found) == 1 else None


def refuse_parameter(owner: str, name: str, known: Iterable[str]) -> str:
    """Return what to say of a parameter that a class does not have.

    Examples
    --------
    >>> refuse_parameter("Matern", "smoothness", ["nu", "length_scale"])
    "Matern has no parameter 'smoothness'; it has ['length_scale', 'nu']: did you mean nu?"
    """
    names = sorted(known)
    same = [f"{other}?" for other in names if other.casefold() == name.casefold()]  # nearer than anything of elsewhere
    answers = (answer for key, answer in PARAMETERS.get(name, {}).items() if key == owner or key in names)
    found = next(iter(same), next(answers, ""))
    hint = f": did you mean {found}" if found else did_you_mean(name, names)
    if hint and len(names) > FEW:
        return f"{owner} has no parameter {name!r}{hint}; it has {', '.join(names)}"
    return f"{owner} has no parameter {name!r}; it has {names or 'none'}{hint}"


def refuse_unknown(owner: str, init: Callable[..., None], given: Iterable[str]) -> None:
    """Raise if a keyword is none that a constructor takes."""
    known = _list_parameters(init)
    for name in given:
        if known is not None and name not in known:
            raise TypeError(refuse_parameter(owner, name, known)) from None


@functools.lru_cache(maxsize=256)
def _list_parameters(init: Callable[..., None]) -> tuple[str, ...] | None:
    """Return the parameters of a constructor, None if it takes any."""
    _, *parameters = inspect.signature(init).parameters.values()
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    return None if takes_any else tuple(parameter.name for parameter in parameters)


def missing_name(module: str, name: str, hint: str) -> Exception:
    """Return the error for a name that a module does not have; for the module's own ``__getattr__`` to raise.

    Python drops the message of an AttributeError when the name is imported from the module, so that one gets an
    ImportError.
    """
    frame: Any = sys._getframe(1)
    while frame.f_code.co_name != "__getattr__":
        frame = frame.f_back
    asks = frame.f_back
    if dis.opname[asks.f_code.co_code[asks.f_lasti]] == "IMPORT_FROM":
        return ImportError(f"cannot import name {name!r} from {module!r}{hint}", name=module)
    # With a name but no object Python adds no question of its own.
    return AttributeError(f"module {module!r} has no attribute {name!r}{hint}", name=name)


def refuse_name(namespace: Mapping[str, Any], name: str, others: Mapping[str, str]) -> Exception:
    """Return the error for a name that is none of a module's public ones, from what its ``globals()`` say of it."""
    module = namespace["__name__"]
    if name.startswith("_"):  # asked by tools
        return AttributeError(f"module {module!r} has no attribute {name!r}")
    hint = did_you_mean(name, namespace["__all__"], others)
    return missing_name(module, name, hint or f"; dir({module}) lists what there is")


def list_public(namespace: Mapping[str, Any]) -> list[str]:
    """Return the names of a module that are for its users; for the module's own ``__dir__`` to return."""
    return sorted({*namespace["__all__"], *(name for name in namespace if name.startswith("__"))})
