"""One stage of a dynamic sample at a time, with an assessor at the other end."""

import numpy as np
import xarray as xr

from bayeseval.collection import pair_positions
from bayeseval.collection.labels import pair_names
from bayeseval.collection.schema import describe_pair, design_parameters
from bayeseval.designs.dynamic import planned, staged_design
from bayeseval.designs.dynamic_stages import (
    StagedSample,
    StagePlan,
    drawn_stage,
    empty_sample,
    opened_stage,
)
from bayeseval.designs.pooling import grades_so_far


def dynamic_stage(
    collection: xr.DataTree,
    previous: xr.Dataset | None = None,
    *,
    budget: int,
    n_strata: int = 20,
    n_stages: int = 5,
    aim: str = "dyn",
    frame: str | xr.DataArray = "retrieved",
    pool_depth: int | None = None,
    relevance_level: int = 1,
    prior: float = 0.5,
    runs: list[str] | None = None,
    random_seed: int | None,
) -> xr.Dataset:
    """Next stage of a dynamic sample: what to judge now, given the judgments of earlier stages.

    Judge the pairs that are ``selected`` and have no grade yet, join their judgments with
    ``attach_judgments(collection, design, qrels)`` (all of them, those of earlier stages too), and
    ask again with the design as ``previous``, until its attribute ``stages_left`` is 0. That is
    after ``n_stages`` stages, or sooner where the frame of every topic is small: strata of the
    least size then use it up, and no documents are left for the last stages.
    The result is then the design that :func:`bayeseval.designs.dynamic_sampling` gives where the
    grades are known; what it says on estimand, bias and cost holds here.

    Parameters
    ----------
    collection : DataTree
        Rankings, and the judgments so far; none to begin with.
    previous : Dataset, optional
        The design after the stage before, as it was returned or as ``read_design`` gives it back.
    budget, n_strata, n_stages, aim, pool_depth, relevance_level, prior, runs, random_seed
        As for :func:`bayeseval.designs.dynamic_sampling`, the same at every stage.
    frame : {"retrieved", "judged"} or bool DataArray (pair,)
        Pairs that can be judged, the same at every stage.

    Returns
    -------
    Dataset
        The design of the stages so far; pairs whose stage is still to come have inclusion
        probability 0, so estimates from an unfinished design are of the stages so far. Attribute
        ``stages_left``: how many stages are still to come.

    Raises
    ------
    ValueError
        A selected pair without a grade, a previous design that is complete or was planned
        otherwise, and what ``dynamic_sampling`` raises.

    Examples
    --------
    >>> import pandas as pd, bayeseval as be
    >>> run = pd.DataFrame({"run": "a", "topic": "1", "document": list("abcdefgh")})
    >>> collection = be.read_collection(None, run.assign(score=range(8)))
    >>> options = {"budget": 4, "n_strata": 2, "n_stages": 2, "random_seed": 1}
    >>> first = be.designs.dynamic_stage(collection, **options)
    >>> first.document.values[first.selected], first.attrs["stages_left"]
    (array(['g', 'h'], dtype='<U1'), 1)
    >>> qrels = pd.DataFrame({"topic": "1", "document": ["g", "h"], "grade": [0, 1]})
    >>> judged = be.attach_judgments(collection, first, qrels)
    >>> second = be.designs.dynamic_stage(judged, first, **options)
    >>> int(second.selected.sum()), second.stratum_stage.values, second.attrs["stages_left"]
    (4, array([0, 1], dtype=int32), 0)
    """
    parameters, plan = planned(
        collection,
        budget=budget,
        n_strata=n_strata,
        n_stages=n_stages,
        aim=aim,
        frame=frame,
        pool_depth=pool_depth,
        prior=prior,
        relevance_level=relevance_level,
        runs=runs,
    )
    sample, stage = empty_sample(plan), 0
    relevant = np.zeros(plan.frame.pair.size, dtype=bool)
    if previous is not None:
        stage = _stages_done(previous, plan.n_stages, parameters)
        sample = _earlier_sample(collection, plan, previous, stage)
        relevant = _graded(collection, plan, sample) >= relevance_level
    sample = opened_stage(plan, sample, stage, relevant)
    sample = drawn_stage(plan, sample, stage, random_seed)
    return staged_design(collection, plan, sample, stage + 1, parameters, random_seed)


def _stages_done(previous: xr.Dataset, n_stages: int, parameters: dict) -> int:
    if previous.attrs.get("name") != "dynamic_sampling" or "stratum_stage" not in previous:
        raise ValueError("previous must be a design that dynamic_stage returned")
    before = design_parameters(previous)
    for name, value in parameters.items():
        if before.get(name) != value:
            raise ValueError(
                f"previous was planned with {name}={before.get(name)!r} and now {name} is "
                f"{value!r}; all stages need the same plan"
            )
    done = int(previous["stratum_stage"].max()) + 1
    if done == n_stages:
        raise ValueError(f"previous has all of its {n_stages} stages: nothing is left to draw")
    return done


def _earlier_sample(collection, plan: StagePlan, previous: xr.Dataset, stage: int) -> StagedSample:
    """Strata, draws and predictions of the stages before, by label."""
    row = pair_positions(previous, *pair_names(collection, plan.frame.pair))
    kept = np.flatnonzero(plan.stage < stage)
    known = previous["stratum"].to_numpy()[row]
    number = np.where((row >= 0) & (known >= 0), known, -1)
    counts = np.bincount(number[number >= 0], minlength=previous.sizes["stratum_id"])
    if not (
        np.array_equal(plan.size[kept], previous["stratum_size"].to_numpy())
        and np.array_equal(plan.size[kept], counts)
    ):
        raise ValueError(
            "previous does not fit the collection: its strata are not those of this frame; every "
            "stage needs the same topics, runs and frame"
        )
    inside = number >= 0
    return StagedSample(
        np.where(inside, np.append(kept, -1)[number], -1).astype(np.int32),
        inside & previous["selected"].to_numpy().astype(bool)[row],
        np.where(inside, previous["predicted_relevance"].to_numpy()[row], np.nan),
    )


def _graded(collection: xr.DataTree, plan: StagePlan, sample: StagedSample) -> np.ndarray:
    """Grades over the frame; every pair selected so far must have one."""
    grade = grades_so_far(collection, "dynamic_stage")[plan.frame.pair]
    lacking = np.flatnonzero(sample.selected & np.isnan(grade))
    if lacking.size:
        raise ValueError(
            f"{lacking.size} selected pairs have no grade yet, the first is "
            f"{describe_pair(collection, int(plan.frame.pair[lacking[0]]))}; a stage learns from "
            "all judgments of the stages before"
        )
    return grade
