"""Hierarchical logistic model of which documents are relevant to which topics."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection.choices import check_whole_numbers
from bayeseval.frame.frame import Frame
from bayeseval.messages import Message, Option
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
              + 2 \epsilon_{t3} q(x_d) + 2 \epsilon_{t4} s(x_d)

    t is the topic of the pair d, x the log of its fused rank, q its square and s the cube root of
    the rank; g is a discount of the rank in run r, h = 4 g (1 - g), f is 1 where the run retrieved
    the document; the a say how far the runs agree, the z are the first principal components of the
    g of all runs, b and n the best rank and the number of runs that retrieved the document. Each is
    taken less its regression on those before it and standardised over the frame.

    ==================  ====================  ====================================================
    name in ``priors``  default               why
    ==================  ====================  ====================================================
    intercept           Normal(-1, 2)         a middling document is relevant with .01 to .95
    slope               Normal(-2, 2)         per standard deviation of the log rank
    curvature, tail     Normal(0, 1)          they bend the curve and rarely turn it
    topic_intercept_sd  LogNormal(1, 1)       easy and hard topics exist: .38 to 19 in log odds
    topic_slope_sd      LogNormal(0.5, 1)     fusion works better on some topics: .23 to 12
    topic_fisher_z      Normal(0, 0.75)       of their correlation: -.9 to .9
    reliability_sd      HalfNormal(2)         of the runs' lines; many like runs shrink each other
    curve_component_sd  HalfNormal(2)         of h and f
    agreement_sd        HalfNormal(2)         agreement may say nothing beyond the fusion, or much
    topic_component_sd  HalfNormal(1)         of the topics' effects of components
    topic_shape_sd      HalfNormal(1)         of the topics' effects of b, n, q and s
    ==================  ====================  ====================================================

    Intercept and slope are ``population_effect``; ``reliability`` and ``run_curve`` hold the
    effects of runs. ``relevance`` over ``judged_pair`` is not observed: :func:`bayeseval.fit`
    observes it. Random are relevance and parameters; the sample is ignorable, since the strata come
    from the fused rank. What breaks it: runs unlike those that it is fitted to.

    Parameters
    ----------
    sampled : DataTree
        Runs and one sample of judgments. Without a design the frame is the judged pairs.
    relevance_level : int
        Least grade that counts as relevant.
    priors : dict, optional
        Other numbers for the table's.
    external : str or list of str
        Columns of /predictors that are labels with errors, whose sensitivity and specificity are
        estimated.
    runs : list of str, optional
        Runs whose ranks are predictors; default: those that the design was made from, or those that
        contributed. Leave out runs that were made with a look at the judgments.

    Returns
    -------
    pymc.Model

    Raises
    ------
    ValueError
        No runs, no judgments, replicates of a sample, an unknown prior, run, column or level.

    References
    ----------
    Cormack and Grossman (2019), section 4, doi:10.1145/3331184.3331355.

    Examples
    --------
    >>> import bayeseval as be
    >>> lists = be.simulate.urn_collection([0.1, 0.2], n_topics=2, prevalence=0.1, random_seed=1)
    >>> model = be.models.relevance_model(lists)
    >>> [variable.name for variable in model.free_RVs][-1]
    'relevance'
    """
    import pymc as pm

    values = checked_priors(PRIORS, priors)
    check_whole_numbers(1, relevance_level=relevance_level)
    frame = Frame.of_one_sample(sampled, runs)
    predictors = Predictors.of(frame)
    judged = predictors.judged
    check_level(frame.grade[0, judged], relevance_level)
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


def check_level(grade: NDArray, relevance_level: int) -> None:
    """Refuse a level that no grade of a judged document reaches, as a mistyped one does."""
    highest = int(np.nanmax(grade, initial=0))
    if relevance_level > max(highest, 1):
        level = Option("relevance_level", relevance_level)
        rest = f" or more; the highest is {highest}"
        raise ValueError(Message("no judged document has the grade ", level, rest))
