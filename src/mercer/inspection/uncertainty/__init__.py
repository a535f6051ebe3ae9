"""Pictures of how sure models are: posteriors, intervals, sets of classes, and how often they hold."""

from .coverage import CoverageDisplay
from .interval import IntervalDisplay
from .posterior import PosteriorDisplay
from .sets import SetDisplay

__all__ = ["CoverageDisplay", "IntervalDisplay", "PosteriorDisplay", "SetDisplay"]
