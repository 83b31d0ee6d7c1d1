"""Poisson design: every pair is selected on its own, with a probability proportional to size."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from bayeseval.collection.schema import no_strata
from bayeseval.designs.prepared import Budget, labelled_design, prepared_frame


def poisson(
    collection: xr.DataTree,
    *,
    budget: Budget,
    frame: str | xr.DataArray | None = None,
    pool_depth: int | None = None,
    certain: xr.DataArray | None = None,
    runs: list[str] | None = None,
    labels: str | Sequence[str] = (),
) -> xr.Dataset:
    r"""Design with independent selections and probabilities proportional to 1 / fused rank.

    .. math:: \pi(d) = \min(1, c / rank(d)), \qquad \sum_d \pi(d) = budget,

    where rank(d) is the rank of d among the topic's frame by reciprocal-rank fusion. The number of
    judgments is random, with mean `budget`; joint probabilities are products.

    Parameters
    ----------
    collection, frame, pool_depth, certain, runs, labels
        As for :func:`bayeseval.designs.pps_strata`.
    budget : int, or dict, Series or DataArray by topic
        Expected judgments per topic, certain pairs included.

    Returns
    -------
    Dataset
        ``inclusion_probability`` and ``stratum`` (-1 everywhere) over pair, no strata.

    Raises
    ------
    ValueError
        Empty frame, no contributing run, as many certain pairs as the budget or more while others
        could be judged.

    References
    ----------
    C.-E. Särndal, B. Swensson and J. Wretman, Model Assisted Survey Sampling, 1992, section 3.5.

    Examples
    --------
    >>> import pandas as pd, bayeseval as be
    >>> run = pd.DataFrame({"run": "a", "topic": "1", "document": list("abcd")})
    >>> collection = be.read_collection(None, run.assign(score=[4, 3, 2, 1]))
    >>> be.designs.poisson(collection, budget=2).inclusion_probability.values.round(3)
    array([0.96, 0.48, 0.32, 0.24])
    """
    start = prepared_frame(collection, budget, frame, pool_depth, certain, runs, labels)
    probability = np.zeros(collection.sizes["pair"])
    for budget, sure, rest in zip(start["budgets"], start["certain"], start["rest"], strict=True):
        probability[sure] = 1.0
        size = 1.0 / np.arange(1, rest.size + 1)
        probability[rest] = capped_proportional(size, budget - sure.size)
    variables = {"inclusion_probability": ("pair", probability), **no_strata(probability.size)}
    return labelled_design(collection, variables, "poisson", "poisson", start["parameters"])


def capped_proportional(size: np.ndarray, total: float) -> np.ndarray:
    """Probabilities min(1, c * size) with sum ``total`` (all 1 where there are not more sizes)."""
    if size.size <= total:
        return np.ones(size.size)
    capped = np.zeros(size.size, dtype=bool)
    while True:
        scale = (total - capped.sum()) / size[~capped].sum()
        over = ~capped & (scale * size >= 1.0)
        if not over.any():
            return np.where(capped, 1.0, scale * size)
        capped |= over
