"""Scores of unpooled runs, adjusted for the bias of not having been pooled."""

import warnings
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bayeseval.adjustment.algorithms import (
    adjusted_by_runs,
    adjusted_by_topics,
    deviation,
    left_out_bias,
    no_spread,
    without_errors,
)
from bayeseval.adjustment.pool import BASES, Pool, judged_pairs, judged_pool, rescored
from bayeseval.collection import check_collection, pair_positions, select
from bayeseval.collection.choices import check_choice
from bayeseval.collection.labels import named_positions, without_judgment
from bayeseval.collection.schema import describe_pair, with_node
from bayeseval.evaluation import evaluate, mean_over_topics
from bayeseval.evaluation.scores import warn_unranked
from bayeseval.frame.rankings import Rankings, pair_mask
from bayeseval.frame.sample import grade_scale
from bayeseval.measures.measure import Measure
from bayeseval.measures.names import parse_measures
from bayeseval.measures.table import SUMS, names_of
from bayeseval.messages import Message, Option, warn
from bayeseval.trec.frames import checked_frame

# A share of unjudged documents in the pool, from which on algorithm 1 warns. Pools of real
# collections have small holes (runs cut, unreadable documents), which change the biases little.
SHARE_UNJUDGED = 0.1
N_BOOT = 1000


def adjust_scores(
    collection: xr.DataTree,
    measures: Any = "RBP(p=0.8)@10",
    *,
    unpooled: Sequence[str] | None = None,
    common_topics: Sequence[str] | None = None,
    pool_depth: int = 10,
    relevance_level: int = 1,
    ci_prob: float = 0.9,
    base: Literal["nonrelevant", "condensed"] = "nonrelevant",
    leave_out: Literal["run", "team"] = "run",
    judged_before: xr.DataArray | pd.DataFrame | None = None,
    gain=None,
    missing_topics: Literal["zero", "skip"] = "zero",
) -> xr.Dataset:
    r"""Mean scores of unpooled runs, adjusted for pooling bias.

    .. math:: adjusted = u_r + a

    where u is the mean unpooled score and a estimates its bias. Without common topics (algorithm 1)
    a is the mean bias of the pooled runs: each leaves the pool in turn and r joins it. With common
    topics (algorithm 2), where the documents of r were judged, it is the mean bias of r there.

    Parameters
    ----------
    collection : DataTree
        Runs and judgments; ``contributed`` says which runs made the pool.
    measures : as for ``evaluate``
        Linear measures or ratios.
    unpooled : list of str, optional
        Runs to adjust. Default: all that did not contribute.
    common_topics : list of str, optional
        Topics on which the documents of the unpooled runs were judged to the pool depth as well.
    pool_depth : int
        Ranks that each run puts into the pool.
    relevance_level, ci_prob, gain, missing_topics
        As for ``evaluate``.
    base : {"nonrelevant", "condensed"}
        The unpooled score: unjudged documents count as non-relevant, or leave the ranking.
    leave_out : {"run", "team"}
        Whether pooled runs leave one by one or with all runs of their team (algorithm 1).
    judged_before : bool DataArray (pair,) or DataFrame (topic, document), optional
        Judgments for the unpooled scores. Default: all judgments, except those of documents that
        only runs which did not contribute return down to the pool depth.

    Returns
    -------
    Dataset (measure, run)
        ``unadjusted``, ``adjustment``, ``adjusted``, ``standard_error``, ``interval``; ``helps``, 1
        where the standard error of a is below abs(a), else 0, NaN where no error is known;
        ``confidence`` that adjusting makes the error smaller. With common topics also the variables
        of ``adjust_by_topics``; without, ``bias`` (measure, run, left_out) of each pooled run,
        ``adjustment_error`` of their mean, and ``outside_weight`` on unjudged documents.

    Raises
    ------
    ValueError
        Fewer than two pooled runs, no unpooled run, another measure, judgments sampled at random.

    References
    ----------
    W. Webber and L. A. F. Park, "Score adjustment for correction of pooling bias", SIGIR 2009,
    doi:10.1145/1571941.1572018. The page *methods* says when it is unbiased.

    Examples
    --------
    >>> import pandas as pd, bayeseval as be
    >>> runs = {"a": "pqx", "b": "qrx", "new": "psy"}
    >>> runs = {run: {"1": {d: -i for i, d in enumerate(ds)}} for run, ds in runs.items()}
    >>> table = pd.DataFrame({"run": [*runs], "contributed": [True, True, False]})
    >>> collection = be.read_collection({"1": dict.fromkeys("pqr", 1)}, runs, run_table=table)
    >>> adjusted = be.adjust_scores(collection, "P@2", pool_depth=2)
    >>> adjusted.unadjusted.item(), adjusted.adjusted.item()
    (0.5, 0.75)
    """
    check_collection(collection, "rankings", "judgments")
    parsed = parse_measures(
        measures, relevance_level=relevance_level, gain=gain, grades=grade_scale(collection)
    )
    check_adjusted(parsed)
    _check_request(collection, base, leave_out)
    pool = judged_pool(collection, unpooled, pool_depth)
    _warn_topics(collection, missing_topics)
    scoring = {"relevance_level": relevance_level, "gain": gain, "missing_topics": missing_topics}
    scoring["base"] = base
    before = _judged_before(collection, pool, judged_before)
    if common_topics is None:
        group = _groups(collection, pool, leave_out)
        _warn_fully_judged(collection, pool, judged_before is None or before, pool_depth)
        _warn_shallow_pool(collection, pool, before, pool_depth)
        result = _left_out(collection, pool, before, group, measures, scoring, ci_prob)
    else:
        common = _common_mask(collection, common_topics)
        of_topics = (collection, pool, pool_depth, before, common, measures, parsed)
        result = _by_topics(*of_topics, scoring, ci_prob)
    return result.assign_coords(measure=[measure.label for measure in parsed]).assign_attrs(
        algorithm=1 if common_topics is None else 2,
        leave_out=leave_out if common_topics is None else "",
        base=base,
        pool_depth=int(pool_depth),
        judged_outside_pool=pool.n_outside,
        judged_set_aside=int((~before[pool.judged]).sum()),
        n_judged=int(pool.judged.size),
        ci_prob=ci_prob,
    )


