"""A design and its sample over the pairs of a collection, found by topic and document label."""

from typing import Any

import numpy as np
import xarray as xr

from bayeseval.collection import pair_positions
from bayeseval.collection.labels import label_positions, pair_names
from bayeseval.collection.pairs import moved
from bayeseval.collection.schema import describe_pair

_PLACED = (
    *("inclusion_probability", "draw_probability", "stratum", "predicted_relevance"),
    *("place", "judging_order", "stratum_stage", "stratum_extension"),
    *("stratum_size", "stratum_sample_size"),
)


def frame_pairs(design: xr.Dataset) -> np.ndarray:
    """Pairs that the design can sample, bool (pair,).

    Those with an inclusion probability above 0; for draws with replacement, whose inclusion
    probability is not known, those with a draw probability above 0.
    """
    if design.attrs.get("scheme") == "with_replacement":
        return design["draw_probability"].to_numpy() > 0
    return design["inclusion_probability"].to_numpy() > 0


def placed_design(collection: xr.DataTree, design: xr.Dataset) -> xr.Dataset:
    """The design's variables over the pairs and topics of a collection, without labels."""
    if _is_own(collection, design):
        return design
    where = design_rows(collection, design)
    frame = frame_pairs(design)
    missing = np.count_nonzero(frame) - np.count_nonzero(frame[where[where >= 0]])
    if missing:
        raise ValueError(
            f"{missing} pairs of the design's frame are not in the collection: the design does not "
            "belong to it"
        )
    topic = label_positions(collection["topic"], design["topic"])[design["stratum_topic"]]
    placed = moved(design[[name for name in _PLACED if name in design]], where)
    return placed.assign(stratum_topic=("stratum_id", topic.astype(np.int32)))


def check_design(design: Any) -> None:
    """Refuse what is no Dataset of a function of ``bayeseval.designs``, or of ``read_design``."""
    known = isinstance(design, xr.Dataset) and "scheme" in design.attrs
    if not known or "inclusion_probability" not in design:
        raise ValueError(
            "a design is the Dataset that a function of be.designs makes or be.read_design reads, "
            f"not this {type(design).__name__}"
        )


def design_rows(collection: xr.DataTree, design: xr.Dataset) -> np.ndarray:
    """For every pair of the collection its row in the design, -1 where it has none."""
    root = collection.to_dataset()
    if _is_own(collection, design) or all(
        _same(root[name], design[name]) for name in ("topic", "pair_topic", "document")
    ):
        return np.arange(design.sizes["pair"])
    return pair_positions(design, *pair_names(collection))


def _same(first: xr.DataArray, second: xr.DataArray) -> bool:
    """Whether two arrays are the same; two on disk are where they are the same one."""
    if first.chunks is not None and second.chunks is not None and first.size == second.size:
        if first.data.name == second.data.name:
            return True
    return np.array_equal(first.to_numpy(), second.to_numpy())


def _is_own(collection: xr.DataTree, design: xr.Dataset) -> bool:
    """Whether it is the collection's own /design, which has no labels."""
    return "document" not in design.coords and design.sizes["pair"] == collection.sizes["pair"]


def sample_values(design: xr.Dataset, sample: xr.DataArray) -> np.ndarray:
    """A sample of a design as a plain array (pair,) or (replicate, pair), its type checked.

    bool says which pairs were selected; for draws with replacement, integers say how often.
    """
    if isinstance(sample, xr.Dataset):
        raise ValueError("selected is the DataArray that be.draw returns, not this Dataset")
    counted = design.attrs["scheme"] == "with_replacement"
    values = np.asarray(sample)
    if isinstance(sample, xr.DataArray):
        values = sample.transpose(..., "pair").to_numpy()
    kind = "whole numbers, how often each pair was drawn," if counted else "bool"
    if values.dtype.kind not in ("iu" if counted else "b") or (
        values.shape[-1:] != (design.sizes["pair"],)
    ):
        raise ValueError(f"selected must be {kind} with the pairs of the design last")
    if counted and (values < 0).any():
        raise ValueError("selected holds negative counts; a pair is drawn 0 times or more")
    return values


def placed_sample(collection: xr.DataTree, design: xr.Dataset, values: np.ndarray) -> np.ndarray:
    """The values of a sample over the pairs of the collection, 0 where the design has none."""
    if ((values > 0) & (design["inclusion_probability"].to_numpy() == 0)).any():
        raise ValueError(
            "selected holds pairs that the design cannot draw; only those with an inclusion "
            "probability above 0 can be in its sample"
        )
    rows = design_rows(collection, design)
    return np.where(rows >= 0, values[..., rows], values.dtype.type(0))


def own_sample(design: xr.Dataset, hint: str) -> xr.DataArray:
    """The sample that a design holds, or all that a deterministic one asks for."""
    for name in ("draw_count", "selected"):
        if name in design:
            return design[name]
    if design.attrs["scheme"] == "deterministic":
        return design["inclusion_probability"] > 0
    raise ValueError(f"the design has no sample; {hint}")


def drawn_counts(design: xr.Dataset, source: str) -> np.ndarray:
    """How often each pair of a design with replacement was drawn, as the design records it."""
    if "draw_count" not in design:
        raise ValueError(
            f"{source} does not record how often each pair was drawn, which the estimates need; "
            "save it as design.assign(draw_count=be.draw(design, random_seed=...))"
        )
    count = design["draw_count"].to_numpy()
    wrong = np.flatnonzero((count < 0) | ((count > 0) & ~frame_pairs(design)))
    if wrong.size:
        raise ValueError(
            f"draw_count of {describe_pair(design, int(wrong[0]))} is {count[wrong[0]]}; it must "
            "be 0 or more, and 0 where the pair cannot be drawn"
        )
    return count
