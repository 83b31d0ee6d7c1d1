"""All estimators under all designs on one collection: the tables of the dyn paper."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from bayeseval.designs import depth_pool, hedge, order, pps_strata, uniform_strata
from bayeseval.experiments.replicate import error_summary, replicate

SAMPLED = ("assumed", "condensed", "inf", "stat", ("dyn", "rank_logistic"))
POOLED = ("assumed", "condensed")
UNSTRATIFIED = "uniform, 1 stratum"


def comparison(
    collection: xr.DataTree,
    *,
    budgets: Sequence[int] = (100, 400),
    pool_depths: Sequence[int] = (5, 20),
    measures="P@10",
    estimators: Sequence = SAMPLED,
    n_strata: int = 20,
    n_replicates: int = 100,
    random_seed: int,
    relevance_level: int = 1,
) -> xr.Dataset:
    """Errors of every estimator under uniform and pps sampling, orders, depth pools and hedge.

    Per budget: ``estimators`` on uniform strata, on pps strata and on an order, each drawn
    ``n_replicates`` times; "inf" also on a uniform sample without strata, for which it was
    proposed; and two pools, of a depth and by hedge, whose unjudged documents are assumed to be
    non-relevant or condensed away.

    Parameters
    ----------
    collection : DataTree
        Collection whose judgments are taken as the truth; designs come from the contributing runs,
        so add :func:`dual_runs` to see what happens to runs of another kind.
    budgets : sequence of int
        Judgments per topic.
    pool_depths : sequence of int
        Depth of the pool that is compared with each budget.
    measures : str, object or list
        As for ``evaluate``; "inf" exists for P, AP, nDCG and NumRel alone.
    estimators : sequence of str or (str, predictor)
        Estimators of the sampled designs.
    n_strata : int
        Strata per topic; an order has its own.
    n_replicates : int
        Samples of each random design.
    random_seed : int
        Seed of strata and samples.
    relevance_level : int
        Least grade that counts as relevant.

    Returns
    -------
    Dataset
        The variables of :func:`error_summary` over method, measure and group, with the coordinates
        ``budget``, ``sample``, ``estimator`` and ``judgments`` (mean number per topic) of each
        method.

    Raises
    ------
    ValueError
        Judgments that are a random sample; budgets and pool depths of different number; as
        ``replicate``.

    References
    ----------
    Cormack and Grossman (2019), tables 1 to 3, doi:10.1145/3331184.3331355.

    Examples
    --------
    >>> import bayeseval as be
    >>> collection = be.simulate.urn_collection(
    ...     [0.1, 0.2, 0.4], n_topics=2, prevalence=0.1, random_seed=1
    ... )
    >>> table = be.experiments.comparison(
    ...     collection, budgets=[20], pool_depths=[5], n_strata=4, n_replicates=3, random_seed=2
    ... )
    >>> table.sizes["method"], sorted(set(table["sample"].values.tolist()))
    (20, ['depth-5', 'hedge', 'order', 'pps', 'uniform', 'uniform, 1 stratum'])
    """
    known = collection.children.get("design")
    if known is not None and known.attrs["scheme"] != "deterministic":
        raise ValueError(
            f"the judgments are themselves a random sample ({known.attrs['scheme']}) and no truth "
            "to compare with; give the collection that it was drawn from"
        )
    if len(budgets) != len(pool_depths):
        raise ValueError(
            f"budgets and pool_depths go in pairs; there are {len(budgets)} and {len(pool_depths)}"
        )
    parts: list[xr.Dataset] = []
    for budget, pool_depth in zip(budgets, pool_depths, strict=True):
        plans = {
            "uniform": uniform_strata(
                collection, budget=budget, n_strata=n_strata, random_seed=random_seed
            ),
            UNSTRATIFIED: uniform_strata(collection, budget=budget, n_strata=1, random_seed=0),
            "pps": pps_strata(collection, budget=budget, n_strata=n_strata),
            "order": order(collection, budget=budget, random_seed=random_seed),
            f"depth-{pool_depth}": depth_pool(collection, pool_depth),
            "hedge": hedge(collection, budget, relevance_level=relevance_level),
        }
        for sample, design in plans.items():
            random = design.attrs["scheme"] != "deterministic"
            applied = list(estimators if random else POOLED)
            if sample == UNSTRATIFIED:
                applied = [name for name in estimators if name == "inf"]
            if not applied:
                continue
            result = replicate(
                collection,
                design,
                measures,
                estimators=applied,
                n_replicates=n_replicates if random else 1,
                random_seed=random_seed,
                relevance_level=relevance_level,
                unjudged="nonrelevant",
            )
            parts.append(_methods(error_summary(result), budget, sample, design))
    return xr.concat(parts, dim="method", combine_attrs="drop")


def _methods(summary: xr.Dataset, budget: int, sample: str, design: xr.Dataset) -> xr.Dataset:
    """Summary with its estimators as methods, labelled by budget, sample and judgments."""
    probability = design["inclusion_probability"].to_numpy()
    topics = np.unique(design["pair_topic"].to_numpy()[probability > 0]).size
    size = summary.sizes["estimator"]
    named = {
        "budget": np.full(size, budget),
        "sample": np.full(size, sample, dtype=object),
        "judgments": np.full(size, probability.sum() / topics),
    }
    return (
        summary.reset_index("estimator")
        .rename_dims(estimator="method")
        .assign_coords({name: ("method", values) for name, values in named.items()})
    )
