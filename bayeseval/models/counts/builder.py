"""Hierarchical binomial model of the relevant documents of every topic, cell by cell."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection.choices import check_whole_numbers
from bayeseval.estimators.counts.cells import Cells, cells
from bayeseval.frame.frame import BY_CHANCE, Frame
from bayeseval.models.identity import name_model
from bayeseval.models.priors import checked_priors

PRIORS: dict[str, tuple[float, ...]] = {
    "intercept": (0.0, 10.0),
    "curve": (0.0, 5.0),
    "topic_intercept_sd": (0.0, 0.75),
    "topic_slope_sd": (-0.5, 0.75),
    "topic_fisher_z": (0.0, 0.75),
}
SPREADS = ("topic_intercept_sd", "topic_slope_sd")
CURVE = ("cube_root_rank", "log_rank", "log_rank_squared", "unretrieved")


def count_model(
    sampled: xr.DataTree,
    *,
    relevance_level: int = 1,
    priors: Mapping[str, Any] | None = None,
):
    r"""Hierarchical binomial model of how many documents of each topic are relevant.

    A topic's frame is cut into cells (its strata, or blocks of the fused rank), within which every
    document was as likely to be sampled as any other. Of the n sampled documents of cell c of topic
    t

    .. math:: k_{tc} \sim \mathrm{Binomial}(n_{tc}, p_{tc}), \qquad
              \mathrm{logit}\, p_{tc} = \beta_0 + \beta' x_{tc} + u_{t0} + u_{t1} z_{tc}, \qquad
              u_t \sim N(0, \Sigma)

    are relevant. x holds the cube root and the log of the rank, the square of the log, and the
    share of documents that no contributing run retrieved, where that differs; z is the sixth root
    of the rank; all of the cell's mean. Ranks are standardised over cells (the square is that of
    the standardised log, less 1), and the share is centred. Intercept and slope of a topic are
    correlated: where much is relevant, it may lie deeper.

    It is the model behind ``estimator_options={"denominator": "counts"}`` of
    :func:`bayeseval.evaluate`, which integrates the topics' effects by quadrature and takes the
    hyperparameters for normal around their mode, in tenths of a second; the sampler is its check.
    Where topics are not normal the estimators leave that distribution as far as the other topics
    show it, where topics clearly differ at their tops alone their z levels off (the rank to the
    power -1/2 or -3/4), topics may lack a higher grade altogether (for nDCG), and any relevant
    document where the counts clearly say so; none of this is so in this model.
    It has no draws of single documents and so no scores of runs: what it gives is the number of
    relevant documents of every topic, by :func:`bayeseval.models.relevant_numbers`.

    ==================  ====================  ====================================================
    name in ``priors``  default               why
    ==================  ====================  ====================================================
    intercept           Normal(0, 10)         any share of relevant documents
    curve               Normal(0, 5)          relevance may fall with rank as steeply as it likes
    topic_intercept_sd  LogNormal(0, 0.75)    easy and hard topics exist: .23 to 4.3 on the logit
                                              scale, median 1
    topic_slope_sd      LogNormal(-0.5, .75)  fusion works better on some topics: .14 to 2.6
    topic_fisher_z      Normal(0, 0.75)       of the correlation, by its inverse hyperbolic
                                              tangent: -.9 to .9
    ==================  ====================  ====================================================

    The model is generative: ``relevant`` over ``judged_cell`` is not observed. The counts are in
    the data ``judged_relevant``, and :func:`bayeseval.fit` observes the one with the other.

    What is random: the relevance of documents, and the parameters; the sample is ignorable, since
    within a cell it does not look at relevance. What breaks it: topics whose relevance over the
    ranks is not one of these curves; a topic whose deep cells hold many relevant documents that
    nobody sampled, where all topics together say that there are few.

    Parameters
    ----------
    sampled : DataTree
        Collection with a random design and one sample of judgments.
    relevance_level : int
        Least grade that counts as relevant.
    priors : dict, optional
        Other numbers for the table's: (mean, sd) of a Normal or of the log.

    Returns
    -------
    pymc.Model
        Dims topic, effect, curve_column, cell, judged_cell.

    Raises
    ------
    ValueError
        No design, one that is not at random, replicates of a sample, a design that lists only its
        sampled documents, an unknown prior, a ``relevance_level`` that is no whole number of 1 or
        more.

    References
    ----------
    Gelman et al., Bayesian Data Analysis, 3rd ed., chapters 5 (hierarchical binomial models) and 8
    (ignorable designs).

    Examples
    --------
    >>> import bayeseval as be
    >>> collection = be.simulate.urn_collection(
    ...     [0.1, 0.2], n_topics=4, n_documents=200, prevalence=0.1, random_seed=1
    ... )
    >>> design = be.designs.pps_strata(collection, budget=20, n_strata=4)
    >>> sampled = be.reveal(collection, design, be.draw(design, random_seed=1))
    >>> model = be.models.count_model(sampled)
    >>> [variable.name for variable in model.free_RVs][-1]
    'relevant'
    """
    values = checked_priors(PRIORS, priors)
    check_whole_numbers(1, relevance_level=relevance_level)
    frame, cut = _framed(sampled)
    observed = (frame.grade[0] >= relevance_level).astype(float)
    judged = cut.sums(frame.sample.selected[0])
    return _model(
        cut,
        topics=frame.collection["topic"].to_numpy(),
        judged=judged.astype(int),
        relevant=cut.sums(observed).astype(int),
        relevance_level=relevance_level,
        values=values,
    )


def _framed(sampled: xr.DataTree) -> tuple[Frame, Cells]:
    """Frame of the design, and its cells."""
    if "design" not in sampled.children:
        raise ValueError(
            "the collection has no design, and counts are of documents sampled at random; "
            "attach one with be.reveal or be.attach_judgments"
        )
    frame = Frame.of_one_sample(sampled)
    if frame.scheme not in BY_CHANCE:
        raise ValueError(
            f"counts are of documents sampled at random ({' or '.join(BY_CHANCE)}), and this "
            f"design is {frame.scheme}, which says nothing of the documents that it left out"
        )
    if frame.lists_sampled_alone:
        raise ValueError(
            "the design lists only its sampled documents, so that the sizes of its cells are not "
            "known; counts need judgments with strata (sampleval) or the design itself"
        )
    return frame, cells(frame.ranked_sample, bool(frame.design_labels), frame.made_certain)


def _model(
    cut: Cells,
    *,
    topics: NDArray,
    judged: NDArray[np.int64],
    relevant: NDArray[np.int64],
    relevance_level: int,
    values: dict[str, tuple[np.float64, ...]],
):
    import pymc as pm

    topic = np.repeat(np.arange(topics.size), np.diff(cut.start))
    used = np.flatnonzero((judged > 0) & cut.tell)
    n_curve = cut.curve.shape[1] - 1
    coords = {
        "topic": topics,
        "effect": ["intercept", "slope"],
        "curve_column": list(CURVE[:n_curve]),
        "cell": np.arange(judged.size),
        "judged_cell": used,
    }
    with pm.Model(coords=coords) as model:
        name_model("count_model")
        column: Any = pm.Data("cell_curve", cut.curve[:, 1:], dims=("cell", "curve_column"))
        slope: Any = pm.Data("cell_slope", cut.slope, dims="cell")
        pm.Data("cell_topic", topic, dims="cell")
        pm.Data("cell_relevant", relevant, dims="cell")
        pm.Data("cell_unjudged", cut.size.astype(int) - judged, dims="cell")
        pm.Data("relevance_level", np.int64(relevance_level))
        intercept = pm.Normal("intercept", *values["intercept"])
        curve = _curve(cut.curve[:, 1:], judged, values["curve"])
        effect: Any = _topic_effects(values)
        logit: Any = intercept + column @ curve + effect[0, topic] + effect[1, topic] * slope
        pm.Deterministic("logit", logit, dims="cell")
        pm.Data("judged_relevant", relevant[used], dims="judged_cell")
        size = pm.Data("cell_judged", judged[used], dims="judged_cell")
        pm.Binomial("relevant", n=size, logit_p=logit[used], dims="judged_cell")
    return model


def _curve(columns: NDArray, judged: NDArray[np.int64], prior: tuple[np.float64, ...]) -> Any:
    """Coefficients of the curve, as those of the principal directions of its columns.

    The columns nearly say the same; along their principal directions the coefficients are nearly
    uncorrelated, and a rotation leaves equal priors as they are.
    """
    import pymc as pm

    mean, sd = prior
    weighted = columns * np.sqrt(judged)[:, None]
    rotation = np.linalg.svd(weighted, full_matrices=False)[2].T
    model: Any = pm.modelcontext(None)
    model.add_coord("curve_direction", np.arange(1, rotation.shape[1] + 1))
    units: Any = pm.Normal("curve_units", 0.0, 1.0, dims="curve_direction")
    return pm.Deterministic("curve", mean + sd * (rotation @ units), dims="curve_column")


def _topic_effects(values: dict[str, tuple[np.float64, ...]]):
    """Intercepts and slopes of the topics, correlated, in units of their spread."""
    import pymc as pm
    import pytensor.tensor as pt

    sd: list[Any] = [pm.LogNormal(name, *values[name]) for name in SPREADS]
    fisher_z: Any = pm.Normal("topic_fisher_z", *values["topic_fisher_z"])
    correlation: Any = pm.Deterministic("topic_correlation", pt.tanh(fisher_z))
    raw: Any = pm.Normal("topic_effect_units", 0.0, 1.0, dims=("effect", "topic"))
    first = sd[0] * raw[0]
    second = sd[1] * (correlation * raw[0] + raw[1] * pt.sqrt(1.0 - correlation**2))
    return pm.Deterministic("topic_effect", pt.stack([first, second]), dims=("effect", "topic"))
