"""Sampling with replacement from the runs' average-precision marginals (Aslam et al. 2006)."""

from functools import cache

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection.schema import no_strata
from bayeseval.designs.prepared import check_budget, labelled_design, started
from bayeseval.frame.rankings import Rankings


def with_replacement(
    collection: xr.DataTree,
    *,
    budget: int,
    exponent: float = 1.5,
    uniform_share: float = 0.0,
    frame: str | xr.DataArray | None = None,
    pool_depth: int | None = None,
    runs: list[str] | None = None,
) -> xr.Dataset:
    r"""Design that draws documents with replacement until ``budget`` are distinct.

    Every draw of a topic takes document d with probability M(d), the mean over the contributing
    runs s of :math:`MD_s(rank_s(d))^{3/2}`, normalised within the run, with :math:`MD_s` the
    marginal of the pairs of ranks that average precision weighs
    (``average_precision_marginal``). Draws that would fall
    outside the frame are not made: M is normalised over the frame.

    Parameters
    ----------
    collection : DataTree
        Rankings, and judgments when the frame is the judged pairs.
    budget : int
        Distinct documents per topic (T of the paper). A topic with no more documents than that
        which can be drawn is drawn until all of them have been.
    exponent : float
        Power of the marginal, 0 or more: 1 samples from the marginal itself, 0 evenly over the
        documents that the runs retrieve.
    uniform_share : float
        Share of the draws, in [0, 1), that falls evenly on the whole frame. Above 0 every
        document of the frame can be drawn and no factor 1 / M exceeds frame size / share. The
        paper has 0.
    frame, pool_depth, runs
        As for :func:`bayeseval.designs.pps_strata`; ``runs`` are the paper's training runs.

    Returns
    -------
    Dataset
        ``draw_probability`` over pair: sums to 1 over a topic, 0 for pairs that cannot be drawn;
        ``inclusion_probability``: 0 for those, NaN for the others, since under the stopping rule it
        has no closed form. No strata. ``n_undrawable`` in the parameters counts the pairs of the
        frame that no run of the design retrieves: with ``uniform_share`` 0 they count as
        non-relevant.

    Raises
    ------
    ValueError
        Empty frame, no contributing run, a budget, exponent or share out of range.

    References
    ----------
    J. A. Aslam, V. Pavlu and E. Yilmaz, "A statistical method for system evaluation using
    incomplete judgments", SIGIR 2006, section 2, doi:10.1145/1148170.1148263. ``uniform_share``
    is the defensive mixture of T. Hesterberg, Technometrics 37, 1995.

    Examples
    --------
    >>> import pandas as pd, bayeseval as be
    >>> run = pd.DataFrame({"run": "a", "topic": "1", "document": list("abcd")})
    >>> collection = be.read_collection(None, run.assign(score=[4, 3, 2, 1]))
    >>> design = be.designs.with_replacement(collection, budget=2)
    >>> design.draw_probability.values.round(3)
    array([0.458, 0.255, 0.169, 0.118])
    """
    check_budget(budget)
    if not (np.isfinite(exponent) and exponent >= 0):
        raise ValueError(f"exponent must be a number, 0 or more, not {exponent!r}")
    if not 0 <= uniform_share < 1:
        raise ValueError(
            f"uniform_share is the share of draws made evenly, in [0, 1), not {uniform_share!r}"
        )
    start = started(collection, budget, frame, pool_depth, runs)
    probability = _draw_probability(
        collection, start["frame"], start["runs"], exponent, uniform_share
    )
    drawable = probability > 0
    variables = {
        "inclusion_probability": ("pair", np.where(drawable, np.nan, 0.0)),
        "draw_probability": ("pair", probability),
        **no_strata(probability.size),
    }
    parameters = start["parameters"] | {
        "exponent": float(exponent),
        "uniform_share": float(uniform_share),
        "n_undrawable": int(np.count_nonzero(start["frame"] & ~drawable)),
    }
    scheme = "with_replacement"
    return labelled_design(collection, variables, scheme, scheme, parameters)


def average_precision_marginal(length: int) -> NDArray[np.float64]:
    r"""Marginal MD of the distribution JD over pairs of ranks that average precision weighs.

    .. math:: SP = \sum_i \frac{1}{i} \sum_{j \le i} rel(i)\,rel(j)
              = Z \sum_{i, j} JD(i, j)\, rel(i)\, rel(j)

    with :math:`JD(i, j) = 1 / (2 Z \max(i, j))` for :math:`i \ne j` and
    :math:`JD(i, i) = 2 / (2 Z i)`, for a list of Z documents; SP is the sum of the precisions at
    its relevant documents, the numerator of average precision. Then

    .. math:: MD(i) = \frac{1}{2Z} \Bigl(1 + \frac{1}{i} + \sum_{k=i+1}^{Z} \frac{1}{k}\Bigr)

    Parameters
    ----------
    length : int
        Z, documents in the list.

    Returns
    -------
    ndarray (rank,)
        Probabilities, summing to 1, falling with the rank.

    References
    ----------
    Aslam, Pavlu and Yilmaz (2006), sections 2.1 and 2.3 and table 1, doi:10.1145/1148170.1148263.

    Examples
    --------
    >>> average_precision_marginal(2)
    array([0.625, 0.375])
    """
    inverse = 1.0 / np.arange(1, length + 1)
    below = np.append(np.cumsum(inverse[:0:-1])[::-1], 0.0)[:length]
    return (1.0 + inverse + below) / (2.0 * length)


def _draw_probability(collection, mask, runs, exponent, uniform_share) -> NDArray[np.float64]:
    """M over all pairs: the runs' marginals averaged, cut to the frame and normalised by topic."""

    @cache
    def marginal(length):
        power = average_precision_marginal(length) ** exponent
        return power / power.sum()

    rankings = Rankings.of(collection, runs)
    probability = np.zeros(mask.size)
    for topic, first, last in rankings.topics():
        inside, mean = mask[first:last], np.zeros(last - first)
        for ranked, length in zip(rankings.local(topic), rankings.length[:, topic], strict=True):
            mean[ranked[:length]] += marginal(int(length))
        mean[~inside] = 0.0
        if mean.sum() > 0:
            mean = (1.0 - uniform_share) * mean / mean.sum()
            share = uniform_share
        else:  # what no run retrieves can only be drawn evenly
            share = float(uniform_share > 0)
        probability[first:last] = mean + share * inside / max(np.count_nonzero(inside), 1)
    return probability
