"""Algorithm 2 of Webber and Park (2009): the bias of an unpooled run, seen on common topics."""

import warnings
from collections.abc import Callable

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection.choices import check_whole_numbers, generator
from bayeseval.rounding import settled
from bayeseval.uncertainty import interval

# What rests on the error of the adjustment, not known where common topics tell nothing of it.
ERRORS = ("standard_error", "interval", "helps", "confidence")
ERRORS += ("bootstrap_interval", "bootstrap_confidence")


def adjust_by_topics(
    true: xr.DataArray,
    unadjusted: xr.DataArray,
    common: xr.DataArray,
    *,
    n_boot: int = 1000,
    random_seed: int | None = None,
    ci_prob: float = 0.9,
) -> xr.Dataset:
    r"""Mean scores over all topics from cheap scores and the true ones of some topics.

    With t the true and u the cheap score of a topic, N topics and n common ones among them:

    .. math:: a = \frac{1}{n} \sum_{i=1}^n (t_i - u_i) \quad (1), \qquad
              \hat\mu_a = \frac{1}{N} \sum_{i=1}^N (u_i + a) \quad (2)

    .. math:: \widehat{var}(\hat\mu_a) = \frac{N - n}{N} \frac{s_a^2}{n} \quad (3), \qquad
              s_a^2 = \frac{1}{n - 1} \sum_{i=1}^n (t_i - u_i - a)^2 \quad (7)

    Counting the true scores where they are known and u + a elsewhere gives the same mean, for a is
    exactly right on the common topics. The comparator :math:`\hat\mu_n = \bar t`, the mean over the
    common topics alone, has variance :math:`\frac{N - n}{N} \frac{s_t^2}{n}` (5). Adjusting has a
    smaller expected error than not adjusting where :math:`SE < |A|` (6); with a in the place of A,
    the chance that it has the smaller error, :math:`P(0 < a / A < 2)`, is
    :math:`2 \Phi(|a| / SE) - 1`.

    Parameters
    ----------
    true : DataArray (..., topic)
        True scores; those outside the common topics are not looked at and may be NaN or absent.
    unadjusted : DataArray (..., topic)
        Cheap scores of all topics: unpooled, or by a cheaper assessor. NaN is left out. Its labels
        (topics, runs, measures) are those of the answer; the other two are matched to them.
    common : DataArray of bool (topic,)
        Topics with true scores; a topic that it does not list is not common.
    n_boot : int
        Bootstrap samples of the common topics; 0 does without.
    random_seed : int, optional
        Of the bootstrap.
    ci_prob : float
        Coverage of the intervals.

    Returns
    -------
    Dataset
        ``unadjusted``, ``adjustment``, ``adjusted``; ``standard_error`` and ``interval`` (Student's
        t with n - 1 degrees of freedom); ``common_mean`` and ``common_mean_error``, the comparator;
        ``topic_deviation`` and ``common_deviation``, the roots of s_a^2 and s_t^2; ``helps`` (1 or
        0) and ``confidence``, condition 6; ``n_topics`` and ``n_common``. Error, interval,
        ``helps`` and ``confidence`` are NaN where the n differences are all the same and n is not N
        (see Notes). With a bootstrap also
        ``bootstrap_interval`` and ``bootstrap_confidence``: the common topics are resampled and the
        deviations of a scaled by :math:`\sqrt{(1 - n / N)\, n / (n - 1)}`, so that their variance
        is that of (3).

    Raises
    ------
    ValueError
        No common topic, or none with a score; one that ``unadjusted`` does not list; a true score
        missing on a common topic that has an unadjusted one; ``ci_prob`` outside (0, 1); ``n_boot``
        below 0.

    Warns
    -----
    UserWarning
        Means of which all common topics, but not all topics, show the same difference.

    Notes
    -----
    Estimand: the mean true score over the N topics. Random: which n of the N topics are common, a
    simple random sample. The estimate is unbiased whatever the cheap scores are, and so are
    :math:`s_a^2` and the variance estimate, where :math:`\sigma_a^2` is centred on the mean A over
    all topics; equation 4 of the paper centres it on a, which is too large by
    :math:`N / (N - 1) \, var(a)` on average. What breaks it: common topics chosen for their
    scores; the plug-in of a for A in condition 6, which says too often that adjusting helps. With
    one common topic there is no error estimate, and none with differences that are all the same:
    mostly 0, because no newly judged document was relevant, which other topics need not share. By
    (3) the error would be 0, and on simulated pools such intervals held the truth in .02 to .38 of
    the cases.

    How far 90 % intervals hold where most topics have no bias: six kinds of simulated pools (5 to
    30 runs to depth 10, 30 or 50 topics, unjudged documents non-relevant), 60 worlds of each, 3
    more runs, 100 draws of n topics. Of RBP@10 3 to 38 % of the topics had a bias, of AP 7 to 59 %.

    == ======= =========== =============== =============
    n  measure error known held, of these  with error 0
    == ======= =========== =============== =============
    4  RBP@10  .36         .95             .47 of all
    8  RBP@10  .52         .93             .61 of all
    15 RBP@10  .67         .90             .73 of all
    4  AP      .58         .88             .52 of all
    8  AP      .76         .83             .64 of all
    15 AP      .88         .83             .74 of all
    == ======= =========== =============== =============

    Monte Carlo errors are .005 or less in the fourth column, .007 to .013 in the last. Scores are
    unbiased over all choices of topics, and not over those with an error alone. Condensed
    rankings, whose differences are rarely all the same, have an error for .82 to 1 and hold .85 to
    .89. Intervals of few nonzero differences stay too short by some per cent of coverage. A floor
    from the spread of other runs brings them to .91 to .98, but makes all intervals 1.1 to 1.5
    times as long, and where a run has no spread of its own that of others held .63 to 1 by the kind
    of pool; so there is none. Cost: none to speak of.

    References
    ----------
    W. Webber and L. A. F. Park, "Score adjustment for correction of pooling bias", SIGIR 2009,
    section 3.2, doi:10.1145/1571941.1572018. J. N. K. Rao and C. F. J. Wu, "Resampling inference
    with complex survey data", JASA 83 (1988), for the scale of the bootstrap.

    Examples
    --------
    >>> import numpy as np, xarray as xr, bayeseval as be
    >>> true = xr.DataArray([0.5, 0.7, np.nan, np.nan], dims="topic")
    >>> cheap = xr.DataArray([0.4, 0.4, 0.3, 0.1], dims="topic")
    >>> adjusted = be.adjustment.adjust_by_topics(true, cheap, true.notnull(), random_seed=1)
    >>> round(adjusted.adjustment.item(), 6), round(adjusted.adjusted.item(), 6)
    (0.2, 0.5)
    """
    result = adjusted_by_topics(
        true, unadjusted, common, n_boot=n_boot, random_seed=random_seed, ci_prob=ci_prob
    )
    unseen = no_spread(result["topic_deviation"], unadjusted)
    unseen &= result["n_common"] < result["n_topics"]
    if unseen.any():
        warnings.warn(
            f"{int(unseen.sum())} of {unseen.size} mean scores have the same difference on all "
            "common topics: so few of them tell no error of the adjustment, which is NaN; name "
            "more common topics",
            stacklevel=2,
        )
    return without_errors(result, unseen)


