"""From a collection to the plain arrays of its sample."""

import json
import warnings

import numpy as np
import xarray as xr

from bayeseval.collection import topic_starts
from bayeseval.collection.schema import describe_pair, design_parameters
from bayeseval.frame.sample import Sample


def grade_scale(collection: xr.DataTree) -> tuple[float, ...]:
    """Grades an assessor may give: those the judgments declare, else those that occur."""
    grade = grade_columns(collection)
    declared = collection.children["judgments"].attrs.get("grade_scale")
    if declared is not None:
        return tuple(float(value) for value in json.loads(declared))
    return tuple(np.unique(grade[~np.isnan(grade)]).tolist())


def grade_columns(collection: xr.DataTree) -> np.ndarray:
    """Grades as (replicate, pair), one replicate where there is no such dim."""
    if "judgments" not in collection.children:
        raise ValueError("the collection has no judgments to evaluate with")
    grade = collection["judgments/grade"].transpose(..., "pair").to_numpy()
    return grade.reshape(-1, grade.shape[-1])


def judged_sample(collection: xr.DataTree) -> tuple[Sample, np.ndarray]:
    """Judged pairs as a sample that selected them surely, and their grades (replicate, pair).

    The frame is every pair judged in some replicate; what a replicate did not judge is not
    selected.
    """
    frame = np.flatnonzero(~np.isnan(grade_columns(collection)).all(axis=0))
    return _sample(collection, frame, np.ones(frame.size))


def framed_sample(collection: xr.DataTree) -> tuple[Sample, np.ndarray]:
    """Frame and sample of a collection, whatever its scheme, and the grades (replicate, pair).

    Drawn with replacement, the frame is what can be drawn, and inclusion probabilities are not
    known; without a design it is the pool.
    """
    if "design" not in collection.children:
        frame = np.flatnonzero(collection["judgments/pooled"].to_numpy())
        return _sample(collection, frame, np.ones(frame.size))
    design = collection["design"]
    if design.attrs["scheme"] == "with_replacement":
        frame = np.flatnonzero(design["draw_probability"].to_numpy() > 0)
        return _sample(collection, frame, np.full(frame.size, np.nan))
    probability = design["inclusion_probability"].to_numpy()
    frame = np.flatnonzero(probability > 0)
    judged = ~np.isnan(grade_columns(collection)).all(axis=0)
    stray = np.flatnonzero((probability == 0) & judged)
    if stray.size:
        raise ValueError(
            f"{stray.size} judged pairs have inclusion probability 0, the first is "
            f"{describe_pair(collection, stray[0])}; a judged pair must be in the frame"
        )
    stratum = design["stratum"].to_numpy()[frame]
    sample, grade = _sample(collection, frame, probability[frame], stratum)
    if design.attrs["scheme"] == "stratified":
        _check_drawn(collection, sample)
    return sample, grade


def _sample(collection, frame, probability, stratum=None) -> tuple[Sample, np.ndarray]:
    """Sample of what is judged of a frame, whose ranks are still to come, and the grades."""
    grade = grade_columns(collection)[:, frame]
    sample = Sample(
        pair=frame,
        topic=collection["pair_topic"].to_numpy()[frame].astype(np.int32),
        start=np.searchsorted(frame, topic_starts(collection)),
        inclusion_probability=probability,
        stratum=np.full(frame.size, -1, dtype=np.int32) if stratum is None else stratum,
        selected=~np.isnan(grade),
        fused_rank=np.zeros(frame.size, dtype=np.int32),
        run_rank=np.zeros((frame.size, 0), dtype=np.int32),
    )
    return sample, grade


def _check_drawn(collection: xr.DataTree, sample: Sample) -> None:
    """Every replicate must have judged as many pairs of each stratum as the design drew."""
    drawn = collection["design/stratum_sample_size"].to_numpy()
    order = np.argsort(sample.stratum, kind="stable")
    occurring, first = np.unique(sample.stratum[order], return_index=True)
    if not occurring.size:
        return
    counts = np.add.reduceat(sample.selected[:, order].astype(np.int64), first, axis=1)
    topic_of = collection["design/stratum_topic"].to_numpy()[occurring]
    judged = (counts > 0) @ (topic_of[:, None] == np.arange(sample.n_topics))
    # a topic without any judgment is one that nobody has judged yet
    replicate, column = np.nonzero((counts != drawn[occurring]) & judged[:, topic_of])
    if replicate.size:
        stratum = occurring[column[0]]
        topic = collection["topic"].to_numpy()[topic_of[column[0]]]
        raise ValueError(
            f"stratum {stratum} (topic '{topic}') has {counts[replicate[0], column[0]]} judged "
            f"pairs where the design drew {drawn[stratum]}; the estimates need the grade of every "
            "drawn pair"
        )


def design_runs(collection: xr.DataTree) -> list[str] | None:
    """Runs that the design was made from, as far as they are here; None where none is known."""
    made_from = design_parameters(collection.children.get("design")).get("runs", [])
    here = set(collection["run"].to_numpy().tolist())
    present = [run for run in made_from if run in here]
    if len(present) < len(made_from):
        said = (
            f"{len(made_from) - len(present)} of the {len(made_from)} runs that the design was "
            "made from are not in the collection; what dyn and models predict rests on the others "
            "and will differ from what all of them say: give them too (a comparison may name one "
            "run as its reference)"
            if present
            else "none of the runs that the design was made from is in the collection; what dyn "
            "and models predict rests on other runs, and will differ from what those would say"
        )
        warnings.warn(said, stacklevel=2)
    return present or None
