"""Pools of few runs: what an unpooled run loses, and what adjusting its score repairs."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection import check_collection
from bayeseval.collection.choices import check_choice, check_ci_prob, generator
from bayeseval.experiments.pool_scores import BASES, PoolScores
from bayeseval.frame.rankings import Rankings
from bayeseval.frame.sample import grade_columns, grade_scale
from bayeseval.measures.names import parse_measures
from bayeseval.progress import track


def sampled_pools(
    collection: xr.DataTree,
    *,
    measure="RBP(p=0.8)@10",
    pool_widths=(2, 4, 10, 20, 40),
    unpooled_from: str = "other",
    pool_depth: int = 10,
    n_samples: int = 100,
    relevance_level: int = 1,
    random_seed: int,
) -> xr.Dataset:
    r"""True and unpooled scores of a run under pools of a few others, sampled many times.

    For every pool width w a set S of w contributing runs and one other run r are drawn (algorithm 3
    of Webber and Park). The truth is the score of r by the pool of S and r, the unpooled score that
    by the pool of S alone.

    Parameters
    ----------
    collection : DataTree
        Rankings, and judgments taken as the truth: what has none is judged non-relevant.
    measure : str or ir_measures object
        A linear measure with a cutoff.
    pool_widths : sequence of int
        Numbers of pooled runs.
    unpooled_from : {"other", "contributed"}
        Where r comes from: the runs that did not contribute (the part of the paper's manual runs),
        or the contributing ones outside S.
    pool_depth : int
        Ranks that each run puts into the pool.
    n_samples : int
        Samples of runs for each width.
    relevance_level : int
        Least grade that counts as relevant.
    random_seed : int
        Seed of the samples.

    Returns
    -------
    Dataset
        ``true`` (pool_width, sample, topic); ``unpooled`` (base, pool_width, sample, topic);
        ``left_out_adjustment`` (base, pool_width, sample), that of algorithm 1; ``run``
        (pool_width, sample), the unpooled one; ``teammate`` (pool_width, sample), whether a run of
        its team is in the pool.

    Raises
    ------
    ValueError
        A measure that is not linear or has no cutoff, a pool wider than there are runs, an unknown
        ``unpooled_from``.

    References
    ----------
    W. Webber and L. A. F. Park, "Score adjustment for correction of pooling bias", SIGIR 2009,
    algorithm 3, doi:10.1145/1571941.1572018.

    Examples
    --------
    >>> import bayeseval as be
    >>> collection = be.simulate.urn_collection(
    ...     [0.1, 0.2, 0.4], n_topics=3, prevalence=0.1, random_seed=1
    ... )
    >>> pools = be.experiments.sampled_pools(
    ...     collection, pool_widths=[2], unpooled_from="contributed", n_samples=4, random_seed=2
    ... )
    >>> bool((pools.unpooled.sel(base="nonrelevant") <= pools.true).all())
    True
    """
    check_collection(collection)
    scores = _pool_scores(collection, measure, pool_depth, relevance_level)
    pooled, others = _run_populations(collection, unpooled_from, pool_widths)
    random = generator(random_seed)
    n_widths, n_topics = len(pool_widths), collection.sizes["topic"]
    true = np.empty((n_widths, n_samples, n_topics))
    unpooled = np.empty((len(BASES), n_widths, n_samples, n_topics))
    left_out = np.empty((len(BASES), n_widths, n_samples))
    chosen = np.empty((n_widths, n_samples), dtype=np.int64)
    teammate = np.empty((n_widths, n_samples), dtype=bool)
    team = collection["team"].to_numpy()
    samples = [(at, sample) for at in range(n_widths) for sample in range(n_samples)]
    for at, sample in track(samples, "sampling pools"):
        members = random.choice(pooled, size=pool_widths[at], replace=False)
        run = int(random.choice(np.setdiff1d(others, members)))
        chosen[at, sample] = run
        teammate[at, sample] = bool((team[members] == team[run]).any()) and team[run] != ""
        found = scores.of_pool(members, run)
        true[at, sample], unpooled[:, at, sample], left_out[:, at, sample] = found
    return xr.Dataset(
        {
            "true": (("pool_width", "sample", "topic"), true),
            "unpooled": (("base", "pool_width", "sample", "topic"), unpooled),
            "left_out_adjustment": (("base", "pool_width", "sample"), left_out),
            "run": (("pool_width", "sample"), collection["run"].to_numpy()[chosen]),
            "teammate": (("pool_width", "sample"), teammate),
        },
        coords={
            "base": list(BASES),
            "pool_width": list(pool_widths),
            "topic": collection["topic"].to_numpy(),
        },
        attrs={"measure": scores.label, "pool_depth": pool_depth, "unpooled_from": unpooled_from},
    )


def pool_width_errors(
    pools: xr.Dataset,
    *,
    n_common=(5, 10, 15, 20),
    n_samples: int = 200,
    ci_prob: float = 0.9,
    random_seed: int,
) -> xr.Dataset:
    r"""Mean absolute errors of unadjusted, mixed and adjusted scores (Webber and Park 2009).

    With :math:`\delta` the true less the unpooled score of a topic, A its mean over all N topics
    and a that over n common ones, drawn many times: the error of the adjusted score is A - a, of
    the mixed one (true scores on the common topics, unadjusted ones elsewhere) A - a n / N, of the
    unadjusted one A. The error over the other topics alone is N / (N - n) times each.

    Parameters
    ----------
    pools : Dataset
        Of ``sampled_pools``.
    n_common : sequence of int
        Numbers of common topics.
    n_samples : int
        Sets of common topics for each pool.
    ci_prob : float
        Of the intervals whose coverage is counted.
    random_seed : int
        Seed of the sets.

    Returns
    -------
    Dataset
        ``unadjusted`` and ``left_out`` (algorithm 1) over (base, pool_width); ``mixed`` and
        ``adjusted`` (algorithm 2) over (base, pool_width, n_common); of each its Monte Carlo error,
        with samples of runs as clusters, under NAME_error. ``coverage``: share of the intervals of
        equations 3 and 7 that hold the truth, those of length 0 included, where all n differences
        are the same (``adjust_by_topics`` gives none there); ``condition_1`` and ``condition_2``:
        shares of adjustments with the sign of A, and at most twice A (both met: adjusting helps).

    Raises
    ------
    ValueError
        A number of common topics below 2 or above the number of topics; ``ci_prob`` outside (0, 1).

    References
    ----------
    W. Webber and L. A. F. Park, "Score adjustment for correction of pooling bias", SIGIR 2009,
    algorithm 3 and tables 1 to 4, doi:10.1145/1571941.1572018.

    Examples
    --------
    >>> import xarray as xr, bayeseval as be
    >>> dims = ("pool_width", "sample", "topic")
    >>> true = xr.DataArray([[[0.5, 0.7, 0.6]]], dims=dims, coords={"pool_width": [2]})
    >>> pools = xr.Dataset({"true": true, "unpooled": (true - 0.2).expand_dims(base=["b"])})
    >>> pools["left_out_adjustment"] = pools.unpooled.isel(topic=0) * 0 + 0.1
    >>> errors = be.experiments.pool_width_errors(pools, n_common=[2], n_samples=5, random_seed=1)
    >>> [round(errors[name].item(), 3) for name in ("unadjusted", "left_out", "mixed", "adjusted")]
    [0.2, 0.1, 0.067, 0.0]
    """
    check_ci_prob(ci_prob)
    delta = pools["true"] - pools["unpooled"]
    n_topics = delta.sizes["topic"]
    if min(n_common) < 2 or max(n_common) > n_topics:
        raise ValueError(f"n_common must lie between 2 and the {n_topics} topics, not {n_common}")
    whole = delta.mean("topic")
    random = generator(random_seed)
    keys = random.random((delta.sizes["pool_width"], delta.sizes["sample"], n_samples, n_topics))
    place = keys.argsort(axis=-1).argsort(axis=-1)
    order = xr.DataArray(place, dims=("pool_width", "sample", "choice", "topic"))
    parts = [_of_size(delta, whole, order < n, n, ci_prob) for n in n_common]
    by_size = xr.concat(parts, dim="n_common").assign_coords(n_common=list(n_common))
    errors = {
        "unadjusted": abs(whole),
        "left_out": abs(whole - pools["left_out_adjustment"]),
        **{str(name): by_size[name] for name in by_size.data_vars},
    }
    summed = {name: error.mean("sample") for name, error in errors.items()}
    noise = {
        f"{name}_error": error.std("sample", ddof=1) / np.sqrt(error.sizes["sample"])
        for name, error in errors.items()
        if error.sizes["sample"] > 1
    }
    return xr.Dataset(summed | noise, attrs=pools.attrs | {"ci_prob": ci_prob})


def _of_size(delta, whole, common: xr.DataArray, n: int, ci_prob: float) -> xr.Dataset:
    """Mean over sets of n common topics, for every pool."""
    from scipy.special import stdtrit

    n_topics = delta.sizes["topic"]
    weight = common.astype(float)
    adjustment = xr.dot(delta, weight, dim="topic") / n
    square = xr.dot(delta**2, weight, dim="topic")
    variance = (square - n * adjustment**2).clip(min=0.0) / (n - 1)
    half = stdtrit(n - 1, 0.5 + 0.5 * ci_prob) * np.sqrt((1 - n / n_topics) * variance / n)
    error = whole - adjustment
    held = abs(error) <= half + 1e-12
    answers = {
        "mixed": abs(whole - adjustment * n / n_topics),
        "adjusted": abs(error),
        "coverage": held.astype(float),
        "condition_1": (adjustment * whole > 0).astype(float),
        "condition_2": (abs(adjustment) <= 2 * abs(whole)).astype(float),
    }
    return xr.Dataset({name: values.mean("choice") for name, values in answers.items()})


def _pool_scores(collection, measure, pool_depth: int, relevance_level: int) -> PoolScores:
    """What any pool of the runs can be scored with."""
    grades = grade_scale(collection)
    parsed = parse_measures(measure, relevance_level=relevance_level, grades=grades)[0]
    if parsed.kind != "linear" or parsed.cutoff is None:
        raise ValueError(
            f"{parsed.label} is no linear measure with a cutoff, such as P@10 or RBP(p=0.8)@10"
        )
    return PoolScores.prepared(
        Rankings.of(collection).pair, grade_columns(collection)[0], parsed, pool_depth
    )


def _run_populations(collection, unpooled_from: str, widths) -> tuple[NDArray, NDArray]:
    """Runs that pools are drawn from, and runs that the unpooled one is drawn from."""
    contributed = collection["contributed"].to_numpy()
    populations = {"other": ~contributed, "contributed": contributed}
    check_choice("unpooled_from", unpooled_from, populations)
    pooled = np.flatnonzero(contributed)
    others = np.flatnonzero(populations[unpooled_from])
    widest = pooled.size - (unpooled_from == "contributed")
    if not others.size or min(widths) < 1 or max(widths) > widest:
        raise ValueError(
            f"pool_widths must lie between 1 and {widest} and there must be a run outside the "
            f"pool, not {list(widths)} with {others.size} runs to choose it from"
        )
    return pooled, others
