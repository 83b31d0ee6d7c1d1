"""Hierarchical ordered logistic model of the grades of documents."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from bayeseval.frame.frame import Frame
from bayeseval.models.identity import keep_parts, name_model
from bayeseval.models.priors import checked_priors
from bayeseval.models.relevance.builder import (
    N_COMPONENTS,
    N_CURVE_COMPONENTS,
    N_TOPIC_COMPONENTS,
)
from bayeseval.models.relevance.external import label_judgments
from bayeseval.models.relevance.judged import Predictors
from bayeseval.models.relevance.predictor import PRIORS, linear_predictor

GRADE_GAP = (0.0, 0.75)  # of the log


def grade_model(
    sampled: xr.DataTree,
    *,
    priors: Mapping[str, Any] | None = None,
    external: str | Sequence[str] = (),
    n_components: int = N_COMPONENTS,
    n_topic_components: int = N_TOPIC_COMPONENTS,
    n_curve_components: int = N_CURVE_COMPONENTS,
    topic_effects: bool | str = True,
    agreement: bool = True,
    runs: Sequence[str] | None = None,
):
    r"""Hierarchical ordered logistic model of the grade of topic-document pairs.

    .. math:: \mathrm{logit} P(grade_d \ge v_k) = \eta_d - \sum_{j=2}^{k} \delta_j

    with :math:`\eta` the linear predictor of :func:`relevance_model`, :math:`v_1 < v_2 < \dots` the
    grades above the lowest, and gaps :math:`\delta_j > 0` that all topics share: one scale of
    relevance, cut at several points. For two grades it is :func:`relevance_model`. The table of
    priors is its too, and one more:

    =====================  ==================  ===================================================
    name in ``priors``     default             why
    =====================  ==================  ===================================================
    grade_gap              LogNormal(0, 0.75)  of documents at one grade, between a fifth and four
                                               fifths reach the next
    =====================  ==================  ===================================================

    Parameters
    ----------
    sampled, priors, external, runs
        As for :func:`relevance_model`.
    n_components, n_topic_components, n_curve_components, topic_effects, agreement
        As for :func:`relevance_model`.

    Returns
    -------
    pymc.Model
        ``grade`` over ``judged_pair`` holds positions along the coord ``grade_value``; what is
        known of it is in ``judged_grade``.

    Raises
    ------
    ValueError
        As :func:`relevance_model`; a scale of a single grade; a grade that is not on the scale.

    References
    ----------
    McCullagh, "Regression models for ordinal data", JRSS B 42 (1980).

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
    import pytensor.tensor as pt

    values = checked_priors(PRIORS | {"grade_gap": GRADE_GAP}, priors)
    frame = Frame.of_one_sample(sampled, runs)
    predictors = Predictors.of(
        frame,
        n_components=n_components,
        n_topic_components=n_topic_components,
        n_curve_components=n_curve_components,
        topic_effects=topic_effects,
        agreement=agreement,
    )
    judged = predictors.judged
    scale = np.array(frame.scale)
    strange = np.setdiff1d(frame.grade[0, judged], scale)
    if strange.size:
        raise ValueError(
            f"a judgment has the grade {strange[0]:g}, which is not on the collection's scale: "
            f"{', '.join(f'{grade:g}' for grade in scale)}"
        )
    if scale.size < 2:
        raise ValueError(f"the grades are all {scale[0]:g}; a model of grades needs two or more")
    coords = predictors.coords | {"grade_value": scale, "grade_step": scale[2:]}
    with pm.Model(coords=coords) as model:
        name_model("grade_model")
        relevant = frame.grade[0, judged] > scale[0]
        latent = linear_predictor(predictors, values, relevant)
        pm.Data("grade_scale", scale, dims="grade_value")
        pm.Data("judged_grade", np.searchsorted(scale, frame.grade[0, judged]), dims="judged_pair")
        gap: Any = pt.zeros(0)
        if scale.size > 2:
            pm.Data("gap_prior", np.array(values["grade_gap"]), dims="prior_number")
            gap = pm.LogNormal("grade_gap", *values["grade_gap"], dims="grade_step")
        grade = pm.Categorical("grade", p=_grade_shares(latent, gap), dims="judged_pair")
        states = [f"{value:g}" for value in scale]
        label_judgments(grade, relevant, frame, judged, external, states)
        keep_parts()
    return model


def _grade_shares(latent, gap) -> Any:
    """Probability (judged_pair, grade_value) of every grade.

    That of a middle grade is the product of reaching it, of missing the next, and of 1 - exp(-gap);
    the difference of the two shares, which it equals, loses its digits where both are near 1.
    """
    import pytensor.tensor as pt

    above: Any = latent[:, None] - pt.concatenate([pt.zeros(1), pt.cumsum(gap)])
    reached: Any = pt.sigmoid(above)
    missed: Any = pt.sigmoid(-above)
    below: Any = pt.expm1(-gap)
    between = -reached[:, :-1] * missed[:, 1:] * below
    return pt.concatenate([missed[:, :1], between, reached[:, -1:]], axis=-1)
