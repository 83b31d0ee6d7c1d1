"""Distribution function of what unjudged documents add to a mean of rank-biased precision."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection.choices import check_whole_numbers
from bayeseval.progress import track
from bayeseval.residual.sums import residual_sums
from bayeseval.residual.uncertainty import probabilities, scored_topics, uncertainty_moments
from bayeseval.residual.weights import UnjudgedWeights

SPREAD = 5.0  # standard deviations that the points reach to either side


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

    beside the normal distribution of equation 8 with the same mean and variance. F is the law of a
    weighted sum of independent binary variables: all outcomes are listed where there are at most
    1 / `tolerance` of them; else the characteristic function is inverted with a bound of the error
    that is proved, not estimated (see `UnjudgedSum`), and returned. Assumptions as for
    :func:`residual.rbp_uncertainty`. Cost: milliseconds per run for fifty topics; for a few topics some
    seconds at the default tolerance.

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
        As for :func:`residual.rbp_uncertainty`.
    tolerance : float
        Wanted bound away from jumps.

    Returns
    -------
    Dataset
        ``value``, ``cdf``, ``cdf_bound`` (largest error of ``cdf``) and ``normal_cdf`` over run and
        point; ``base`` over run.

    Raises
    ------
    ValueError
        As :func:`residual.rbp_uncertainty`; judgments with replicates; fewer than 2 points.

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
    probability = probabilities(relevance_probability, sums)
    scored = scored_topics(sums, missing_topics)
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
    base = uncertainty_moments(sums, probability, missing_topics, "topic")["base"]
    return xr.Dataset(laws, coords={"run": sums["run"]}, attrs=sums.attrs).assign(base=base)


def _row(unjudged, n_points: int) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """Values, distribution function, its bound and the normal one, for one run."""
    from scipy.special import ndtr

    mean, deviation = unjudged.mean, unjudged.standard_deviation
    low, high = mean - SPREAD * deviation, mean + SPREAD * deviation
    value = np.linspace(max(low, 0.0), min(high, unjudged.largest), n_points)
    with np.errstate(divide="ignore", invalid="ignore"):
        normal = np.where(deviation > 0, ndtr((value - mean) / deviation), value >= mean)
    return value, unjudged.cdf(value), unjudged.bound(value), normal.astype(np.float64)
