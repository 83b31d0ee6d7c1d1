"""The two algorithms of Webber and Park (2009): the bias of an unpooled run, and its error."""

from collections.abc import Callable

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.adjustment.pool import Pool, rescored
from bayeseval.collection.choices import check_whole_numbers, generator
from bayeseval.messages import warn
from bayeseval.progress import track
from bayeseval.rounding import settled
from bayeseval.uncertainty import interval

# variables that need the error of the adjustment
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

    The comparator :math:`\hat\mu_n = \bar t`, the mean over the common topics alone, has variance
    :math:`\frac{N - n}{N} \frac{s_t^2}{n}` (5). Adjusting has a smaller expected error than not
    adjusting where :math:`SE < |A|` (6); with a in the place of A, the probability of a smaller
    error, :math:`P(0 < a / A < 2)`, is :math:`2 \Phi(|a| / SE) - 1`.

    Parameters
    ----------
    true : DataArray (..., topic)
        True scores; only those on the common topics are used.
    unadjusted : DataArray (..., topic)
        Cheap scores of all topics: unpooled, or by a cheaper assessor. NaN is left out. The others
        are matched to its labels.
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
        0) and ``confidence``, condition 6; ``n_topics`` and ``n_common``. With a bootstrap also
        ``bootstrap_interval`` and ``bootstrap_confidence``: the common topics are resampled and the
        deviations of a scaled by :math:`\sqrt{(1 - n / N)\, n / (n - 1)}`.

    Raises
    ------
    ValueError
        No common topic, or none with a score; one that ``unadjusted`` does not list; a true score
        missing on a common topic that has an unadjusted one.

    Notes
    -----
    Estimand: the mean true score over the N topics. Random: the common topics, a simple random
    sample. The estimate is unbiased whatever the cheap scores are, and so is the variance estimate.
    What breaks it: common topics chosen for their scores. Where the n differences are all the same
    and n is not N, no error is known: standard error, interval, ``helps`` and ``confidence`` are
    NaN, with a warning.

    References
    ----------
    Webber and Park (2009), section 3.2, doi:10.1145/1571941.1572018. Rao and Wu, "Resampling
    inference with complex survey data", JASA 83 (1988), for the scale of the bootstrap.

    Examples
    --------
    >>> import numpy as np, xarray as xr
    >>> from bayeseval.adjustment import adjust_by_topics
    >>> true = xr.DataArray([0.5, 0.7, np.nan, np.nan], dims="topic")
    >>> cheap = xr.DataArray([0.4, 0.4, 0.3, 0.1], dims="topic")
    >>> adjusted = adjust_by_topics(true, cheap, true.notnull(), random_seed=1)
    >>> round(adjusted.adjustment.item(), 6), round(adjusted.adjusted.item(), 6)
    (0.2, 0.5)
    """
    result = adjusted_by_topics(
        true, unadjusted, common, n_boot=n_boot, random_seed=random_seed, ci_prob=ci_prob
    )
    unseen = no_spread(result["topic_deviation"], unadjusted)
    unseen &= result["n_common"] < result["n_topics"]
    if unseen.any():
        warn(
            f"{int(unseen.sum())} of {unseen.size} mean scores have the same difference on all "
            "common topics, so that the error of the adjustment is not known (NaN); name more "
            "common topics",
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
    correction = 1.0 - n_common / n_topics
    spread = deviation(delta)
    error = (correction * spread**2 / n_common) ** 0.5
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
            "common_mean_error": (correction * common_deviation**2 / n_common) ** 0.5,
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
        moved = moved * np.sqrt(correction * n_common / freedom)
        result = result.assign(_bootstrap_answers(adjustment, adjusted, moved, ci_prob))
    return result


def no_spread(spread: xr.DataArray, unadjusted: xr.DataArray) -> xr.DataArray:
    """Whether a deviation of differences is 0, or so small that rounding can have made it."""
    size = abs(unadjusted).max("topic", skipna=True)
    return xr.apply_ufunc(settled, spread, size) == 0.0


def without_errors(result: xr.Dataset, unknown: xr.DataArray) -> xr.Dataset:
    """NaN for the variables that need the error of the adjustment, where that is not known."""
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
    missing = known & true.isnull() & unadjusted.notnull()
    if missing.any():
        topic = int(np.argmax(missing.any([dim for dim in missing.dims if dim != "topic"]).values))
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


def left_out_bias(
    collection: xr.DataTree,
    pool: Pool,
    group: NDArray[np.int64],
    visible: NDArray[np.bool_],
    scored: xr.DataArray,
    measures,
    *,
    base: str,
    **options,
) -> xr.DataArray:
    r"""Bias against every pooled run when it is left out and an unpooled run pooled in its place.

    .. math:: \beta_s(r) = p_s - u_s(r)

    with p the mean score by all judgments Q and u that by :math:`Q' = Q \setminus \{\text{uniquely
    pooled from } s\} \cup \{\text{returned by } r\}`, over the topics on which both s and r have a
    score. (measure, run, left_out), for every unpooled run r and pooled run s; NaN where they have
    no topic in common. Q are the ``visible`` judgments (pair,); pooled runs of a ``group``
    (pooled_run,), numbered from 0, leave together; ``scored`` (measure, run, topic) says on which
    topics an unpooled run has a score.
    """
    plain = options | {"base": "nonrelevant"}
    pooled = rescored(collection, pool.pooled_runs, visible[None], measures, **plain)
    truth = pooled.isel(replicate=0).rename(run="left_out")
    parts = []
    unique = pool.unique(group)
    for number in track(range(unique.shape[0]), "leaving out pooled runs"):
        only = np.flatnonzero(unique[number])
        kept, of_run = np.unique(pool.unpooled[:, only], axis=0, return_inverse=True)
        masks = np.repeat(visible[None], kept.shape[0] + 1, axis=0)
        masks[1:, pool.judged[only]] &= kept  # the first keeps all, so that every topic counts
        members = pool.pooled_runs[group == number]
        scores = rescored(collection, members, masks, measures, base=base, **options)
        scores = scores.rename(run="left_out", replicate="run").isel(run=1 + of_run.ravel())
        lost = truth.sel(left_out=scores["left_out"]) - scores.assign_coords(run=scored["run"])
        parts.append(lost.where(scored).mean("topic", skipna=True))
    bias = xr.concat(parts, dim="left_out", join="exact").sel(left_out=truth["left_out"])
    return bias.transpose("measure", "run", "left_out")


def adjusted_by_runs(
    unadjusted: xr.DataArray, bias: xr.DataArray, group: NDArray[np.int64], *, ci_prob: float
) -> xr.Dataset:
    r"""Adjusted scores from the biases of the pooled runs.

    .. math:: a = \sum_{s \in S} \beta_s / |S|, \quad
              SE^2(a) = \frac{G}{G - 1} \sum_g \Bigl(\sum_{s \in g} (\beta_s - a) / |S|\Bigr)^2,
              \quad SE^2 = \frac{1}{|S|} \sum_s (\beta_s - a)^2 + 2\, SE^2(a)

    SE is the error of predicting the bias of one more run of the same kind: the spread of the
    biases (its estimate over S, plus what S underestimates it by) and the error of their mean. With
    every run a group of its own it is :math:`s_\beta^2 (1 + 1/|S|)`. Student's t has G - 1 degrees
    of freedom. S and G leave out runs whose bias is NaN. Groups (left_out,) of pooled runs are
    independent of each other: runs or teams.
    """
    from scipy.special import ndtr

    known = bias.notnull()
    groups = xr.DataArray(group, dims="left_out", name="group")
    n_groups = known.groupby(groups).any().sum("group")
    freedom = (n_groups - 1.0).where(n_groups > 1)
    adjustment = bias.mean("left_out", skipna=True)
    deviation = ((bias - adjustment) / known.sum("left_out")).fillna(0.0)
    of_group = deviation.groupby(groups).sum()
    of_mean = n_groups / freedom * (of_group**2).sum("group")
    spread = ((bias - adjustment) ** 2).mean("left_out", skipna=True)
    error = (spread + 2.0 * of_mean) ** 0.5
    adjusted = unadjusted + adjustment
    error_of_mean = of_mean**0.5
    return xr.Dataset(
        {
            "unadjusted": unadjusted,
            "adjustment": adjustment,
            "adjusted": adjusted,
            "standard_error": error,
            "interval": interval(adjusted, error, ci_prob=ci_prob, degrees_of_freedom=freedom),
            "adjustment_error": error_of_mean,
            "helps": helps(adjustment, error_of_mean),
            "confidence": confidence(adjustment, error, lambda ratio: ndtr(0.5 * ratio)),
            "bias": bias,
        }
    )
