"""The Horvitz-Thompson estimator, ``stat``."""

from bayeseval.estimators.denominators import RatioOptions, count_model
from bayeseval.estimators.relevance import EstimatedRelevance, check_no_predictor
from bayeseval.frame.frame import Frame


def horvitz_thompson(
    frame: Frame, predictor, random_seed: int, options: RatioOptions
) -> EstimatedRelevance:
    r"""Relevance of the judged pairs by their inclusion probability.

    .. math:: stat = \sum_i weight_i \frac{1[d_i \in J]\, rel(d_i)}{\pi(d_i)}

    Estimand: the score that complete judgments of the frame would give. Random: the sample J alone.
    Unbiased for linear measures whenever every pair of the frame has a known inclusion probability
    above 0, whatever the run. What breaks it: documents outside the frame (their weight is
    reported) and probabilities that are not those of the draw.

    References
    ----------
    Cormack and Grossman (2019), section 2, doi:10.1145/3331184.3331355; D. G. Horvitz and D. J.
    Thompson, JASA 47 (1952).
    """
    check_no_predictor("stat", predictor)
    return EstimatedRelevance(
        frame.sample,
        frame.grade,
        frame.scale,
        counts=lambda: count_model(frame, options, random_seed),
        random_seed=random_seed,
    )
