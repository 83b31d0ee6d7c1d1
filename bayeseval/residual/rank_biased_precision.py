"""Rank-biased precision with unjudged documents: bounds, moments and distribution function."""

from numbers import Real

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection.choices import check_whole_numbers
from bayeseval.progress import track
from bayeseval.residual.distribution import UnjudgedSum
from bayeseval.residual.weights import UnjudgedWeights, residual_sums
from bayeseval.uncertainty import interval


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
    of the unjudged documents; what breaks them is a wrong judgment. Cost: one pass over the
    rankings.

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
    ends = xr.concat([bounds["base"], bounds["base"] + bounds["residual"]], dim="ci_bound")
    ends = ends.assign_coords(ci_bound=["lower", "upper"]).transpose(..., "ci_bound")
    ends = ends.assign_attrs(ci_prob=1.0, ci_kind="bounds")
    return bounds.assign(interval=ends).assign_attrs(attrs)


def rbp_uncertainty(
    collection: xr.DataTree,
    persistence: float,
    relevance_probability: float | xr.DataArray,
    *,
    ci_prob: float = 0.9,
    distribution: str = "normal",
    tail: str = "nonrelevant",
    relevance_level: int = 1,
    cutoff: int | None = None,
    missing_topics: str = "zero",
    over: str | None = None,
) -> xr.Dataset:
    r"""Mean, variance and interval of rank-biased precision over its unjudged documents.

    Each unjudged document of a run, at the ranks U, is relevant with probability q, independently
    (equation 3). What they add to the score has (section 2.1)

    .. math:: E[v] = (1-p)\, q \sum_{i \in U} p^{i-1}, \quad
              Var(v) = (1-p)^2\, q (1-q) \sum_{i \in U} p^{2(i-1)}

    and the mean over the topics Q, with every topic's own U and q (equations 7 and 8),

    .. math:: E[\Upsilon] = \frac{1}{|Q|} \sum_{k \in Q} E[v_k], \quad
              Var(\Upsilon) = \frac{1}{|Q|^2} \sum_{k \in Q} Var(v_k)

    Equation 8 as printed has one U for all topics; where all topics have the same the two agree.

    Estimand: the score under complete judgments. Random: the relevance of the unjudged documents,
    given q; the runs and the judgments are fixed. The interval has its coverage where q is right
    and the documents are independent. What breaks it: a wrong q, such as one value for all ranks;
    unjudged documents that are dependent within a topic (the variance is then too small).

    Parameters
    ----------
    collection : DataTree
        Rankings and judgments, with replicates or not.
    persistence : float
        p, in (0, 1).
    relevance_probability : float or DataArray (run, topic), (topic,) or (run,)
        q, in [0, 1].
    ci_prob : float
        Probability within the interval.
    distribution : {"normal", "exact"}
        Interval from the normal distribution (for many topics, by the central limit theorem), or
        from the quantiles of the weighted sum of the unjudged relevances, whose distribution
        function is computed to 1e-4 for means and to 3e-3 per topic.
    tail : {"nonrelevant", "unjudged"}
        Ranks past the end of a run: not part of U, or unjudged like the others.
    relevance_level, cutoff, missing_topics, over
        As for :func:`rbp_bounds`.

    Returns
    -------
    Dataset
        ``base`` (the judged part), ``unjudged_mean``, ``unjudged_variance``, ``estimate`` (base +
        mean), ``standard_error`` and ``interval`` (ci_bound) over run, topic and replicate, if any.
        The normal interval is not cut at the bounds of the score.

    Raises
    ------
    ValueError
        A probability or persistence outside its range, labels that are not those of the
        collection, an unknown option, no runs or no judgments.

    References
    ----------
    Park, Uncertainty in Rank-Biased Precision, ADCS 2016, doi:10.1145/3015022.3015029.

    Examples
    --------
    >>> import pandas as pd, bayeseval as be
    >>> run = pd.DataFrame({"run": "a", "topic": "1", "document": list("abc"), "score": [3, 2, 1]})
    >>> qrels = pd.DataFrame({"topic": "1", "document": ["a"], "grade": [1]})
    >>> collection = be.read_collection(qrels, run)
    >>> known = be.residual.rbp_uncertainty(collection, 0.5, 0.2)
    >>> known.estimate.item(), known.standard_error.item()  # .5 + .2 * (.25 + .125)
    (0.575, 0.1118)
    >>> exact = be.residual.rbp_uncertainty(collection, 0.5, 0.2, distribution="exact")
    >>> exact.interval.values.ravel()
    array([0.5  , 0.75])
    """
    options = {"tail": tail, "missing_topics": missing_topics, "distribution": distribution}
    sums = residual_sums(collection, persistence, relevance_level, cutoff, over, **options)
    probability = _probabilities(relevance_probability, sums)
    known = _moments(sums, probability, missing_topics, over)
    bounds = interval(known["estimate"], known["standard_error"], ci_prob=ci_prob)
    if distribution == "exact":
        scored = _scored_topics(sums, missing_topics)
        weights = UnjudgedWeights(collection, persistence, cutoff, tail, probability, scored)
        prob = np.array([0.5 - 0.5 * ci_prob, 0.5 + 0.5 * ci_prob])
        quantile = weights.quantiles(prob, known["base"])
        bounds = (known["base"] + quantile).assign_attrs(bounds.attrs)
    attrs = {"estimator": "rbp_uncertainty", "population": "sample", "ci_prob": ci_prob}
    return known.assign(interval=bounds).assign_attrs(attrs | sums.attrs)


