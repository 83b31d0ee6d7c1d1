"""Design variance and covariance, ratio corrections, intervals."""

from bayeseval.uncertainty.anytime import SHORTEST, anytime_p, anytime_ratio
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
    "SHORTEST",
    "anticipated_part",
    "anytime_p",
    "anytime_ratio",
    "degrees_of_freedom",
    "interval",
    "normal_quantile",
    "with_anticipated",
]
