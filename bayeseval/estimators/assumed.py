"""Unjudged means non-relevant: the convention of pooling."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeseval.estimators.relevance import check_no_predictor
from bayeseval.frame.frame import Frame
from bayeseval.frame.sample import Sample
from bayeseval.measures.measure import Measure, relevance


@dataclass(frozen=True, eq=False)
class JudgedRelevance:
    """Relevance of the judged pairs, 0 for those not judged: complete columns, nothing random."""

    sample: Sample  # the judged pairs as a frame
    grade: NDArray[np.floating]  # (replicate, frame_pair): grades, NaN where not judged

    def values(self, topic: int, measure: Measure) -> NDArray[np.float64]:
        """Relevance of the topic's frame pairs as a measure sees it, (pair, replicate)."""
        grade = self.grade[:, self.sample.of_topic(topic)]
        return np.ascontiguousarray(np.nan_to_num(relevance(measure, grade)).T)


def assumed(frame: Frame, predictor, random_seed: int) -> JudgedRelevance:
    r"""Relevance of the judged pairs, 0 for all others.

    .. math:: assumed = \sum_i weight_i \, rel(d_i) \, 1[d_i \in J]

    Estimand: the score under complete judgments. Nothing is random to it, so it has no design
    variance. It equals the estimand where every relevant document that counts was judged, and is
    biased downwards otherwise, most for runs whose documents were not pooled.
    """
    check_no_predictor("assumed", predictor)
    return JudgedRelevance(frame.sample, frame.grade)