def _left_out(
    collection, pool: Pool, before, group, measures, scoring: dict, ci_prob: float
) -> xr.Dataset:
    """Algorithm 1: the bias of pooled runs, which are left out in turn by ``group``."""
    scores = rescored(collection, pool.unpooled_runs, before[None], measures, **scoring)
    scores = scores.isel(replicate=0)
    bias = left_out_bias(collection, pool, group, before, scores.notnull(), measures, **scoring)
    unadjusted = scores.mean("topic", skipna=True)
    result = adjusted_by_runs(unadjusted, bias, group, ci_prob=ci_prob)
    known = collection.children["judgments"].to_dataset(inherit=False)
    known = known.assign(grade=known["grade"].where(xr.DataArray(before, dims="pair")))
    alone = with_node(collection, "judgments", known)
    alone = select(alone, runs=collection["run"].to_numpy()[pool.unpooled_runs])
    plain = {name: value for name, value in scoring.items() if name != "base"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # given before
        mean = mean_over_topics(evaluate(alone, measures, estimator="assumed", **plain))
    weight = mean["outside_weight"].transpose("measure", "run").to_numpy()
    return result.assign(outside_weight=(("measure", "run"), weight))


def _by_topics(
    collection,
    pool: Pool,
    pool_depth: int,
    before,
    common: xr.DataArray,
    measures,
    parsed: list[Measure],
    scoring: dict,
    ci_prob: float,
) -> xr.Dataset:
    """Algorithm 2: the bias of each unpooled run on the common topics."""
    informed = _informed_runs(collection, pool, before, common, pool_depth)
    _warn_unjudged_documents(collection, pool, common, pool_depth, informed)
    true, unadjusted = _two_scores(collection, pool, before, measures, scoring)
    result = adjusted_by_topics(
        true, unadjusted, common, n_boot=N_BOOT, random_seed=0, ci_prob=ci_prob
    )
    unjudged = _unjudged_topics(collection, pool, before, parsed, pool_depth)
    unseen = informed & _unseen(result, true, unadjusted, unjudged & ~common)
    _warn_no_spread(unseen, scoring["base"])
    result = without_errors(result, ~informed | unseen)
    result["common_mean_error"] = result["common_mean_error"].where(informed)
    return result


def _common_mask(collection: xr.DataTree, topics) -> xr.DataArray:
    """Mark the common topics."""
    own = collection["topic"].to_numpy()
    common = np.zeros(own.size, dtype=bool)
    common[named_positions(collection, "topic", topics, "common_topics")] = True
    return xr.DataArray(common, dims="topic", coords={"topic": own})


def _two_scores(collection, pool: Pool, before, measures, scoring) -> list[xr.DataArray]:
    """True and unadjusted scores (measure, run, topic); the true ones have no gaps to fill."""
    masks = np.stack([judged_pairs(collection), before])
    runs = pool.unpooled_runs
    scores = rescored(collection, runs, masks, measures, **scoring)
    true = scores
    if scoring["base"] != "nonrelevant":
        plain = scoring | {"base": "nonrelevant"}
        true = rescored(collection, runs, masks[:1], measures, **plain)
    return [true.isel(replicate=0), scores.isel(replicate=1)]


def _unseen(result: xr.Dataset, true, unadjusted, unjudged: xr.DataArray) -> xr.DataArray:
    """Mark scores (measure, run) whose bias is the same on all common topics by chance.

    On other topics documents are `unjudged` (measure, run, topic), or the scores by the judgments
    there have other biases, as those of condensed rankings can.
    """
    partial = result["n_common"] < result["n_topics"]
    alike = partial & no_spread(result["topic_deviation"], unadjusted)
    everywhere = no_spread(deviation(true - unadjusted), unadjusted)
    return alike & ((unjudged & unadjusted.notnull()).any("topic") | ~everywhere)


def _judged_before(collection, pool: Pool, given) -> NDArray[np.bool_]:
    """Judged pairs (pair,) that unpooled scores use."""
    visible = judged_pairs(collection)
    if isinstance(given, pd.DataFrame):
        rows = checked_frame(given, "judged_before DataFrame", ("topic", "document"), ())
        place = pair_positions(collection, rows["topic"], rows["document"])
        if (place < 0).all():
            raise ValueError(
                "judged_before names no document that the collection has; its first row is topic "
                f"'{rows['topic'][0]}' document '{rows['document'][0]}', and the collection's "
                f"first pair is {describe_pair(collection, 0)}"
            )
        listed = np.zeros(visible.size, dtype=bool)
        listed[place[place >= 0]] = True
        return visible & listed
    if given is not None:
        return visible & pair_mask(given, visible.size, "judged_before")
    visible[pool.judged] = ~pool.only_unpooled
    return visible


def _groups(collection, pool: Pool, leave_out: str) -> NDArray[np.int64]:
    """Number of the group of every pooled run."""
    group = np.arange(pool.pooled_runs.size)
    if leave_out == "team":
        team = collection["team"].to_numpy()[pool.pooled_runs]
        if (team == "").any():
            first = collection["run"].to_numpy()[pool.pooled_runs[int(np.argmax(team == ""))]]
            raise ValueError(
                Message(
                    Option("leave_out", "team"),
                    f" needs the team of every pooled run, and run '{first}' has none; give it in ",
                    Option("teams", text="the column 'team' of run_table= in be.read_collection"),
                )
            )
        group = np.unique(team, return_inverse=True)[1]
    if group.max() < 1:
        raise ValueError(
            f"leaving out pooled runs needs at least two {leave_out}s in the pool, and there is "
            "one; adjust by common topics instead"
        )
    return group


def check_adjusted(measures: list[Measure]) -> None:
    """Refuse what is no sum of relevances and no ratio of these."""
    for measure in measures:
        if measure.kind not in SUMS:
            adjusted = sorted(names_of(*SUMS))
            raise ValueError(
                f"{measure.label} is no sum of relevances and no ratio of sums, so it is not "
                f"adjusted; measures that are: {', '.join(adjusted)}"
            )


def _check_request(collection: xr.DataTree, base: str, leave_out: str) -> None:
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


def _top(collection: xr.DataTree, runs: NDArray[np.int64], topics, pool_depth: int) -> NDArray:
    """Pairs that runs put into the pool on some topics, (run, topic, rank); -1 for none."""
    return Rankings.of(collection).pair[runs][:, topics, :pool_depth]


def _holds(top: NDArray, marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether ranks have marked pairs (pair,); True for empty ranks."""
    return np.append(marked, True)[top]


def _warn_topics(collection: xr.DataTree, missing_topics: str) -> None:
    """Warn of topics without judgments, and of others that score 0 in all runs."""
    judged = judged_pairs(collection)
    topics = collection["topic"].to_numpy()
    count = np.bincount(collection["pair_topic"].to_numpy()[judged], minlength=topics.size)
    if not count.any():
        raise ValueError("no topic of the collection has a judgment")
    if (count == 0).any():
        text = without_judgment(topics[count == 0], int((count > 0).sum()))
        warn(text)
    if missing_topics == "zero":
        warn_unranked(collection, Rankings.of(collection), count > 0)


def _informed_runs(
    collection: xr.DataTree, pool: Pool, before, common: xr.DataArray, pool_depth: int
) -> xr.DataArray:
    """Unpooled runs (run,) whose bias the judgments of the common topics can show.

    Some of their documents there have judgments that are not among `before` (pair,), or all have
    judgments.
    """
    top = _top(collection, pool.unpooled_runs, common, pool_depth)
    judged = _holds(top, judged_pairs(collection))
    informed = (judged & ~_holds(top, before)).any(axis=(1, 2)) | judged.all(axis=(1, 2))
    runs = collection["run"].to_numpy()[pool.unpooled_runs]
    return xr.DataArray(informed, dims="run", coords={"run": runs})


def _unjudged_topics(
    collection: xr.DataTree, pool: Pool, before, measures: list[Measure], pool_depth: int
) -> xr.DataArray:
    """Topics (measure, run, topic) where unpooled runs have documents outside `before` (pair,).

    Down to the pool depth, or to the cutoff of a sum of relevances, where that ends before.
    """
    top = _top(collection, pool.unpooled_runs, slice(None), pool_depth)
    missing = ~_holds(top, before)
    depths = [
        one.cutoff if one.kind == "linear" and one.cutoff is not None else pool_depth
        for one in measures
    ]
    topics = np.stack([missing[:, :, :depth].any(axis=-1) for depth in depths])
    return xr.DataArray(
        topics,
        dims=("measure", "run", "topic"),
        coords={
            "run": collection["run"].to_numpy()[pool.unpooled_runs],
            "topic": collection["topic"].to_numpy(),
        },
    )


def _warn_no_spread(unseen: xr.DataArray, base: str) -> None:
    """Warn of unpooled runs (measure, run) without spread on the common topics: no error."""
    if not unseen.any():
        return
    of_run = unseen.any("measure")
    first = of_run["run"].to_numpy()[int(np.argmax(of_run.to_numpy()))]
    other = ["take ", Option("base", "condensed"), ", whose biases differ more, "]
    warn(
        Message(
            f"the adjustment has no error for {int(of_run.sum())} of the {of_run.size} unpooled "
            f"runs by some measure, the first is '{first}': its bias is the same on all common "
            "topics, and need not be on the others, where documents of it have no judgment; name "
            "more common topics, ",
            *(other if base == "nonrelevant" else []),
            "or judge a random sample of the documents",
        ),
    )


def _warn_unjudged_documents(
    collection: xr.DataTree,
    pool: Pool,
    common: xr.DataArray,
    pool_depth: int,
    informed: xr.DataArray,
) -> None:
    """Warn of unjudged documents of the unpooled runs on the common topics."""
    top = _top(collection, pool.unpooled_runs, common, pool_depth)
    missing = (~_holds(top, judged_pairs(collection))).sum(axis=(1, 2))
    if not missing.any():
        return
    runs = informed["run"].to_numpy()
    unknown = ""
    if not informed.all():
        unknown = (
            f", and has no error for {int((~informed).sum())} of the runs, of which nothing was "
            f"judged there beyond the pool, the first is '{runs[~informed.values][0]}'"
        )
    warn(
        f"{int(missing.sum())} documents that unpooled runs return to depth {pool_depth} on the "
        f"common topics have no judgment and count as non-relevant, {int(missing.max())} of them "
        f"of run '{runs[int(missing.argmax())]}'; the adjustment assumes that no such "
        f"document is relevant{unknown}",
    )


def _warn_shallow_pool(collection: xr.DataTree, pool: Pool, seen, pool_depth: int) -> None:
    """Warn where pooled runs have few judgments among those `seen` (pair,) to the pool depth."""
    topics = np.unique(collection["pair_topic"].to_numpy()[seen])
    top = _top(collection, pool.pooled_runs, topics, pool_depth)
    returned = (top >= 0).sum(axis=(0, 1))
    missing = (~_holds(top, seen)).sum(axis=(0, 1))
    if missing.sum() < SHARE_UNJUDGED * returned.sum() or not missing.any():
        return
    shallow = missing >= SHARE_UNJUDGED * np.maximum(returned, 1)
    depth = int(np.argmax(shallow))
    deepest = "not even at rank 1 are they judged for the most part"
    if depth:
        deepest = f"they are judged for the most part down to depth {depth}, the "
    warn(
        Message(
            f"{int(missing.sum())} of {int(returned.sum())} documents that pooled runs return to "
            f"depth {pool_depth}, counted for each run, have no judgment and count as "
            f"non-relevant, which hides bias; {deepest}",
            *([Option("pool_depth"), " to give"] if depth else []),
        ),
    )


def _warn_fully_judged(collection: xr.DataTree, pool: Pool, seen, pool_depth: int) -> None:
    """Warn of unpooled runs with all judgments among those `seen` (pair,), True for all."""
    judged = judged_pairs(collection)
    topics = np.unique(collection["pair_topic"].to_numpy()[judged])
    top = _top(collection, pool.unpooled_runs, topics, pool_depth)
    full = _holds(top, judged & seen).all(axis=(1, 2)) & (top >= 0).any(axis=(1, 2))
    if full.any():
        first = collection["run"].to_numpy()[pool.unpooled_runs[int(full.argmax())]]
        warn(
            f"every document that {int(full.sum())} of the unpooled runs return to depth "
            f"{pool_depth} is judged, the first such run is '{first}': plain scores (be.evaluate) "
            "need no adjusting, and adjusted ones can lie beyond them",
        )
