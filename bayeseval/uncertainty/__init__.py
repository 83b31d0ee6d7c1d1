"""Design variance and covariance, ratio corrections, intervals."""

from bayeseval.uncertainty.interval import degrees_of_freedom, interval, raised_variance

__all__ = ["degrees_of_freedom", "interval", "raised_variance"]
