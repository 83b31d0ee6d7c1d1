"""Bias and variance of a way of ranking systems, as distances between bootstrap rankings."""

import numpy as np
import xarray as xr

from bayeseval.collection.choices import (
    check_choice,
    check_ci_prob,
    check_seed,
    check_whole_numbers,
)
from bayeseval.rankings.bootstrap import REPLICATES, table_values
from bayeseval.rankings.geometry import (
    DISTANCES,
    QUANTITIES,
    TOPICS,
    Geometry,
    Request,
    geometry,
    geometry_interval,
    signed_root,
)
from bayeseval.rankings.similarity import SIMILARITIES


def bias_variance(
    table_x: xr.DataArray,
    table_gold: xr.DataArray,
    *,
    n_boot: int = 1000,
    n_topics: int | None = None,
    similarity: str = "tau",
    distance: str = "paper",
    topics: str = "independent",
    replicates: str = "shared",
    n_outer: int | None = None,
    ci_prob: float = 0.9,
    random_seed: int | None,
    executor=None,
    keep=None,
) -> xr.Dataset:
    r"""Bias, standard deviation and error of a method X's rankings against gold rankings G.

    With :math:`\delta = 1 - \tau` the distance of two rankings and X, X' (G, G') independent
    results of one method, on topics drawn anew:

    .. math::
        \Delta(X, G) = E \delta^2(X, G), \quad \sigma^2(X) = \tfrac12 \Delta(X, X'), \quad
        b^2 = \Delta(X, G) - \sigma^2(X) - \sigma^2(G), \quad MSE = b^2 + \sigma^2(X),

    estimated from all pairs of ``n_boot`` bootstrap rankings of each table.

    **Estimand**: the geometry of rankings on ``n_topics`` new topics of the population, each with a
    new sample of judgments. Random: the topics, and the replicate (sample) of each topic.

    Parameters
    ----------
    table_x, table_gold : DataArray (replicate, run, topic)
        Scores of the same runs by the method in question and by the gold standard; without the dim
        replicate for methods without chance.
    n_boot, n_topics : int
        Bootstrap rankings of each table; topics per ranking, by default as many as it has.
    similarity, replicates
        As for :func:`rank_similarity` and :func:`bootstrap_scores`.
    distance : {"paper", "root"}
        1 - similarity as in the paper, or the square root of that.
    topics : {"independent", "together"}
        Topics of X and of G drawn independently (the paper), or the same draw of topics for X, X',
        G and G': then bias and variance are those of the judgments alone.
    n_outer : int, optional
        Outer bootstrap samples of the topics (at least 20) for corrected values and intervals; the
        tables must have the same topics or none in common.
    ci_prob : float
        Coverage of the intervals.
    random_seed, executor, keep
        Of the outer samples, by 20, as for :func:`experiments.replicate`.

    Returns
    -------
    Dataset
        ``bias`` (:math:`sign(b^2) \sqrt{|b^2|}`), ``sigma``, ``sigma_gold``, ``mse``, ``rmse``,
        ``squared_bias``, as in the paper; ``monte_carlo_error`` (quantity,). With ``n_outer``:
        ``corrected``, ``interval`` (quantity, ci_bound), ``bias_found`` (its lower bound above 0).

    Raises
    ------
    ValueError
        Tables that do not fit or hold NaN; a bootstrap ranking in which all runs tie.

    Notes
    -----
    :math:`\sigma^2` is too small and :math:`b^2` too large, for the bootstrap draws around the mean
    scores of the given topics. ``corrected`` removes this bias, by outer samples of the topics,
    which have it twice. A ``bias_found`` of False does not show that there is no bias.

    References
    ----------
    Cormack and Grossman, "Quantifying bias and variance of system rankings", SIGIR 2019,
    doi:10.1145/3331184.3331356.

    Examples
    --------
    >>> import numpy as np, xarray as xr, bayeseval as be
    >>> random = np.random.default_rng(1)
    >>> gold = random.normal([[0.3], [0.5], [0.7]], 0.1, size=(3, 20))
    >>> table = xr.DataArray(gold, dims=("run", "topic"))
    >>> worse = table * xr.DataArray([2.0, 1.0, 1.0], dims="run")  # one run is overrated
    >>> geometry = be.rankings.bias_variance(worse, table, n_boot=200, random_seed=1)
    >>> geometry.bias.item() > 0.5
    True
    """
    check_choice("similarity", similarity, SIMILARITIES)
    check_choice("distance", distance, DISTANCES)
    check_choice("topics", topics, TOPICS)
    check_choice("replicates", replicates, REPLICATES)
    check_whole_numbers(2, n_boot=n_boot)
    check_ci_prob(ci_prob)
    check_seed(random_seed)
    if n_topics is not None:
        check_whole_numbers(1, n_topics=n_topics)
    _check_runs(table_x, table_gold)
    values, gold = table_values(table_x), table_values(table_gold)
    labels = _topics(table_x, table_gold)
    if topics == "together" and not np.array_equal(*labels):
        raise ValueError("topics='together' needs tables with the same topics in the same order")
    request = Request(n_boot, n_topics, similarity, distance, topics, replicates)
    measured, _ = geometry(values, gold, request, np.random.default_rng(random_seed))
    _check_orders(measured.noise)
    result = _labelled(measured)
    if n_outer is not None:
        if min(values.shape[1], gold.shape[1]) < 2:
            raise ValueError("intervals need tables of at least 2 topics")
        seed = None if random_seed is None else [random_seed, 1]
        found = geometry_interval(
            (values, gold),
            labels,
            request,
            n_outer=n_outer,
            ci_prob=ci_prob,
            random=np.random.default_rng(seed),
            executor=executor,
            keep=keep,
        )
        _check_orders(found)
        result["corrected"] = ("quantity", found[:, 0])
        result["interval"] = (("quantity", "ci_bound"), found[:, 1:])
        result["bias_found"] = bool(found[0, 1] > 0)
        result = result.assign_coords(ci_bound=["lower", "upper"])
    attrs = {"similarity": similarity, "distance": distance, "topics": topics, "n_boot": n_boot}
    return result.assign_attrs(attrs | {"replicates": replicates, "ci_prob": ci_prob})


