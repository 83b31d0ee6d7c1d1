"""Dynamic sampling: a stratified sample whose later strata follow the earlier judgments."""

import numpy as np
import xarray as xr

from bayeseval.collection.choices import check_choice, check_whole_numbers
from bayeseval.collection.schema import strata, with_predictors
from bayeseval.designs.dynamic_stages import (
    AIMS,
    StagedSample,
    StagePlan,
    drawn_stage,
    empty_sample,
    opened_stage,
    stage_plan,
)
from bayeseval.designs.placing import design_rows
from bayeseval.designs.pooling import simulated_relevance
from bayeseval.designs.prepared import check_budget, prepared_frame
from bayeseval.designs.stratified import labelled_design, warn_of_fewer
from bayeseval.frame.rankings import contributing_runs


def dynamic_sampling(
    collection: xr.DataTree,
    *,
    budget: int,
    n_strata: int = 20,
    n_stages: int = 5,
    aim: str = "dyn",
    frame: str | xr.DataArray | None = None,
    pool_depth: int | None = None,
    relevance_level: int = 1,
    prior: float = 0.5,
    runs: list[str] | None = None,
    random_seed: int | None,
) -> xr.Dataset:
    r"""Stratified sample drawn in stages, each stratified by the judgments of earlier ones.

    Per topic, sizes and numbers drawn are those of :func:`bayeseval.designs.pps_strata`, and the
    strata are dealt into stages from the top down. In each stage the documents left are ordered by
    their size, the next strata are cut from the top of that order, their documents are drawn, each
    subset of a stratum equally likely, and *all* documents of these strata, judged or not, leave
    the frame. The first stage orders by reciprocal-rank fusion. Every later one fits a logistic
    regression to all judgments so far, of all topics: p(d) from the fused rank, the rank in every
    run and the topic; the size of a document is then

    .. math:: \frac{\sqrt{p (1 - p)}}{rank} \;\text{(aim "dyn")}, \qquad
              \frac{\sqrt{p}}{rank} \;\text{("stat")}, \qquad p \;\text{("relevant")}

    with the fused rank for what a document weighs in the runs' scores. The first two are
    proportional to the root of what a document adds to the variance of the estimator; the third
    takes the likeliest relevant first whatever they weigh, as one who looks for relevant documents
    would, and is worse at estimating.

    Parameters
    ----------
    collection : DataTree
        Rankings and the judgments taken as the truth; a pair of the frame without a grade counts
        as non-relevant, with a warning where the judgments are a random sample.
    budget : int
        Judgments per topic, in all stages together.
    n_strata, n_stages : int
        Strata and stages per topic; at most one stage a stratum. One stage is ``pps_strata``.
        Strata shrink to the budget, with a warning, and stages to the strata.
    aim : {"dyn", "stat", "relevant"}
        What the order is good for, see above.
    frame, pool_depth, runs
        As for :func:`bayeseval.designs.pps_strata`.
    relevance_level : int
        Least grade that counts as relevant to the model.
    prior : float
        Probability of relevance predicted in the first stage, before anything is known.
    random_seed : int or None
        Seed of the draws.

    Returns
    -------
    Dataset
        A stratified design with its sample: ``inclusion_probability``, ``stratum``, ``selected``
        and ``predicted_relevance`` over pair, the last being p(d) as it was before the stage of d
        was drawn; ``stratum_size``, ``stratum_sample_size``, ``stratum_topic`` and
        ``stratum_stage`` over stratum_id; attribute ``stages_left``, here 0. Evaluate
        ``reveal(collection, design)``.

    Raises
    ------
    ValueError
        No judgments, more stages than strata, an unknown aim, a prior outside (0, 1), an empty
        frame, no contributing run.

    Notes
    -----
    Estimand: the score that complete judgments of the frame would give. Random: the draws. The
    probabilities are conditional on the earlier stages: given those, the strata of a stage are
    fixed, its sum is estimated without bias, and every document is in one stratum only. So the
    error is a sum of martingale differences: ``stat`` is unbiased for linear measures, as is
    ``dyn`` with an M that is fixed in advance or comes from earlier stages
    (:func:`with_stage_predictions`); errors of different stages are uncorrelated, and the
    stratified variance estimate stays unbiased where strata draw two or more. Also the numerator
    of AP stays unbiased for ``stat``. What breaks it: the default M of ``dyn`` learns from other
    strata, and those of later stages depend on the sample of the stratum they predict; the bias is
    not zero, but 40 samples of round 5 do not tell it from zero (``benchmarks/pooling_round5.py``:
    .0004 with an error of .0006 on real runs, P@10), and ``evaluate`` warns of it. ``draw``
    refuses such a design, for it would draw again from the strata of this one sample; loop over
    seeds. Cost: a regression for each stage, and 4 bytes x pairs of the frame x runs.

    References
    ----------
    After G. V. Cormack and M. R. Grossman, "Beyond pooling", SIGIR 2018,
    doi:10.1145/3209978.3210119, whose text was not at hand: strata from the top of a ranking that
    is learned again and again, with sampling rates that fall. The stages, the model and the sizes
    are ours.

    Examples
    --------
    >>> import bayeseval as be
    >>> collection = be.simulate.urn_collection(
    ...     [0.1, 0.2, 0.4], n_topics=2, prevalence=0.1, random_seed=1
    ... )
    >>> design = be.designs.dynamic_sampling(collection, budget=40, n_strata=8, random_seed=2)
    >>> sampled = be.reveal(collection, design)
    >>> be.evaluate(sampled, "P@10", estimator="stat").estimate.shape
    (1, 3, 2)
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
    here = plan.frame.pair
    relevant = simulated_relevance(collection, relevance_level, "dynamic_sampling", here)[here]
    sample = empty_sample(plan)
    n_stages = parameters["n_stages"]
    for stage in range(n_stages):
        sample = opened_stage(plan, sample, stage, relevant)
        sample = drawn_stage(plan, sample, stage, random_seed)
    return staged_design(collection, plan, sample, n_stages, parameters, random_seed)


def planned(
    collection, *, budget, n_strata, n_stages, aim, frame, pool_depth, prior, relevance_level, runs
) -> tuple[dict, StagePlan]:
    """Attributes of the design, and the plan of its stages."""
    check_budget(budget)
    check_whole_numbers(1, relevance_level=relevance_level)
    _check_options(n_strata, n_stages, aim, prior)
    n_used = min(n_strata, budget)
    warn_of_fewer(np.array([n_used]), n_strata)
    start = prepared_frame(collection, budget, frame, pool_depth, None, runs)
    numbers = {"n_strata": int(n_used), "n_stages": int(min(n_stages, n_used))}
    parameters = start["parameters"] | numbers | {"aim": aim, "prior": prior}
    chosen = contributing_runs(collection, runs)
    plan = stage_plan(collection, start["rest"], chosen, parameters)
    return parameters | {"relevance_level": float(relevance_level)}, plan


def _check_options(n_strata, n_stages, aim, prior) -> None:
    check_whole_numbers(1, n_strata=n_strata)
    if not isinstance(n_stages, int | np.integer) or not 1 <= n_stages <= n_strata:
        raise ValueError(
            f"n_stages must be a whole number from 1 to the number of strata, {n_strata}, not "
            f"{n_stages!r}"
        )
    check_choice("aim", aim, AIMS)
    if not 0.0 < prior < 1.0:
        raise ValueError(f"prior must lie between 0 and 1, both excluded, not {prior}")


def staged_design(
    collection, plan: StagePlan, sample: StagedSample, n_stages: int, parameters, random_seed
) -> xr.Dataset:
    """Design of the first ``n_stages`` stages, with its sample; their strata alone are in it."""
    here, n_pairs = plan.frame.pair, collection.sizes["pair"]
    kept = np.flatnonzero(plan.stage < n_stages)
    left = max(0, plan.n_stages - n_stages)
    number = np.append(np.searchsorted(kept, np.arange(plan.stage.size)), -1).astype(np.int32)
    stratum = np.full(n_pairs, -1, dtype=np.int32)
    stratum[here] = number[sample.stratum]
    selected = np.zeros(n_pairs, dtype=bool)
    selected[here] = sample.selected
    predicted = np.full(n_pairs, np.nan)
    predicted[here] = sample.predicted
    variables = strata(stratum, plan.size[kept], plan.drawn[kept], plan.topic[kept]) | {
        "stratum_stage": ("stratum_id", plan.stage[kept]),
        "selected": ("pair", selected),
        "predicted_relevance": ("pair", predicted),
    }
    design = labelled_design(collection, variables, "stratified", "dynamic_sampling", parameters)
    design = design.assign_attrs(stages_left=left)
    return design if random_seed is None else design.assign_attrs(seed=int(random_seed))


def with_stage_predictions(
    collection: xr.DataTree, design: xr.Dataset, *, name: str = "dynamic_sampling"
) -> xr.DataTree:
    """Collection with the predictions of a dynamic sample's stages as predictors.

    Evaluated with ``estimator="dyn", predictor=("external", "dynamic_sampling")`` they are an M
    that rests on earlier stages alone, so that ``dyn`` is exactly unbiased for linear measures of
    the relevance level that the design was made for.

    Parameters
    ----------
    collection : DataTree
        Any collection with the pairs of the design's frame, such as ``reveal`` returns.
    design : Dataset
        What :func:`dynamic_sampling` returned.
    name : str
        Name of the column.

    Returns
    -------
    DataTree
        The collection with the column added; NaN for pairs outside the design's strata.

    Raises
    ------
    ValueError
        A design without predictions.

    Examples
    --------
    >>> import bayeseval as be
    >>> collection = be.simulate.urn_collection([0.1, 0.4], n_topics=2, n_relevant=9, random_seed=1)
    >>> design = be.designs.dynamic_sampling(collection, budget=40, n_strata=8, random_seed=2)
    >>> sampled = be.reveal(collection, design)
    >>> both = be.designs.with_stage_predictions(sampled, design)
    >>> M = ("external", "dynamic_sampling")
    >>> be.evaluate(both, "P@10", estimator="dyn", predictor=M).estimate.shape
    (1, 2, 2)
    """
    if "predicted_relevance" not in design:
        raise ValueError(
            f"design '{design.attrs.get('name')}' has no predicted_relevance; dynamic_sampling "
            "makes one that has"
        )
    row = design_rows(collection, design)
    values = np.where(row >= 0, design["predicted_relevance"].to_numpy()[row], np.nan)
    return with_predictors(collection, {name: ("pair", values)})
