"""Pictures of kernels and models, by scikit-learn's convention: ``Display.from_estimator(...)``, ``plot``, ``ax_``.

They need matplotlib: ``pip install matplotlib``.
"""

from .decision import DecisionDisplay
from .feature_map import FeatureMapDisplay
from .fit import FitDisplay
from .gram import GramDisplay
from .kernel import KernelDisplay
from .loss import LossDisplay
from .metric import MetricDisplay
from .path import PathDisplay
from .perceptron import PerceptronDisplay
from .spectrum import SpectrumDisplay

__all__ = [
    "DecisionDisplay",
    "FeatureMapDisplay",
    "FitDisplay",
    "GramDisplay",
    "KernelDisplay",
    "LossDisplay",
    "MetricDisplay",
    "PathDisplay",
    "PerceptronDisplay",
    "SpectrumDisplay",
]
