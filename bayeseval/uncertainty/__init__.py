"""Design variance and covariance, ratio corrections, intervals."""

from bayeseval.uncertainty.interval import degrees_of_freedom, interval, raised_variance
from bayeseval.uncertainty.slots import Slots, topic_slots

__all__ = ["Slots", "degrees_of_freedom", "interval", "raised_variance", "topic_slots"]
