"""Hierarchical sequential logistic model of the grades of documents."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import xarray as xr

from bayeseval.frame.frame import Frame
from bayeseval.models.identity import checked_priors, keep_parts, name_model
from bayeseval.models.relevance.blocks import Predictors
from bayeseval.models.relevance.external import label_judgments
from bayeseval.models.relevance.mode import STEP
from bayeseval.models.relevance.predictor import PRIORS, linear_predictor
from bayeseval.models.relevance.regression import step_rank

STEP_PRIORS: dict[str, tuple[float, ...]] = {
    "step_intercept": (0.0, 1.5),
    "step_slope": (0.5, 0.5),
    "step_log_rank": (0.0, 1.0),
    "topic_step_sd": (1.0,),
}


def grade_model(
    sampled: xr.DataTree,
    *,
    priors: Mapping[str, Any] | None = None,
    external: str | Sequence[str] = (),
    runs: Sequence[str] | None = None,
):
    r"""Hierarchical sequential logistic model of the grade of topic-document pairs.

    .. math:: \mathrm{logit} P(grade_d \ge v_1) = \eta_d, \qquad
              \mathrm{logit} P(grade_d \ge v_{k+1} \mid grade_d \ge v_k)
              = a_k + u_{tk} + \lambda_k \log(1 + e^{\eta_d}) + \gamma_k \min(x_d, 1)

    with :math:`\eta` the linear predictor of :func:`relevance_model`, x the scaled log of the fused
    rank in it, and :math:`v_1 < v_2 < \dots` the grades above the lowest, which is 0 where all that
    occur or are declared are above it. Topics differ in their share of high grades, by
    :math:`u_{tk} \sim N(0, \sigma^2)`. With :math:`\lambda_1 = 1`, :math:`\gamma_1 = 0` and no u
    the first two grades are cut from one ordered scale (proportional odds), with :math:`\lambda =
    \gamma = 0` relevant documents have the same chance of a higher grade wherever they stand, and
    with :math:`\gamma < 0` the runs rank the highest grade well. For two grades it is
    :func:`relevance_model`. The table of priors is its too, and four more:

    =====================  ==================  ===================================================
    name in ``priors``     default             why
    =====================  ==================  ===================================================
    step_intercept         Normal(0, 1.5)      of documents that are relevant against all odds,
                                               between .05 and .95 reach the next grade
    step_slope             Normal(0.5, 0.5)    between 0 and 1 two times in three
    step_log_rank          Normal(0, 1)        ranks may say nothing beyond relevance, or half as
                                               much as they say of relevance
    topic_step_sd          HalfNormal(1)       topics may not differ
    =====================  ==================  ===================================================

    The variables have the names of the table, and ``topic_step_effect`` holds u.

    Parameters
    ----------
    sampled, priors, external, runs
        As for :func:`relevance_model`.

    Returns
    -------
    pymc.Model
        ``grade`` over ``judged_pair`` holds positions along the coord ``grade_value``; what is
        known of it is in ``judged_grade``.

    Raises
    ------
    ValueError
        As :func:`relevance_model`; grades that are all 0; a grade that is not on the scale.

    References
    ----------
    McCullagh, "Regression models for ordinal data", JRSS B 42 (1980). Tutz, "Sequential models in
    categorical regression", Computational Statistics and Data Analysis 11 (1991).

    Examples
    --------
    >>> import pandas as pd, bayeseval as be
    >>> run = pd.DataFrame({"run": "a", "topic": "1", "document": list("abcd")})
    >>> qrels = pd.DataFrame({"topic": "1", "document": list("abcd"), "grade": [2, 1, 0, 0]})
    >>> collection = be.read_collection(qrels, run.assign(score=[4, 3, 2, 1]))
    >>> [float(grade) for grade in be.models.grade_model(collection).coords["grade_value"]]
    [0.0, 1.0, 2.0]
    """
    import pymc as pm

    values = checked_priors(PRIORS | STEP_PRIORS, priors)
    frame = Frame.of_one_sample(sampled, runs)
    predictors = Predictors.of(frame)
    judged = predictors.judged
    scale = np.array(frame.scale)
    strange = np.setdiff1d(frame.grade[0, judged], scale)
    if strange.size:
        raise ValueError(
            f"a judgment has the grade {strange[0]:g}, which is not on the collection's scale: "
            f"{', '.join(f'{grade:g}' for grade in scale)}"
        )
    if scale[0] > 0:  # that no sampled document is without relevance does not say that none is
        scale = np.append(0.0, scale)
    if scale.size < 2:
        raise ValueError(f"the grades are all {scale[0]:g}; a model of grades needs two or more")
    coords = predictors.coords | {"grade_value": scale, "grade_step": scale[2:]}
    coords |= {"step_number": STEP}
    with pm.Model(coords=coords) as model:
        name_model("grade_model")
        relevant = frame.grade[0, judged] > scale[0]
        latent = linear_predictor(predictors, values, relevant)
        pm.Data("grade_scale", scale, dims="grade_value")
        pm.Data("judged_grade", np.searchsorted(scale, frame.grade[0, judged]), dims="judged_pair")
        steps = _steps(predictors, values, latent, scale.size - 2) if scale.size > 2 else []
        grade = pm.Categorical("grade", p=_grade_shares(latent, steps), dims="judged_pair")
        states = [f"{value:g}" for value in scale]
        label_judgments(grade, relevant, frame, judged, external, states)
        keep_parts()
    return model


def _steps(predictors: Predictors, values, latent, n_steps: int) -> list[Any]:
    """Log odds (judged_pair,) of every step, that a document with a grade reaches the next."""
    import pymc as pm
    import pytensor.tensor as pt

    normal = np.array([values[name] for name in STEP]).T
    pm.Data("step_prior", normal, dims=("prior_number", "step_number"))
    level, slope, by_rank = (
        cast("Any", pm.Normal(name, *values[name], dims="grade_step")) for name in STEP
    )
    above: Any = pt.softplus(latent)
    rank = step_rank(predictors.blocks[0].values[:, 1])
    steps = [level[step] + slope[step] * above + by_rank[step] * rank for step in range(n_steps)]
    pm.Data("topic_step_prior", values["topic_step_sd"][0])
    sd: Any = pm.HalfNormal("topic_step_sd", *values["topic_step_sd"])
    dims = ("topic", "grade_step")
    unit = pm.Normal("topic_step_deviation", np.float64(0), np.float64(1), dims=dims)
    effect: Any = pm.Deterministic("topic_step_effect", sd * unit, dims=dims)
    own: Any = effect[pm.modelcontext(None)["judged_topic"]]
    return [odds + own[:, step] for step, odds in enumerate(steps)]


def _grade_shares(latent, steps) -> Any:
    """Probability (judged_pair, grade_value) of every grade, of the log odds of all steps."""
    import pytensor.tensor as pt

    shares: list[Any] = [pt.sigmoid(-latent)]
    reached: Any = pt.sigmoid(latent)
    for odds in steps:
        shares.append(reached * pt.sigmoid(-odds))
        reached = reached * pt.sigmoid(odds)
    return pt.stack([*shares, reached], axis=-1)
