"""Unjudged means non-relevant: the convention of pooling."""

import xarray as xr

from bayeseval.estimators.relevance import EstimatedRelevance
from bayeseval.frame.gather import judged_sample
from bayeseval.frame.grades import grade_scale


def assumed(collection: xr.DataTree, predictor, random_seed: int) -> EstimatedRelevance:
    r"""Relevance of the judged pairs, 0 for all others.

    .. math:: assumed = \sum_i weight_i \, rel(d_i) \, 1[d_i \in J]

    Estimand: the score under complete judgments. Nothing is random to it, so it has no design
    variance. It equals the estimand where every relevant document that counts was judged, and is
    biased downwards otherwise, most for runs whose documents were not pooled.
    """
    if predictor is not None:
        raise ValueError(
            "estimator 'assumed' uses no predictor; use estimator='dyn' with a predictor"
        )
    sample, grade = judged_sample(collection)
    return EstimatedRelevance(
        sample,
        grade,
        grade_scale(collection),
        lambda *_: None,
        random=False,
        random_seed=random_seed,
    )