def adjusted_by_topics(
    true: xr.DataArray,
    unadjusted: xr.DataArray,
    common: xr.DataArray,
    *,
    n_boot: int,
    random_seed: int | None,
    ci_prob: float,
) -> xr.Dataset:
    """What `adjust_by_topics` returns, its error 0 where the differences are all the same."""
    from scipy.special import ndtr

    check_whole_numbers(0, n_boot=n_boot)
    true = true.reindex_like(unadjusted)
    delta = _differences(true, unadjusted, _common_like(common, unadjusted))
    if delta.isnull().all():
        raise ValueError("no common topic has a score to compare; name topics that the runs have")
    n_topics, n_common = unadjusted.notnull().sum("topic"), delta.notnull().sum("topic")
    adjustment = delta.mean("topic", skipna=True)
    left = 1.0 - n_common / n_topics
    spread = deviation(delta)
    error = (left * spread**2 / n_common) ** 0.5
    unadjusted_mean = unadjusted.mean("topic", skipna=True)
    adjusted = unadjusted_mean + adjustment
    known = true.where(delta.notnull())
    common_deviation = deviation(known)
    freedom = (n_common - 1.0).where(n_common > 1)
    result = xr.Dataset(
        {
            "unadjusted": unadjusted_mean,
            "adjustment": adjustment,
            "adjusted": adjusted,
            "standard_error": error,
            "interval": interval(adjusted, error, ci_prob=ci_prob, degrees_of_freedom=freedom),
            "common_mean": known.mean("topic", skipna=True),
            "common_mean_error": (left * common_deviation**2 / n_common) ** 0.5,
            "topic_deviation": spread,
            "common_deviation": common_deviation,
            "helps": helps(adjustment, error),
            "confidence": confidence(adjustment, error, lambda ratio: 2.0 * ndtr(ratio) - 1.0),
            "n_topics": n_topics,
            "n_common": n_common,
        },
        attrs={"ci_prob": ci_prob},
    )
    if n_boot:
        moved = _bootstrap(delta - adjustment, n_boot, random_seed)
        moved = moved * np.sqrt(left * n_common / freedom)
        result = result.assign(_bootstrap_answers(adjustment, adjusted, moved, ci_prob))
    return result


