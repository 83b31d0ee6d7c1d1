"""What `adjust_scores` was asked, checked, and what its user should know."""

import warnings

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.adjustment.pool import Pool
from bayeseval.adjustment.rescoring import BASES
from bayeseval.collection.choices import check_choice
from bayeseval.collection.labels import named_positions, without_judgment
from bayeseval.evaluation.scores import warn_unranked
from bayeseval.frame.rankings import Rankings
from bayeseval.frame.sample import grade_columns, grade_scale
from bayeseval.measures.measure import Measure
from bayeseval.measures.names import parse_measures
from bayeseval.measures.table import names_of
from bayeseval.messages import Message, Option

# Pools of real collections have holes: runs cut, documents dropped or found to be unreadable. Some
# per cent of them change the biases little; a rank that was not pooled at all has far more.
SHARE_UNJUDGED = 0.1


def common_mask(collection: xr.DataTree, topics) -> xr.DataArray:
    """Mark the common topics."""
    own = collection["topic"].to_numpy()
    place = named_positions(collection, "topic", topics, "common_topics")
    common = np.zeros(own.size, dtype=bool)
    common[place] = True
    return xr.DataArray(common, dims="topic", coords={"topic": own})


def asked_measures(collection: xr.DataTree, measures, relevance_level, gain) -> list[Measure]:
    """Take the measures apart, which must be sums of relevances or ratios of these."""
    if "rankings" not in collection.children:
        raise ValueError("the collection has no runs to evaluate")
    grades = grade_scale(collection)
    parsed = parse_measures(measures, relevance_level=relevance_level, gain=gain, grades=grades)
    check_adjusted(parsed)
    return parsed


def check_adjusted(measures: list[Measure]) -> None:
    """Refuse what is no sum of relevances and no ratio of these."""
    for measure in measures:
        if measure.kind == "preference":
            adjusted = sorted(names_of("linear", "count", "ratio"))
            raise ValueError(
                f"{measure.label} is no sum of relevances and no ratio of sums, so it is not "
                f"adjusted; measures that are: {', '.join(adjusted)}"
            )


def check_request(collection: xr.DataTree, base: str, leave_out: str) -> None:
    """Refuse options that do not exist, and judgments that are a random sample."""
    check_choice("base", base, BASES)
    check_choice("leave_out", leave_out, ("run", "team"))
    if "design" in collection.children:
        scheme = collection["design"].attrs.get("scheme")
        if scheme != "deterministic":
            raise ValueError(
                f"the judgments are a random sample ({scheme}), which has no pooling bias: "
                "be.evaluate with estimator='stat' or 'dyn' estimates from it without bias"
            )


def judged_pairs(collection: xr.DataTree) -> NDArray[np.bool_]:
    """Mark the judged pairs (pair,)."""
    return ~np.isnan(grade_columns(collection)[0])


def _top(collection: xr.DataTree, runs: NDArray[np.int64], topics, pool_depth: int) -> NDArray:
    """Pairs that runs put into the pool on some topics, (run, topic, rank); -1 for none."""
    return Rankings.of(collection).pair[runs][:, topics, :pool_depth]


