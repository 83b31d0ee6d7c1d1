"""Scores of one topic by an estimator that scores whole ranked lists."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class ListScore:
    """Scores of all runs on one topic.

    Parameters
    ----------
    estimate : float array (run, replicate)
        NaN where the method gives no estimate.
    variance : float array (run, replicate) or None
        None where the method gives none.
    degrees_of_freedom : float array (run, replicate), or float
        Of the variance; infinite where it is taken for known.
    """

    estimate: NDArray[np.float64]
    variance: NDArray[np.float64] | None = None
    degrees_of_freedom: NDArray[np.float64] | float = np.inf


ListEstimator = Callable[..., ListScore]  # (measure: Measure, topic: TopicLists, **options)
ListMeasures = dict[str, ListEstimator]  # name of a measure -> its estimator
