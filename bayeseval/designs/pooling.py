"""Deterministic designs: pools, and what those that follow the judgments have in common."""

import warnings

import numpy as np
import pandas as pd
import xarray as xr

from bayeseval.collection import check_collection, check_one_sample
from bayeseval.collection.choices import check_whole_numbers
from bayeseval.collection.schema import no_strata
from bayeseval.designs.prepared import Budget, labelled_design, started
from bayeseval.frame.rankings import Rankings, contributing_runs, pooled_by
from bayeseval.frame.sample import grade_columns


def depth_pool(
    collection: xr.DataTree, pool_depth: int, *, runs: list[str] | None = None
) -> xr.Dataset:
    """Design that judges what any contributing run ranks at ``pool_depth`` or above.

    Nothing is random, so neither ``stat`` nor ``dyn`` exists, and the bias of estimates is not
    known.

    Parameters
    ----------
    collection : DataTree
        Rankings.
    pool_depth : int
        Ranks that each run contributes.
    runs : list of str, optional
        Runs that form the pool instead of the contributing ones.

    Returns
    -------
    Dataset
        ``inclusion_probability`` 1 in the pool and 0 outside; scheme "deterministic".

    Raises
    ------
    ValueError
        ``pool_depth`` below 1, no contributing run, an unknown run.

    Examples
    --------
    >>> import pandas as pd, bayeseval as be
    >>> run = pd.DataFrame({"run": "a", "topic": "1", "document": list("abcd")})
    >>> collection = be.read_collection(None, run.assign(score=[4, 3, 2, 1]))
    >>> be.designs.depth_pool(collection, 2).inclusion_probability.values
    array([1., 1., 0., 0.])
    """
    check_collection(collection)
    run = contributing_runs(collection, runs)
    pool = pooled_by(Rankings.of(collection, run), pool_depth)
    parameters = {
        "pool_depth": int(pool_depth),
        "runs": collection["run"].to_numpy()[run].tolist(),
    }
    return pooled_design(collection, pool, "depth_pool", parameters)


def pooled_design(
    collection: xr.DataTree, pool: np.ndarray, name: str, parameters: dict, **variables
) -> xr.Dataset:
    """Design that judges the pairs of ``pool`` (bool) and no others."""
    probability = {"inclusion_probability": ("pair", pool.astype(float)), **no_strata(pool.size)}
    return labelled_design(collection, probability | variables, "deterministic", name, parameters)


def ordered_design(
    collection: xr.DataTree, order: np.ndarray, name: str, parameters: dict
) -> xr.Dataset:
    """Design that judges pairs, given by their positions, in the order in which they come.

    The result holds it as ``judging_order(pair)``: 1, 2, ... within each topic, 0 outside the pool.
    """
    place = np.zeros(collection.sizes["pair"], dtype=np.int32)
    topic = collection["pair_topic"].to_numpy()[order]
    place[order] = 1 + pd.Series(topic).groupby(topic).cumcount()
    return pooled_design(collection, place > 0, name, parameters, judging_order=("pair", place))


def followed_frame(collection: xr.DataTree, budget: Budget, frame, pool_depth, runs) -> dict:
    """What a pool that follows the judgments starts from, as plain arrays.

    The runs' rankings, cut at ``pool_depth``; which pairs can be judged, those
    of the frame that one of the runs retrieves; the budget of every topic; and the attributes.
    """
    start = started(collection, budget, frame, pool_depth, runs)
    rankings = Rankings.of(collection, start["runs"]).top(pool_depth)
    return start | {"rankings": rankings, "frame": start["frame"] & rankings.shown()}


def simulated_relevance(
    collection: xr.DataTree, relevance_level: int, name: str, frame: np.ndarray
) -> np.ndarray:
    """Which pairs (bool) an assessor would call relevant; pairs without a grade are not.

    A warning says so where the grades are a random sample, and pairs of ``frame`` (bool, or
    positions) lack theirs for that reason.
    """
    check_whole_numbers(1, relevance_level=relevance_level)
    if "judgments" not in collection.children:
        raise ValueError(
            f"{name} follows the judgments, and the collection has none; dynamic_stage and "
            "next_documents give the first documents to judge"
        )
    grade = grades_so_far(collection, name)
    n_missing = int(np.isnan(grade[frame]).sum())
    if n_missing and "design" in collection.children:
        scheme = collection["design"].attrs.get("scheme")
        if scheme != "deterministic":
            warnings.warn(
                f"{name} takes the judgments for the truth, but they are a random sample "
                f"({scheme}), and {n_missing} pairs of its frame without a grade count as "
                "non-relevant; start from complete judgments, or use frame='judged'",
                stacklevel=3,
            )
    return grade >= relevance_level


def grades_so_far(collection: xr.DataTree, name: str) -> np.ndarray:
    """Grades (pair,) of one sample, NaN where not judged: everywhere if there are no judgments."""
    if "judgments" not in collection.children:
        return np.full(collection.sizes["pair"], np.nan)
    check_one_sample(collection, f"{name} follows one sample")
    return grade_columns(collection)[0]
