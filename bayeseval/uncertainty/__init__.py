"""Design variance and covariance, ratio corrections, intervals."""

from bayeseval.uncertainty.anytime import anytime_ratio, at_one_look
from bayeseval.uncertainty.interval import (
    PREDICTED_FREEDOM,
    anticipated_part,
    degrees_of_freedom,
    interval,
    normal_quantile,
    with_anticipated,
)

__all__ = [
    "PREDICTED_FREEDOM",
    "anticipated_part",
    "anytime_ratio",
    "at_one_look",
    "degrees_of_freedom",
    "interval",
    "normal_quantile",
    "with_anticipated",
]
