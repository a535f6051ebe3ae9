"""Pictures of kernels and models, by scikit-learn's convention: ``Display.from_estimator(...)``, ``plot``, ``ax_``.

They need matplotlib: ``pip install matplotlib``.
"""

from .decision import DecisionDisplay
from .dependence import DependenceDisplay
from .feature_map import FeatureMapDisplay
from .fit import FitDisplay
from .gram import GramDisplay
from .importance import ImportanceDisplay
from .kernel import KernelDisplay
from .loss import LossDisplay
from .metric import MetricDisplay
from .path import PathDisplay
from .perceptron import PerceptronDisplay
from .samples.outcome import OutcomeDisplay
from .samples.witness import WitnessDisplay
from .spectrum import SpectrumDisplay
from .uncertainty import CoverageDisplay, IntervalDisplay, PosteriorDisplay, SetDisplay

__all__ = [
    "CoverageDisplay",
    "DecisionDisplay",
    "DependenceDisplay",
    "FeatureMapDisplay",
    "FitDisplay",
    "GramDisplay",
    "ImportanceDisplay",
    "IntervalDisplay",
    "KernelDisplay",
    "LossDisplay",
    "MetricDisplay",
    "OutcomeDisplay",
    "PathDisplay",
    "PerceptronDisplay",
    "PosteriorDisplay",
    "SetDisplay",
    "SpectrumDisplay",
    "WitnessDisplay",
]
