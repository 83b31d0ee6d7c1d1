"""statAP and its companions from inclusion probabilities (Aslam and Pavlu 2007)."""

from bayeseval.estimators.stat_ap.scores import (
    STAT_AP,
    stat_average_precision,
    stat_number_relevant,
    stat_precision,
    stat_r_precision,
)

__all__ = [
    "STAT_AP",
    "stat_average_precision",
    "stat_number_relevant",
    "stat_precision",
    "stat_r_precision",
]
