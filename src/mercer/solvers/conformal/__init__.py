"""Intervals that hold whatever the distribution: order statistics of errors at points that a model has not seen.

Everything here is arithmetic on arrays of predictions and errors.  The promises are marginal, over the draw of training
and new points together, and need nothing but exchangeable points.
"""