def rbp_uncertainty_cdf(
    collection: xr.DataTree,
    persistence: float,
    relevance_probability: float | xr.DataArray,
    *,
    n_points: int = 201,
    tail: str = "nonrelevant",
    relevance_level: int = 1,
    cutoff: int | None = None,
    missing_topics: str = "zero",
    tolerance: float = 1e-6,
) -> xr.Dataset:
    r"""Distribution function of the uncertainty of a mean RBP, for these topics.

    .. math:: F(x) = P\Bigl(\frac{1}{|Q|} \sum_{k \in Q} (1-p) \sum_{i \in U_k} r_{k,i} p^{i-1}
              \le x\Bigr)

    with the normal distribution of equation 8, of the same mean and variance. F is the law of a
    weighted sum of independent binary variables: all outcomes are listed where there are at most
    1 / `tolerance` of them; else the characteristic function is inverted, with a proved bound of
    the error. Assumptions as for :func:`rbp_uncertainty`.

    Parameters
    ----------
    collection : DataTree
        Rankings and judgments without replicates.
    persistence : float
        p, in (0, 1).
    relevance_probability : float or DataArray (run, topic), (topic,) or (run,)
        q, in [0, 1].
    n_points : int
        Values per run, evenly from 5 standard deviations below the mean to 5 above, as far as the
        sum reaches.
    tail, relevance_level, cutoff, missing_topics
        As for :func:`rbp_uncertainty`.
    tolerance : float
        Target of the bound away from jumps.

    Returns
    -------
    Dataset
        ``value``, ``cdf``, ``cdf_bound`` (largest error of ``cdf``) and ``normal_cdf`` over run and
        point; ``base`` over run.

    Raises
    ------
    ValueError
        As :func:`rbp_uncertainty`; judgments with replicates; fewer than 2 points.

    References
    ----------
    Park, Uncertainty in Rank-Biased Precision, ADCS 2016, section 2.2, figures 1 and 2,
    doi:10.1145/3015022.3015029.

    Examples
    --------
    >>> import pandas as pd, bayeseval as be
    >>> run = pd.DataFrame({"run": "a", "topic": "1", "document": list("abc"), "score": [3, 2, 1]})
    >>> qrels = pd.DataFrame({"topic": "1", "document": ["a"], "grade": [1]})
    >>> law = be.residual.rbp_uncertainty_cdf(be.read_collection(qrels, run), 0.5, 0.2, n_points=4)
    >>> law.value.values.ravel(), law.cdf.values.ravel()
    (array([0.   , 0.125, 0.25 , 0.375]), array([0.64, 0.8 , 0.96, 1.  ]))
    """
    options = {"tail": tail, "missing_topics": missing_topics}
    check_whole_numbers(2, n_points=n_points)
    sums = residual_sums(collection, persistence, relevance_level, cutoff, **options)
    if "replicate" in sums.dims:
        raise ValueError(
            "the judgments have the dim 'replicate'; the distribution is that of one set of "
            "judgments."
        )
    probability = _probabilities(relevance_probability, sums)
    scored = _scored_topics(sums, missing_topics)
    weights = UnjudgedWeights(collection, persistence, cutoff, tail, probability, scored)
    runs = range(sums.sizes["run"])
    rows = [
        _row(weights.sum_of(run, tolerance), n_points)
        for run in track(runs, "distributions of the unjudged part")
    ]
    names = ("value", "cdf", "cdf_bound", "normal_cdf")
    laws = {
        name: (("run", "point"), np.array(v)) for name, v in zip(names, zip(*rows), strict=True)
    }
    base = _moments(sums, probability, missing_topics, "topic")["base"]
    return xr.Dataset(laws, coords={"run": sums["run"]}, attrs=sums.attrs).assign(base=base)


