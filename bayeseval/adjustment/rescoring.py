"""Scores of some runs when some of the judgments are out of sight."""

import json

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection import with_node
from bayeseval.collection.origin import RUN_COORDS
from bayeseval.collection.pairs import renumber
from bayeseval.evaluation import evaluate
from bayeseval.evaluation.scores import topics_said
from bayeseval.frame.rankings import Rankings
from bayeseval.frame.sample import grade_columns, grade_scale

BASES = {"nonrelevant": "assumed", "condensed": "condensed"}


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
    of its own. The base is what becomes of documents without a visible judgment; measures and
    options are those of ``evaluate``.
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
