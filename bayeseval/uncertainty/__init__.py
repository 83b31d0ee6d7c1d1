"""Design variance and covariance, ratio corrections, intervals."""

from bayeseval.uncertainty.interval import interval
from bayeseval.uncertainty.slots import Slots, topic_slots

__all__ = ["Slots", "interval", "topic_slots"]
