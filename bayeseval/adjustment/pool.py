"""The pool of judged documents, and scores of runs when some judgments are hidden."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection import check_one_sample, with_node
from bayeseval.collection.choices import check_whole_numbers
from bayeseval.collection.labels import named_positions, row_of_pair
from bayeseval.collection.origin import RUN_COORDS
from bayeseval.collection.pairs import renumber
from bayeseval.evaluation import evaluate
from bayeseval.evaluation.scores import topics_said
from bayeseval.frame.rankings import Rankings
from bayeseval.frame.sample import grade_columns, grade_scale

BASES = {"nonrelevant": "assumed", "condensed": "condensed"}


@dataclass(frozen=True, eq=False)
class Pool:
    """The judged documents that runs return down to the pool depth."""

    judged: NDArray[np.int64]  # (judged_pair,): positions of the judged pairs
    # positions of the runs that made the pool, and of those to adjust
    pooled_runs: NDArray[np.int64]
    unpooled_runs: NDArray[np.int64]
    # (run, judged_pair): whether a run of either kind returns the document to the pool depth
    pooled: NDArray[np.bool_]
    unpooled: NDArray[np.bool_]
    # (judged_pair,): whether any run that did not make the pool, to be adjusted or not, returns it
    by_others: NDArray[np.bool_]

    @property
    def only_unpooled(self) -> NDArray[np.bool_]:
        """Judged pairs (judged_pair,) that runs outside the pool return and no pooled one."""
        return self.by_others & ~self.pooled.any(axis=0)

    @property
    def n_outside(self) -> int:
        """Number of judged pairs that no run returns to the pool depth."""
        return int((~self.pooled.any(axis=0) & ~self.by_others).sum())

    def unique(self, group: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Judged pairs that one group of the pooled runs alone returns, (group, judged_pair).

        ``group`` numbers the group of every pooled run from 0: the runs themselves, or teams.
        """
        returned = np.zeros((int(group.max()) + 1, self.judged.size), dtype=bool)
        np.logical_or.at(returned, group, self.pooled)
        return returned & (returned.sum(axis=0) == 1)


def judged_pool(
    collection: xr.DataTree, runs_unpooled: Sequence[str] | None, pool_depth: int
) -> Pool:
    """Pool of the contributing runs, with the runs that did not contribute."""
    check_whole_numbers(1, pool_depth=pool_depth)
    check_one_sample(collection, "scores are adjusted for one sample")
    grade = grade_columns(collection)
    judged = np.flatnonzero(~np.isnan(grade[0]))
    contributed = collection["contributed"].to_numpy()
    unpooled = _unpooled_runs(collection, runs_unpooled)
    pooled = np.flatnonzero(contributed)
    if not pooled.size:
        raise ValueError(
            "no run of the collection contributed to the pool; mark those that did with the column "
            "'contributed' of run_table= in be.read_collection"
        )
    row = row_of_pair(judged, collection.sizes["pair"])
    top = row[Rankings.of(collection).pair[:, :, :pool_depth]]  # -1: the last column
    returned = np.zeros((top.shape[0], judged.size + 1), dtype=bool)
    returned[np.arange(top.shape[0])[:, None], top.reshape(top.shape[0], -1)] = True
    returned = returned[:, :-1]
    by_others = returned[~contributed].any(axis=0)
    return Pool(judged, pooled, unpooled, returned[pooled], returned[unpooled], by_others)


def _unpooled_runs(collection: xr.DataTree, runs: Sequence[str] | None) -> NDArray[np.int64]:
    """Positions of the runs to adjust: those named, else all that did not contribute."""
    contributed = collection["contributed"].to_numpy()
    if runs is None:
        unpooled = np.flatnonzero(~contributed)
        if not unpooled.size:
            raise ValueError(
                "every run of the collection contributed to the pool, so none is to be adjusted; "
                "a run that did not has contributed = False"
            )
        return unpooled
    unpooled = named_positions(collection, "run", runs, "unpooled")
    if contributed[unpooled].any():
        first = collection["run"].to_numpy()[unpooled[np.argmax(contributed[unpooled])]]
        raise ValueError(
            f"run '{first}' contributed to the pool, so its score has no pooling bias to adjust; "
            "name runs with contributed = False"
        )
    return unpooled


def rescored(
    collection: xr.DataTree,
    runs: NDArray[np.int64],
    visible: NDArray[np.bool_],
    measures,
    *,
    base: str,
    **options,
) -> xr.DataArray:
    """Scores (measure, run, topic, replicate) of runs by the judgments that are visible.

    Runs are positions (run,), and each row of ``visible`` (replicate, pair) is a set of judgments
    of its own. The base says how documents without a visible judgment count; measures and options
    are those of ``evaluate``.
    """
    ranking = Rankings.of(collection).pair[runs]
    needed = visible.any(axis=0)
    needed[ranking[ranking >= 0]] = True
    old = np.flatnonzero(needed)
    cut = renumber(
        collection,
        topics=collection["topic"].to_numpy(),
        document=collection["document"].to_numpy()[old],
        pair_topic=collection["pair_topic"].to_numpy()[old],
        old=old,
        runs=runs,
    )
    grade = np.where(visible[:, old], grade_columns(collection)[:, old], np.nan)
    judgments = xr.Dataset(
        {"grade": (("replicate", "pair"), grade), "pooled": ("pair", visible.any(axis=0)[old])},
        attrs={"grade_scale": json.dumps(grade_scale(collection))},
    )
    seen = with_node(with_node(cut, "design", None), "judgments", judgments)
    with topics_said():
        scores = evaluate(seen, measures, estimator=BASES[base], **options)
    estimate = scores["estimate"].drop_vars(RUN_COORDS, errors="ignore")
    return estimate.transpose("measure", "run", "topic", "replicate")


def judged_pairs(collection: xr.DataTree) -> NDArray[np.bool_]:
    """Mark the judged pairs (pair,)."""
    return ~np.isnan(grade_columns(collection)[0])
