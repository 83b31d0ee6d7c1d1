"""Scores of unpooled runs, adjusted for the bias of not having been pooled."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bayeseval.adjustment.common_topics import (
    adjusted_by_topics,
    deviation,
    no_spread,
    without_errors,
)
from bayeseval.adjustment.leaving_out import adjusted_by_runs, left_out_bias
from bayeseval.adjustment.pool import Pool, judged_pool
from bayeseval.adjustment.request import (
    asked_measures,
    check_request,
    common_mask,
    informed_runs,
    judged_pairs,
    open_topics,
    warn_fully_judged,
    warn_no_spread,
    warn_shallow_pool,
    warn_topics,
    warn_unjudged_documents,
)
from bayeseval.adjustment.rescoring import rescored
from bayeseval.collection import check_collection, pair_positions
from bayeseval.collection.schema import describe_pair
from bayeseval.frame.rankings import pair_mask
from bayeseval.messages import Message, Option
from bayeseval.trec.frames import checked_frame


def adjust_scores(
    collection: xr.DataTree,
    runs_unpooled: Sequence[str] | None = None,
    *,
    common_topics: Sequence[str] | None = None,
    measures: Any = "RBP(p=0.8)@10",
    pool_depth: int = 10,
    base: str = "nonrelevant",
    leave_out: str = "run",
    judged_before: xr.DataArray | pd.DataFrame | None = None,
    relevance_level: int = 1,
    gain=None,
    missing_topics: str = "zero",
    n_boot: int = 1000,
    random_seed: int | None = None,
    ci_prob: float = 0.9,
) -> xr.Dataset:
    r"""Mean scores of unpooled runs, adjusted for pooling bias.

    .. math:: adjusted = u_r + a

    where u is the mean unpooled score and a estimates its bias. Without common topics (algorithm 1)
    a is the mean bias of the pooled runs, :math:`\sum_s (p_s - u_s) / |S|`: each leaves the pool in
    turn and r joins it. With common topics (algorithm 2), where the documents of r were judged
    too, it is the mean bias of r itself there, :math:`\sum_i (t_i - u_i) / n` (equation 1).

    Parameters
    ----------
    collection : DataTree
        Runs and judgments; ``contributed`` says which runs made the pool.
    runs_unpooled : str or list of str, optional
        Runs to adjust. Default: all that did not contribute.
    common_topics : str or list of str, optional
        Topics on which the documents of the unpooled runs were judged to the pool depth as well.
    measures : str, ir_measures object, or list of them
        Linear measures or ratios. The default has the weights of RBP down to rank 10, not
        renormalised.
    pool_depth : int
        Ranks that each run puts into the pool. Algorithm 1 warns where a tenth of the documents
        that pooled runs return down to it, or more, has no judgment.
    base : {"nonrelevant", "condensed"}
        The unpooled score: unjudged documents count as non-relevant, or leave the ranking and
        judged ones move up, from beyond the evaluation depth too (places that stay empty count as
        non-relevant).
    leave_out : {"run", "team"}
        Whether pooled runs leave one by one or with all runs of their team (algorithm 1).
    judged_before : bool DataArray (pair,) or DataFrame (topic, document), optional
        Judgments that unpooled scores rest on: the pool of the pooled runs, Q in the paper.
        Default: every judgment but those of documents that runs which did not contribute alone
        return down to the pool depth (on all topics, so that all are treated alike). See Notes.
    relevance_level, gain, missing_topics
        As for ``evaluate``. With ``missing_topics="skip"`` the biases are those on the topics that
        the unpooled run has; a pooled run that has none of these (NaN) does not count.
    n_boot : int
        Bootstrap samples of the common topics, for the interval that suits few topics.
    random_seed : int, optional
        Of the bootstrap.
    ci_prob : float
        Coverage of the intervals.

    Returns
    -------
    Dataset (measure, run)
        ``unadjusted``, ``adjustment``, ``adjusted``, ``standard_error``, ``interval``; ``helps``, 1
        where the standard error of a is below abs(a) (condition 6), else 0, NaN where no error is
        known, and ``confidence``, the
        chance that the adjusted score is nearer to the truth than the unadjusted one. With common
        topics also what ``adjust_by_topics`` lists (bootstrap interval, the mean over the common
        topics alone as the comparator); without, ``bias`` (measure, run, left_out), that of each
        pooled run, and ``adjustment_error``, the standard error of their mean. Of the ``n_judged``
        documents the attribute ``judged_set_aside`` counts those that unadjusted scores do not
        rest on, ``judged_outside_pool`` those that no run returns to the pool depth.

    Raises
    ------
    ValueError
        No pooled or no unpooled run, fewer than two pooled runs (teams) to leave out, an unknown
        run or topic, a run that contributed, a measure that is neither linear nor a ratio,
        judgments sampled at random, a frame ``judged_before`` of which the collection has no row.

    Warns
    -----
    UserWarning
        Runs that common topics tell no error of; documents without judgment on common topics, or in
        the pool (algorithm 1); unpooled runs that were judged whole; topics without judgment.

    Notes
    -----
    Estimand: the mean score that plain evaluation would give r, had its documents been judged to
    the pool depth on all topics. Algorithm 2: random is which topics are common, a simple random
    sample of all; unbiased for every run and both bases, with the standard error of equations 3 and
    7 (:func:`adjustment.adjust_by_topics`). What breaks it: common topics chosen for their scores, and
    documents of r without judgment on them (a warning counts these; where nothing of r was judged
    there that was not before, the adjustment says nothing, and its error, interval, ``helps`` and
    ``confidence`` are NaN). They are NaN too where the bias of r is the same on all common topics,
    such as 0 because nothing that was newly judged is relevant, and r has documents without
    judgment on other topics, down to the pool depth or the cutoff of a linear measure; where it has
    none, or all topics are common, the error is 0. Of intervals of
    90 % by 4 to 15 common topics, most of them without bias, .83 to .95 hold
    (:func:`adjustment.adjust_by_topics`).
    Algorithm 1: random are the runs; unbiased only where r comes from the population of the pooled
    runs. The standard error is that of predicting the bias of one more such run (team), and says
    nothing about other runs: a run that is better or different in kind is adjusted too little, one
    with a teammate in the pool too much. Its ``confidence`` is the normal chance that the bias of r
    is above a / 2.

    Judgments of documents that r returns and no pooled run does, made for another reason (r was
    judged after all, or a run that the collection lacks returned them), are set aside, for each
    pooled run loses the documents that it alone returns, whoever else brought them: so u means the
    same for r and the others, and r is not paid twice for what was judged. ``unadjusted`` is then
    below the plain score of r. Where every document of r is judged, its plain score needs no
    adjusting, and algorithm 1 warns that it does worse. Cost: algorithm 2 scores
    the unpooled runs twice, algorithm 1 each pooled run once for every different set of documents
    that the unpooled runs keep in the pool.

    References
    ----------
    W. Webber and L. A. F. Park, "Score adjustment for correction of pooling bias", SIGIR 2009,
    sections 2.1, 3.1 and 3.2, doi:10.1145/1571941.1572018.

    Examples
    --------
    >>> import pandas as pd, bayeseval as be
    >>> rankings = {"a": "pqx", "b": "qrx", "new": "psy"}
    >>> runs = pd.DataFrame(
    ...     [(run, "1", d, -i) for run, ds in rankings.items() for i, d in enumerate(ds)],
    ...     columns=["run", "topic", "document", "score"],
    ... )
    >>> qrels = pd.DataFrame({"topic": "1", "document": list("pqr"), "grade": [1, 1, 1]})
    >>> table = pd.DataFrame({"run": ["a", "b", "new"], "contributed": [True, True, False]})
    >>> collection = be.read_collection(qrels, runs, run_table=table)
    >>> adjusted = be.adjust_scores(collection, measures="P@2", pool_depth=2)
    >>> adjusted.bias.sel(run="new").squeeze().values  # p, of a, is kept by new
    array([0. , 0.5])
    >>> adjusted.unadjusted.item(), adjusted.adjusted.item()
    (0.5, 0.75)
    """
    check_collection(collection)
    parsed = asked_measures(collection, measures, relevance_level, gain)
    check_request(collection, base, leave_out)
    pool = judged_pool(collection, runs_unpooled, pool_depth)
    warn_topics(collection, missing_topics)
    scoring = {
        "base": base,
        "relevance_level": relevance_level,
        "gain": gain,
        "missing_topics": missing_topics,
    }
    before = _judged_before(collection, pool, judged_before)
    if common_topics is None:
        group = _groups(collection, pool, leave_out)
        warn_fully_judged(collection, pool, judged_before is None or before, pool_depth)
        warn_shallow_pool(collection, pool, before, pool_depth)
        scores = rescored(collection, pool.unpooled_runs, before[None], measures, **scoring)
        scores = scores.isel(replicate=0)
        known = scores.notnull()
        bias = left_out_bias(collection, pool, group, before, known, measures, **scoring)
        unadjusted = scores.mean("topic", skipna=True)
        result = adjusted_by_runs(unadjusted, bias, group, ci_prob=ci_prob)
    else:
        common = common_mask(collection, common_topics)
        informed = informed_runs(collection, pool, before, common, pool_depth)
        warn_unjudged_documents(collection, pool, common, pool_depth, informed)
        true, unadjusted = _two_scores(collection, pool, before, measures, scoring)
        how = {"n_boot": n_boot, "random_seed": random_seed, "ci_prob": ci_prob}
        result = adjusted_by_topics(true, unadjusted, common, **how)
        unjudged = open_topics(collection, pool, before, parsed, pool_depth)
        unseen = informed & _unseen(result, true, unadjusted, unjudged & ~common)
        warn_no_spread(unseen, base)
        result = without_errors(result, ~informed | unseen)
        result["common_mean_error"] = result["common_mean_error"].where(informed)
    labels = [measure.label for measure in parsed]
    return result.assign_coords(measure=labels).assign_attrs(
        algorithm=1 if common_topics is None else 2,
        leave_out=leave_out if common_topics is None else "",
        base=base,
        pool_depth=int(pool_depth),
        judged_outside_pool=pool.n_outside,
        judged_set_aside=int((~before[pool.judged]).sum()),
        n_judged=int(pool.judged.size),
        ci_prob=ci_prob,
    )


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
    """Mark scores (measure, run) whose bias is the same on all common topics, but may not be.

    It may not where documents are `unjudged` on other topics (measure, run, topic), or where scores
    by what is judged there say so, as those of condensed rankings can.
    """
    partial = result["n_common"] < result["n_topics"]
    alike = partial & no_spread(result["topic_deviation"], unadjusted)
    everywhere = no_spread(deviation(true - unadjusted), unadjusted)
    return alike & ((unjudged & unadjusted.notnull()).any("topic") | ~everywhere)


def _judged_before(collection, pool: Pool, given) -> NDArray[np.bool_]:
    """Judged pairs (pair,) that unpooled scores rest on."""
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