def _labelled(found: Geometry) -> xr.Dataset:
    squares, error = found.squares(), found.squares_error()
    roots = signed_root(squares)
    # error of a root by its derivative, but no larger than the root of the square's error
    slope = np.minimum(error / (2.0 * np.maximum(np.abs(roots), 1e-12)), np.sqrt(error))
    errors = np.array([slope[0], slope[1], slope[2], error[3], slope[3]])
    values = [roots[0], roots[1], roots[2], squares[3], roots[3]]
    return xr.Dataset(
        dict(zip(QUANTITIES, values, strict=True))
        | {"squared_bias": squares[0], "monte_carlo_error": ("quantity", errors)},
        coords={"quantity": list(QUANTITIES)},
    )


def _check_orders(found: np.ndarray) -> None:
    """Refuse results with a ranking that has no order."""
    if np.isnan(found).any():
        raise ValueError(
            "all runs tie in a bootstrap ranking, which then has no order and no distance from "
            "others; compare more runs, or by a measure whose scores differ more finely"
        )


def _check_runs(table: xr.DataArray, gold: xr.DataArray) -> None:
    for name, one in (("table_x", table), ("table_gold", gold)):
        if not isinstance(one, xr.DataArray):
            raise TypeError(f"{name} must be a DataArray, not a {type(one).__name__}")
    labelled = "run" in table.coords and "run" in gold.coords
    if table.sizes.get("run") != gold.sizes.get("run") or (
        labelled and not np.array_equal(table["run"], gold["run"])
    ):
        raise ValueError("table_x and table_gold must have the same runs in the same order")
    if table.sizes.get("run", 2) < 2:
        raise ValueError("a ranking needs at least 2 runs")


def _topics(table: xr.DataArray, gold: xr.DataArray) -> tuple[np.ndarray, np.ndarray]:
    """Labels of the topics; without labels as many topics are the same ones in the same order."""
    if "topic" in table.coords and "topic" in gold.coords:
        return table["topic"].to_numpy(), gold["topic"].to_numpy()
    n_topics, n_gold = table.sizes["topic"], gold.sizes["topic"]
    first = 0 if n_topics == n_gold else n_topics
    return np.arange(n_topics), first + np.arange(n_gold)
