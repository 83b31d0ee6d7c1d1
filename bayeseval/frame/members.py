"""Which pairs and runs make a frame, and the fused order of its pairs."""

import numpy as np
import xarray as xr

from bayeseval.collection.choices import check_whole_numbers
from bayeseval.collection.labels import named_positions
from bayeseval.frame.rankings import Rankings


def contributing_runs(collection: xr.DataTree, runs) -> np.ndarray:
    """Positions of the runs that shape a design: those named, else those that contributed."""
    if runs is None:
        chosen = np.flatnonzero(collection["contributed"].to_numpy())
        if chosen.size == 0:
            raise ValueError(
                "no run of the collection contributed, so there is nothing to build a design from; "
                "name the runs to use with runs="
            )
        return chosen
    return np.unique(named_positions(collection, "run", runs, "runs"))


def pooled_by(rankings: Rankings, pool_depth: int) -> np.ndarray:
    """Mark the pairs (pair,) among the first ``pool_depth`` ranks of any run."""
    check_whole_numbers(1, pool_depth=pool_depth)
    return rankings.top(pool_depth).shown()


def frame_mask(collection: xr.DataTree, frame, pool_depth, runs: np.ndarray) -> tuple:
    """Pairs (bool) of the frame and the name of the rule that chose them."""
    rankings = Rankings.of(collection, runs)
    if frame is None:
        known = "judgments" in collection.children and "design" not in collection.children
        frame = "judged" if known else "retrieved"
    if not isinstance(frame, str):
        mask, name = pair_mask(frame, rankings.n_pairs, "frame"), "given"
    elif frame == "judged":
        mask, name = judged_mask(collection), frame
    elif frame == "retrieved":
        mask, name = rankings.shown(), frame
    else:
        raise ValueError(
            f"frame must be 'judged', 'retrieved' or a bool DataArray over pair, not {frame!r}"
        )
    if pool_depth is not None:
        mask = mask & pooled_by(rankings, pool_depth)
    if not mask.any():
        raise ValueError(f"the frame ({name}) is empty: no pair could be judged under this design")
    return mask, name


def judged_mask(collection: xr.DataTree) -> np.ndarray:
    """Pairs with a grade."""
    if "judgments" not in collection.children:
        raise ValueError(
            "frame='judged' needs judgments and the collection has none; use frame='retrieved'"
        )
    grade = collection["judgments/grade"]
    if "replicate" in grade.dims:
        raise ValueError("a design cannot be built on replicates of a sample; start from the truth")
    return ~np.isnan(grade.to_numpy())


def pair_mask(mask, n_pairs: int, name: str) -> np.ndarray:
    """A bool array over pairs, checked."""
    whole = isinstance(mask, xr.DataTree)
    values = np.zeros(0) if whole else np.asarray(mask)
    if values.dtype != bool or values.shape != (n_pairs,):
        found = "a collection" if whole else f"{values.dtype} of shape {values.shape}"
        raise ValueError(
            f"{name} must be a bool array over the {n_pairs} pairs of the collection, such as "
            f"collection['judgments/grade'].notnull(), not {found}"
        )
    return values


def ordered_frame(collection: xr.DataTree, mask: np.ndarray, runs: np.ndarray) -> list:
    """For each topic the frame's pair positions in fused order (:meth:`Rankings.fused`)."""
    rankings = Rankings.of(collection, runs)
    order = []
    for topic, start, stop in rankings.topics():
        best_first = rankings.fused(topic)
        order.append(start + best_first[mask[start:stop][best_first]])
    return order
