"""Which runs put a judged document into the pool, and which alone did."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection import check_one_sample
from bayeseval.collection.choices import check_whole_numbers
from bayeseval.collection.labels import named_positions, row_of_pair
from bayeseval.frame.rankings import Rankings
from bayeseval.frame.sample import grade_columns


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
    """Pool of the contributing runs, beside runs that did not contribute."""
    check_whole_numbers(1, pool_depth=pool_depth)
    check_one_sample(collection, "scores are adjusted for one sample")
    grade = grade_columns(collection)
    judged = np.flatnonzero(~np.isnan(grade[0]))
    contributed = collection["contributed"].to_numpy()
    unpooled = _unpooled_runs(collection, runs_unpooled)
    pooled = np.flatnonzero(contributed)
    if not pooled.size:
        raise ValueError(
            "no run of the collection contributed to the pool; say which did with the column "
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
        chosen = np.flatnonzero(~contributed)
        if not chosen.size:
            raise ValueError(
                "every run of the collection contributed to the pool, so none is to be adjusted; "
                "a run that did not has contributed = False"
            )
        return chosen
    chosen = named_positions(collection, "run", runs, "runs_unpooled")
    if contributed[chosen].any():
        first = collection["run"].to_numpy()[chosen[np.argmax(contributed[chosen])]]
        raise ValueError(
            f"run '{first}' contributed to the pool, so its score has no pooling bias to adjust; "
            "name runs with contributed = False"
        )
    return chosen