def no_spread(spread: xr.DataArray, unadjusted: xr.DataArray) -> xr.DataArray:
    """Whether a deviation of differences is 0, or so small that rounding can have made it."""
    size = abs(unadjusted).max("topic", skipna=True)
    return xr.apply_ufunc(settled, spread, size) == 0.0


def without_errors(result: xr.Dataset, unknown: xr.DataArray) -> xr.Dataset:
    """Take away what rests on the error of the adjustment where that is not known."""
    known = {name: result[name].where(~unknown) for name in ERRORS if name in result}
    return result.assign(known)


def _common_like(common: xr.DataArray, unadjusted: xr.DataArray) -> xr.DataArray:
    """Common topics by the labels of the unadjusted scores."""
    marked = common.astype(bool)
    if "topic" in common.indexes and "topic" in unadjusted.indexes:
        strange = marked.where(~common["topic"].isin(unadjusted["topic"]), other=False)
        of_topic = strange.any([dim for dim in strange.dims if dim != "topic"])
        if of_topic.any():
            label = common["topic"].values[int(np.argmax(of_topic.values))]
            raise ValueError(f"topic '{label}' is common and is no topic of the unadjusted scores")
    return marked.astype(float).reindex_like(unadjusted) > 0.0  # NaN, not listed: not common


def _differences(true: xr.DataArray, unadjusted: xr.DataArray, known) -> xr.DataArray:
    """True less unadjusted scores on the common topics, NaN elsewhere."""
    if not known.any():
        raise ValueError("common topics must be at least 1, and there is none")
    lacking = known & true.isnull() & unadjusted.notnull()
    if lacking.any():
        topic = int(np.argmax(lacking.any([dim for dim in lacking.dims if dim != "topic"]).values))
        label = true["topic"].values[topic] if "topic" in true.coords else topic
        raise ValueError(f"topic '{label}' is common and lacks a true score")
    return (true - unadjusted).where(known)


def helps(adjustment: xr.DataArray, error: xr.DataArray) -> xr.DataArray:
    """Condition 6, whether the error is below the adjustment; NaN where no error is known."""
    beyond = xr.apply_ufunc(settled, abs(adjustment) - error, adjustment)
    return (beyond > 0).where(error.notnull())


def confidence(
    adjustment: xr.DataArray, error: xr.DataArray, chance: Callable[[NDArray], NDArray]
) -> xr.DataArray:
    """Chance that adjusting helps, by the adjustment in errors; NaN where no error is known."""
    size = abs(adjustment)
    sure = xr.where(size > 0, 1.0, 0.0).where(error == 0)
    return xr.apply_ufunc(chance, size / error.where(error > 0)).fillna(sure)


def deviation(value: xr.DataArray) -> xr.DataArray:
    """Standard deviation over topics, NaN by a single one (of which NumPy warns)."""
    number = value.notnull().sum("topic")
    square = ((value - value.mean("topic")) ** 2).sum("topic")
    return (square / (number - 1).where(number > 1)) ** 0.5


def _bootstrap(centred: xr.DataArray, n_boot: int, random_seed: int | None) -> xr.DataArray:
    """Deviation of the mean in bootstrap samples of the known topics, (..., bootstrap)."""
    drawn = centred.notnull().any([dim for dim in centred.dims if dim != "topic"])
    places = np.flatnonzero(drawn.values)
    random = generator(random_seed)
    chance = np.full(places.size, 1.0 / places.size)
    count = random.multinomial(places.size, chance, size=n_boot)
    weight = xr.DataArray(count.astype(float), dims=("bootstrap", "topic"))
    values = centred.drop_vars("topic", errors="ignore").isel(topic=places)
    total = xr.dot(values.fillna(0.0), weight, dim="topic")
    return total / xr.dot(values.notnull().astype(float), weight, dim="topic")


def _bootstrap_answers(adjustment, adjusted, spread: xr.DataArray, ci_prob: float) -> dict:
    """Percentile interval, and share of samples in which 0 < a* / a < 2."""
    known = spread.notnull().any("bootstrap")
    tails = [0.5 - 0.5 * ci_prob, 0.5 + 0.5 * ci_prob]
    filled = spread.where(known, 0.0)
    gaps = bool(filled.isnull().any())  # quantiles that look for gaps are many times slower
    bounds = filled.quantile(tails, dim="bootstrap", skipna=gaps).where(known)
    bounds = bounds.rename(quantile="ci_bound").assign_coords(ci_bound=["lower", "upper"])
    bounds = adjusted + bounds
    # a sample may hold none of the common topics that a run has
    nearer = (abs(spread) < abs(adjustment)).where(spread.notnull()).mean("bootstrap", skipna=True)
    return {
        "bootstrap_interval": bounds.transpose(..., "ci_bound").assign_attrs(
            ci_prob=ci_prob, ci_kind="percentile bootstrap"
        ),
        "bootstrap_confidence": nearer,
    }
