"""Ridge as a Gaussian process: variance, draws and the marginal likelihood of a fit."""
