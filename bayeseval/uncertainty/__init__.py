"""Design variance and covariance, ratio corrections, intervals."""

from bayeseval.uncertainty.interval import (
    PREDICTED_FREEDOM,
    anticipated_part,
    degrees_of_freedom,
    interval,
    with_anticipated,
)

__all__ = [
    "PREDICTED_FREEDOM",
    "anticipated_part",
    "degrees_of_freedom",
    "interval",
    "with_anticipated",
]