def _moments(
    sums: xr.Dataset, probability: xr.DataArray, missing_topics: str, over: str | None
) -> xr.Dataset:
    """Moments of the score per topic, or of its mean over topics."""
    known = xr.Dataset(
        {
            "base": sums["base"],
            "unjudged_mean": probability * sums["weight"],
            "unjudged_variance": probability * (1.0 - probability) * sums["squares"],
        }
    )
    known = known.where(_scored_topics(sums, missing_topics))
    if over == "topic":
        n_topics = known["base"].notnull().sum("topic")
        known = known.mean("topic", skipna=True)
        known["unjudged_variance"] = known["unjudged_variance"] / n_topics
        known = known.assign(n_topics=n_topics)
    return known.assign(
        estimate=known["base"] + known["unjudged_mean"],
        standard_error=known["unjudged_variance"] ** 0.5,
    )


def _scored_topics(sums: xr.Dataset, missing_topics: str) -> xr.DataArray:
    """Topics (run, topic) that have a score."""
    scored = sums["base"].notnull()
    scored = scored.any("replicate") if "replicate" in scored.dims else scored
    return scored & sums["retrieved"] if missing_topics == "skip" else scored


def _probabilities(given: float | xr.DataArray, sums: xr.Dataset) -> xr.DataArray:
    """Probability of relevance (run, topic), with labels checked."""
    if not isinstance(given, xr.DataArray):
        if not isinstance(given, Real):
            raise ValueError(
                "relevance_probability must be a number in [0, 1] or a DataArray over run and "
                f"topic, not {given!r}."
            )
        given = xr.DataArray(float(given))
    shape = sums["retrieved"]
    stray = set(given.dims) - set(shape.dims)
    if stray:
        raise ValueError(
            f"relevance_probability has the dim '{sorted(map(str, stray))[0]}'; it may have run "
            "and topic."
        )
    for dim in given.dims:
        labels = shape[dim].to_numpy()
        missing = set(labels.tolist()) - set(given[dim].to_numpy().tolist())
        if missing:
            raise ValueError(
                f"relevance_probability has no value for {dim} '{sorted(missing)[0]}'; it needs "
                f"one for each of the {labels.size} in the collection."
            )
        given = given.sel({dim: labels})
    wrong = ~((given >= 0) & (given <= 1))
    if wrong.any():
        first = given.to_numpy()[wrong.to_numpy()].flat[0]
        raise ValueError(f"relevance_probability must lie in [0, 1], not {first}.")
    full, _ = xr.broadcast(given, shape)
    return full.transpose("run", "topic")


def _row(unjudged: UnjudgedSum, n_points: int) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """Values, distribution function, its bound and the normal one, for one run."""
    from scipy.special import ndtr

    mean, deviation = unjudged.mean, unjudged.standard_deviation
    low, high = mean - 5.0 * deviation, mean + 5.0 * deviation
    value = np.linspace(max(low, 0.0), min(high, unjudged.largest), n_points)
    with np.errstate(divide="ignore", invalid="ignore"):
        normal = np.where(deviation > 0, ndtr((value - mean) / deviation), value >= mean)
    return value, unjudged.cdf(value), unjudged.bound(value), normal.astype(np.float64)