def _holds(top: NDArray, marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether ranks hold marked pairs (pair,); those that hold nothing count as if they did."""
    return np.append(marked, True)[top]


def warn_topics(collection: xr.DataTree, missing_topics: str) -> None:
    """Say which topics have no judgment at all, and which of the others score 0 in all runs."""
    judged = judged_pairs(collection)
    topics = collection["topic"].to_numpy()
    count = np.bincount(collection["pair_topic"].to_numpy()[judged], minlength=topics.size)
    if not count.any():
        raise ValueError("no topic of the collection has a judgment")
    if (count == 0).any():
        text = without_judgment(topics[count == 0], int((count > 0).sum()))
        warnings.warn(text, stacklevel=3)
    if missing_topics == "zero":
        warn_unranked(collection, Rankings.of(collection), count > 0, stacklevel=4)


def informed_runs(
    collection: xr.DataTree, pool: Pool, before, common: xr.DataArray, pool_depth: int
) -> xr.DataArray:
    """Unpooled runs (run,) of which the judgments of the common topics tell something.

    Some of their documents were judged there beside those of `before` (pair,), or all had been.
    """
    top = _top(collection, pool.unpooled_runs, common, pool_depth)
    judged = _holds(top, judged_pairs(collection))
    informed = (judged & ~_holds(top, before)).any(axis=(1, 2)) | judged.all(axis=(1, 2))
    runs = collection["run"].to_numpy()[pool.unpooled_runs]
    return xr.DataArray(informed, dims="run", coords={"run": runs})


def open_topics(
    collection: xr.DataTree, pool: Pool, before, measures: list[Measure], pool_depth: int
) -> xr.DataArray:
    """Topics (measure, run, topic) where unpooled runs have documents outside `before` (pair,).

    Down to the pool depth, or to the cutoff of a sum of relevances, where that ends before.
    """
    top = _top(collection, pool.unpooled_runs, slice(None), pool_depth)
    lacking = ~_holds(top, before)
    depths = [
        one.cutoff if one.kind == "linear" and one.cutoff is not None else pool_depth
        for one in measures
    ]
    topics = np.stack([lacking[:, :, :depth].any(axis=-1) for depth in depths])
    return xr.DataArray(
        topics,
        dims=("measure", "run", "topic"),
        coords={
            "run": collection["run"].to_numpy()[pool.unpooled_runs],
            "topic": collection["topic"].to_numpy(),
        },
    )


def warn_no_spread(unseen: xr.DataArray, base: str) -> None:
    """Say of which unpooled runs (measure, run) the common topics show no spread, so no error."""
    if not unseen.any():
        return
    of_run = unseen.any("measure")
    first = of_run["run"].to_numpy()[int(np.argmax(of_run.to_numpy()))]
    other = ["take ", Option("base", "condensed"), ", whose biases differ more, "]
    warnings.warn(
        Message(
            f"the adjustment has no error for {int(of_run.sum())} of the {of_run.size} unpooled "
            f"runs by some measure, the first is '{first}': its bias is the same on all common "
            "topics, and need not be on the others, where documents of it have no judgment; name "
            "more common topics, ",
            *(other if base == "nonrelevant" else []),
            "or judge a random sample of the documents",
        ),
        stacklevel=3,
    )


def warn_unjudged_documents(
    collection: xr.DataTree,
    pool: Pool,
    common: xr.DataArray,
    pool_depth: int,
    informed: xr.DataArray,
) -> None:
    """Say how many documents that should have been judged on the common topics were not."""
    top = _top(collection, pool.unpooled_runs, common, pool_depth)
    lacking = (~_holds(top, judged_pairs(collection))).sum(axis=(1, 2))
    if not lacking.any():
        return
    runs = informed["run"].to_numpy()
    unknown = ""
    if not informed.all():
        unknown = (
            f", and has no error for {int((~informed).sum())} of the runs, of which nothing was "
            f"judged there beyond the pool, the first is '{runs[~informed.values][0]}'"
        )
    warnings.warn(
        f"{int(lacking.sum())} documents that unpooled runs return to depth {pool_depth} on the "
        f"common topics have no judgment and count as non-relevant, {int(lacking.max())} of them "
        f"of run '{runs[int(lacking.argmax())]}'; the adjustment takes what was judged for all "
        f"there is{unknown}",
        stacklevel=3,
    )


def warn_shallow_pool(collection: xr.DataTree, pool: Pool, seen, pool_depth: int) -> None:
    """Say that pooled runs lack judgments among those `seen` (pair,) down to the pool depth."""
    topics = np.unique(collection["pair_topic"].to_numpy()[seen])
    top = _top(collection, pool.pooled_runs, topics, pool_depth)
    returned = (top >= 0).sum(axis=(0, 1))
    lacking = (~_holds(top, seen)).sum(axis=(0, 1))
    if lacking.sum() < SHARE_UNJUDGED * returned.sum() or not lacking.any():
        return
    shallow = lacking >= SHARE_UNJUDGED * np.maximum(returned, 1)
    depth = int(np.argmax(shallow))
    deepest = "not even at rank 1 are they judged for the most part"
    if depth:
        deepest = f"they are judged for the most part down to depth {depth}, the "
    warnings.warn(
        Message(
            f"{int(lacking.sum())} of {int(returned.sum())} documents that pooled runs return to "
            f"depth {pool_depth}, counted for each run, have no judgment and count as "
            f"non-relevant, which hides bias; {deepest}",
            *([Option("pool_depth"), " to give"] if depth else []),
        ),
        stacklevel=3,
    )


def warn_fully_judged(collection: xr.DataTree, pool: Pool, seen, pool_depth: int) -> None:
    """Say which unpooled runs lack no judgment among those `seen` (pair,), True for all."""
    judged = judged_pairs(collection)
    topics = np.unique(collection["pair_topic"].to_numpy()[judged])
    top = _top(collection, pool.unpooled_runs, topics, pool_depth)
    full = _holds(top, judged & seen).all(axis=(1, 2)) & (top >= 0).any(axis=(1, 2))
    if full.any():
        first = collection["run"].to_numpy()[pool.unpooled_runs[int(full.argmax())]]
        warnings.warn(
            f"every document that {int(full.sum())} of the unpooled runs return to depth "
            f"{pool_depth} is judged, the first such run is '{first}': plain scores (be.evaluate) "
            "need no adjusting, and adjusted ones can lie beyond them",
            stacklevel=3,
        )
