"""Bounds of rank-biased precision: what the unjudged documents can make of it."""

import xarray as xr

from bayeseval.residual.sums import residual_sums


def rbp_bounds(
    collection: xr.DataTree,
    persistence: float = 0.8,
    *,
    relevance_level: int = 1,
    cutoff: int | None = None,
    tail: str = "unjudged",
    missing_topics: str = "zero",
    over: str | None = None,
) -> xr.Dataset:
    r"""Base, residual and bounds of rank-biased precision.

    .. math:: base = (1-p) \sum_{i \in J} rel_i p^{i-1}, \quad
              residual = (1-p) \sum_{i \in U} p^{i-1} + p^d

    with J the judged and U the unjudged ranks of a run of length d. Rank-biased precision under
    complete judgments of an endless run lies between base and base + residual, both attained: the
    bounds are certain, not an interval with a coverage. Nothing is random and nothing is assumed
    of the unjudged documents; what breaks them is a wrong judgment. Base and the judged
    non-relevant weight and the residual add up to 1. Cost: one pass over the rankings.

    Parameters
    ----------
    collection : DataTree
        Rankings and judgments, with replicates or not.
    persistence : float
        p, in (0, 1).
    relevance_level : int
        Lowest relevant grade.
    cutoff : int, optional
        Deepest rank with a weight, as in RBP@10; ranks below it add nothing to the residual.
    tail : {"unjudged", "nonrelevant"}
        Ranks past the end of a run: unjudged, as Moffat and Zobel have it, or non-relevant, so that
        the residual is that of the documents retrieved.
    missing_topics : {"zero", "skip"}
        A topic that a run lacks is a run of length 0 (base 0, and residual 1 unless the tail is
        non-relevant), or NaN.
    over : None or "topic"
        Per topic, or the mean over the topics that have a score.

    Returns
    -------
    Dataset
        ``base``, ``residual`` and ``interval`` (ci_bound) over run, topic and replicate, if any;
        with ``over="topic"`` means, and ``n_topics``. A topic without any judgment is NaN.

    Raises
    ------
    ValueError
        Persistence outside (0, 1), a cutoff below 1, an unknown option, no runs or no judgments.

    References
    ----------
    Moffat and Zobel, Rank-biased precision for measurement of retrieval effectiveness, ACM TOIS 27
    (2008), doi:10.1145/1416950.1416952.

    Examples
    --------
    >>> import pandas as pd, bayeseval as be
    >>> run = pd.DataFrame({"run": "a", "topic": "1", "document": list("abc"), "score": [3, 2, 1]})
    >>> qrels = pd.DataFrame({"topic": "1", "document": ["a", "c"], "grade": [1, 1]})
    >>> bounds = be.residual.rbp_bounds(be.read_collection(qrels, run), 0.5)
    >>> bounds.base.item(), bounds.residual.item(), bounds.interval.values.ravel().tolist()
    (0.625, 0.375, [0.625, 1.0])
    """
    options = {"tail": tail, "missing_topics": missing_topics}
    sums = residual_sums(collection, persistence, relevance_level, cutoff, over, **options)
    bounds = xr.Dataset({"base": sums["base"], "residual": sums["weight"]})
    if missing_topics == "skip":
        bounds = bounds.where(sums["retrieved"])
    if over == "topic":
        n_topics = bounds["base"].notnull().sum("topic")
        bounds = bounds.mean("topic", skipna=True).assign(n_topics=n_topics)
    attrs = {"estimator": "rbp_bounds", **sums.attrs}
    return bounds.assign(interval=_interval(bounds)).assign_attrs(attrs)


def _interval(bounds: xr.Dataset) -> xr.DataArray:
    """Bounds that rank-biased precision cannot leave."""
    both = xr.concat([bounds["base"], bounds["base"] + bounds["residual"]], dim="ci_bound")
    both = both.assign_coords(ci_bound=["lower", "upper"]).transpose(..., "ci_bound")
    return both.assign_attrs(ci_prob=1.0, ci_kind="bounds")
