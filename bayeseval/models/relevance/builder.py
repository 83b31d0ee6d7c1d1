"""Hierarchical logistic model of which documents are relevant to which topics."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from bayeseval.collection.choices import check_whole_numbers
from bayeseval.frame.frame import Frame
from bayeseval.models.identity import checked_priors, keep_parts, name_model
from bayeseval.models.relevance.blocks import Predictors
from bayeseval.models.relevance.external import label_judgments
from bayeseval.models.relevance.predictor import PRIORS, linear_predictor


def relevance_model(
    sampled: xr.DataTree,
    *,
    relevance_level: int = 1,
    priors: Mapping[str, Any] | None = None,
    external: str | Sequence[str] = (),
    runs: Sequence[str] | None = None,
):
    r"""Hierarchical logistic model of the relevance of topic-document pairs.

    .. math:: \mathrm{logit} P(rel_d = 1) = \alpha_t + \beta_t x_d + \kappa q(x_d) + \lambda s(x_d)
              + \sum_r (\rho_r g_r(d) + \omega_r h_r(d) + \phi_r f_r(d)) + \sum_j \delta_j a_j(d)
              + \sum_{c=1}^{16} \gamma_{tc} z_c(d) + \epsilon_{t1} b(d) + \epsilon_{t2} n(d)

    t is the topic of the pair d, x the log of its rank in the reciprocal-rank fusion of the runs, q
    its square and s the cube root of the rank, which bends the far tail, g_r a discount that falls
    with the log of the rank in run r from 1 to 0, :math:`\rho_r` the reliability of run r, :math:`h
    = 4 g (1 - g)` a curve that bends what the run says, f = 1 where it retrieved the document,
    :math:`\omega_r` and :math:`\phi_r` how much (:math:`\omega_r` below 0: the run is steep, like a
    reranker, which puts what is relevant at its very top; above: it brings more in the middle than
    a straight line), and z the first principal components of the g of all runs: runs of one kind
    may be good on one topic and bad on another. The a say how far the runs agree: components of the
    best, 2nd, 4th, ... best rank over the runs and of the number of runs that retrieved the
    document, their squares and products, and of whether no run or one alone found it
    (:class:`bayeseval.frame.scale.Agreement`); b and n are the best rank and that number
    themselves. Each is taken less its regression on those before it, with mean 0 and standard
    deviation 1 over the frame (g, h, f and a keep their spread, and are taken less their regression
    on x and q alone; the z are in units of the spread of the first, and those after it have less)
    where a pair weighs 1 / fused rank (:class:`bayeseval.frame.scale.RankScale`), so that the
    priors mean the same whatever the depth of the frame. A topic's intercept and slope are
    correlated: where much is relevant, it may lie deeper.

    =====================  ====================  =================================================
    name in ``priors``     default               why
    =====================  ====================  =================================================
    intercept              Normal(-1, 2)         a document of middling log rank (30th to 60th, of
                                                 thousands) in a middling topic: .01 to .95
    slope                  Normal(-2, 2)         per standard deviation of log rank (a factor of
                                                 10 or so): fusion beats chance, by how much differs
    curvature              Normal(0, 1)          bends the curve, rarely turns it
    tail                   Normal(0, 1)          so does this, where next to nothing is judged
    topic_intercept_sd     LogNormal(0, 0.75)    easy and hard topics exist: .23 to 4.3 on the
                                                 logit scale, median 1
    topic_slope_sd         LogNormal(-0.7, .75)  fusion works better on some topics: .11 to 2.2,
                                                 median .5
    topic_fisher_z         Normal(0, 0.75)       of the correlation of the two, by its inverse
                                                 hyperbolic tangent: -.9 to .9
    reliability_sd         HalfNormal(2)         a run's first rank multiplies the odds; learned:
                                                 hundreds of like runs shrink each other, a few that
                                                 differ do not
    curve_component_sd     HalfNormal(2)         of bow and step of all runs: they may fall off
                                                 alike, or not; learned
    agreement_sd           HalfNormal(2)         may say nothing beyond the fusion, or much
    topic_component_sd     HalfNormal(1)         may be none at all; the largest effects are those
                                                 of a topic's intercept
    topic_agreement_sd     HalfNormal(1)         the same
    =====================  ====================  =================================================

    In the model intercept and slope are ``population_effect`` over the dim predictor, their
    standard deviations over topics ``topic_sd``, and the tail is ``tail_effect``; the other
    variables have the names of the table. What they govern are ``topic_effect``, ``reliability``,
    ``run_curve``, ``agreement_effect``, ``topic_component_effect`` and
    ``topic_agreement_effect``.

    The reliabilities are independent normal given their standard deviation. They are sampled as the
    coefficients of the leading principal components of the runs' g, which are independent normal
    with the same standard deviation, and nearly uncorrelated in the posterior too; ``reliability``
    is their image, 0 along the components left out. So are the runs' curves, ``run_curve``.

    The model is generative: ``relevance`` over ``judged_pair`` is not observed. The judgments are
    in the data ``judged_relevance``, and :func:`bayeseval.fit` observes the one with the other.
    With external labels it is not quite so: the document's own error rates go with what these
    judgments say (:mod:`bayeseval.models.relevance.external`).

    What is random: relevance and parameters; the sample, the rankings and the topics are given.
    What makes the choice of the judged pairs ignorable: the strata come from the fused rank, which
    is a predictor, and given it the draw does not look at relevance. What breaks it: runs unlike
    those that the reliabilities were learned from. For the dual runs of Cormack and Grossman, whose
    relevant documents are shuffled among themselves, its intervals are badly wrong
    (``benchmarks/relevance_model/README.md`` has the figures). :func:`bayeseval.posterior_scores`
    lets such runs depart from the model, which mends a part; else use ``estimator="dyn"`` or
    :func:`bayeseval.combine`. Cost: 5,000 judged pairs and 126 runs take about a minute of two
    cores, after compiling; ``approximation="laplace"`` takes seconds.

    Parameters
    ----------
    sampled : DataTree
        Collection with runs and judgments, of one sample where it has a design. The frame is the
        design's, or the judged pairs where there is none.
    relevance_level : int
        Least grade that counts as relevant.
    priors : dict, optional
        Other numbers for the table's: (mean, sd) of a Normal or of the log, scale of a
        HalfNormal.
    external : str or list of str
        Columns of /predictors, such as an LLM judge's labels or another assessor's grades: see
        :mod:`bayeseval.models.relevance.external`.
    runs : list of str, optional
        Runs whose ranks are predictors; default: those that the design was made from, or those that
        contributed. With all runs that are to be scored, ``sampled["run"].values``, the model
        learns from late ones too what is relevant. Leave out runs that were made with a look at the
        judgments: ranks are taken for evidence, and what is learned has no departures
        (``benchmarks/combined_intervals/README.md`` has what both does to errors). The fused rank
        stays that of the runs that the design was made from, by which the draw is ignorable.

    Returns
    -------
    pymc.Model
        Dims topic, run, component, curve, curve_component, agreement, topic_component,
        topic_agreement, judged_pair.

    Raises
    ------
    ValueError
        No runs, no judgments, replicates of a sample, an unknown prior, run or column, a
        ``relevance_level`` that is no whole number of 1 or more.

    References
    ----------
    Cormack and Grossman (2019), section 4 (a logistic regression on the log of the fused rank per
    topic), doi:10.1145/3331184.3331355. Gelman et al., Bayesian Data Analysis, 3rd ed., chapter 8
    (ignorable designs) and 15 (hierarchical regressions).

    Examples
    --------
    >>> import bayeseval as be
    >>> collection = be.simulate.urn_collection(
    ...     [0.1, 0.2, 0.4], n_topics=2, prevalence=0.1, random_seed=1
    ... )
    >>> design = be.designs.pps_strata(collection, budget=20, n_strata=4)
    >>> sampled = be.reveal(collection, design, be.draw(design, random_seed=1))
    >>> model = be.models.relevance_model(sampled)
    >>> [variable.name for variable in model.free_RVs][-1]
    'relevance'
    """
    import pymc as pm

    values = checked_priors(PRIORS, priors)
    check_whole_numbers(1, relevance_level=relevance_level)
    frame = Frame.of_one_sample(sampled, runs)
    predictors = Predictors.of(frame)
    judged = predictors.judged
    observed = (frame.grade[0, judged] >= relevance_level).astype(np.int64)
    with pm.Model(coords=predictors.coords) as model:
        name_model("relevance_model")
        logit = linear_predictor(predictors, values, observed == 1)
        pm.Data("relevance_level", np.int64(relevance_level))
        pm.Data("judged_relevance", observed, dims="judged_pair")
        relevance = pm.Bernoulli("relevance", logit_p=logit, dims="judged_pair")
        states = ["nonrelevant", "relevant"]
        label_judgments(relevance, observed == 1, frame, judged, external, states)
        keep_parts()
    return model
