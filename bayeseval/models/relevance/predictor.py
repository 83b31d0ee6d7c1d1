"""Variables of the linear predictor that the models of relevance and of grades share."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayeseval.frame.scale import CURVES
from bayeseval.models.relevance.blocks import EFFECTS, SHRUNK, Predictors, keep_scale
from bayeseval.regression.ridge_logistic import Penalty, TopicRows, logits, ridge_logistic
from bayeseval.rounding import ratio

PRIORS: dict[str, tuple[float, ...]] = {
    "intercept": (-1.0, 2.0),
    "slope": (-2.0, 2.0),
    "curvature": (0.0, 1.0),
    "tail": (0.0, 1.0),
    "topic_intercept_sd": (1.0, 1.0),
    "topic_slope_sd": (0.5, 1.0),
    "topic_fisher_z": (0.0, 0.75),
    "reliability_sd": (2.0,),
    "curve_component_sd": (2.0,),
    "agreement_sd": (2.0,),
    "topic_component_sd": (1.0,),
    "topic_shape_sd": (1.0,),
}
FIXED = ("intercept", "slope", "curvature", "tail")  # not learned from the judgments
TOPIC = ("topic_intercept_sd", "topic_slope_sd", "topic_fisher_z")
SCALES = tuple(SHRUNK.values())

CENTRED_FROM = 12  # what a topic's judgments tell, the sum of p (1 - p), on average over
MANY_TOPICS = 20  # or more: fewer do not tell their standard deviation well
MANY_COMPONENTS = 50  # these tell their standard deviation well, and 20 do not,
PAIRS_PER_COMPONENT = 60  # where each of them has so many judged pairs


class JudgedLines(NamedTuple):
    """Middles of the judged log ranks, and regressions of columns on intercept and log rank.

    A judged pair weighs what its judgment tells (:func:`information`). These numbers choose the
    sampler's coordinates, and no choice of them changes the model.
    """

    middle: float  # of all topics
    # (topic,): of each; the middle of all where a topic has no judgment
    middles: NDArray[np.float64]
    # by effect (predictor, column), or (predictor,): regressions of the columns of shared effects
    of_block: dict[str, NDArray[np.float64]]

    @classmethod
    def of(cls, predictors: Predictors, weight: NDArray[np.float64]) -> "JudgedLines":
        """Middles and regressions of the judged pairs ."""
        line = predictors.blocks[0].values
        weighted = line * weight[:, None]
        middle = float(weighted[:, 1].sum() / weight.sum())
        n_topics = predictors.frame.collection.sizes["topic"]
        total, rank = (
            np.bincount(predictors.topic, weights=part, minlength=n_topics)
            for part in (weight, weighted[:, 1])
        )
        middles = ratio(rank, total, middle)
        inverse = np.linalg.inv(weighted.T @ line)
        of_block = {
            block.effect: inverse @ (weighted.T @ block.values)
            for block in predictors.blocks
            if not block.by_topic
        }
        return cls(middle, middles, of_block)


def information(predictors: Predictors, relevance: NDArray[np.bool_]) -> NDArray[np.float64]:
    """What each judgment (judged_pair,) tells of a topic's level: p (1 - p).

    That is about its weight in the likelihood, with p from a regression on topics and log rank
    alone. A hundred judgments of which four are relevant tell less than twenty with ten.
    """
    line = predictors.blocks[0].values  # intercept and log rank
    topic = predictors.topic
    rows = TopicRows(line[:, 1:], line[:, :1], topic, int(topic.max()) + 1)
    penalty = Penalty(np.full(1, 0.25), np.full(1, 0.25))  # standard deviations of 2
    logit = logits(rows, ridge_logistic(rows, relevance.astype(float), penalty))
    return 0.25 / np.cosh(0.5 * logit) ** 2


def linear_predictor(
    predictors: Predictors,
    values: Mapping[str, tuple[np.float64, ...]],
    relevance: NDArray[np.bool_],
):
    """Variables of the linear predictor in the model of the context; returns it (judged_pair,).

    Few and simple operations keep the compilation short, which takes longer than the sampling of a
    small model. ``relevance`` (judged_pair,) is looked at for the sampler's coordinates alone: no
    choice of them changes the model.
    """
    import pymc as pm
    import pytensor.tensor as pt

    keep_scale(predictors.frame, predictors.scale)
    fixed = np.array([values[name] for name in FIXED]).T
    pm.Data("fixed_prior", fixed, dims=("prior_number", "fixed_effect"))
    normal = np.array([values[name] for name in TOPIC]).T
    pm.Data("topic_prior", normal, dims=("prior_number", "topic_number"))
    pm.Data("scale_prior", np.concatenate([values[name] for name in SCALES]), dims="scale")
    topic: Any = pm.Data("judged_topic", predictors.topic, dims="judged_pair")
    effects = _effects(predictors, values, relevance)
    terms: list[Any] = []
    for block in predictors.blocks:
        dims = ("judged_pair", *EFFECTS[block.name].dims)
        columns = pm.Data(f"{block.name}_value", block.values, dims=dims)
        effect = effects[block.effect]
        if block.by_topic:
            terms.append((columns * effect[topic]).sum(axis=-1))
        elif block.values.ndim == 1:
            terms.append(effect * columns)
        else:
            terms.append(pt.dot(columns, effect))
    return sum(terms[1:], terms[0])


def _effects(predictors: Predictors, values, relevance: NDArray[np.bool_]) -> dict[str, Any]:
    """Variables of the effects by their names."""
    import pymc as pm
    import pytensor.tensor as pt

    effects: dict[str, Any] = {
        "curvature": pm.Normal("curvature", *values["curvature"]),
        "tail_effect": pm.Normal("tail_effect", *values["tail"]),
    }
    number = predictors.scale.lines.spread.size
    if number:
        known = predictors.judged.size >= PAIRS_PER_COMPONENT * number
        line = _shrunk("component", values, centred=known and number >= MANY_COMPONENTS)
        effects["component_effect"] = line
        pm.Deterministic("reliability", pt.dot(predictors.scale.lines.rotation, line), dims="run")
    if predictors.scale.curves.spread.size:
        effects["curve_component_effect"] = curve = _shrunk("curve_component", values)
        image: Any = pt.dot(predictors.scale.curves.rotation, curve)
        pm.Deterministic(
            "run_curve",
            image.reshape((len(CURVES), predictors.frame.run.size)),
            dims=("curve", "run"),
        )
    if predictors.scale.agreement.rotation.shape[1]:
        effects["agreement_effect"] = _shrunk("agreement", values)
    prior = tuple(np.array(v) for v in zip(values["intercept"], values["slope"], strict=True))
    effects |= _topic_effects(predictors, values, prior, effects, relevance)
    if number:
        effects["topic_component_effect"] = _shrunk("topic_component", values)
    effects["topic_shape_effect"] = _shrunk("topic_shape", values)
    return effects


def _topic_effects(
    predictors: Predictors, values, prior, shared: dict[str, Any], relevance: NDArray[np.bool_]
) -> dict[str, Any]:
    """Population and topics: intercepts and slopes, in coordinates that the sampler takes to.

    Two ways of writing topics say the same: with few judgments, or few topics, effects in units of
    their standard deviation leave no funnel; where they are known well, each topic's line where its
    judgments lie: its level at the middle of the judged ranks as it is, and its slope in units of
    its standard deviation, since a topic's slope is never known well; both with what the shared
    columns add to them there. Else a curve that all topics share would pull at every line at once,
    and a slope at its intercept. The two effects of a topic are normal and correlated.
    """
    import pymc as pm
    import pytensor.tensor as pt

    log_sd = np.array([values[name] for name in ("topic_intercept_sd", "topic_slope_sd")])
    sd: Any = pm.LogNormal("topic_sd", log_sd[:, 0], log_sd[:, 1], dims="predictor")
    z: Any = pm.Normal("topic_fisher_z", *values["topic_fisher_z"])
    correlation: Any = pm.Deterministic("topic_correlation", pt.tanh(z))
    dims = ("topic", "predictor")
    n_topics = np.unique(predictors.frame.topic).size
    weight = information(predictors, relevance)
    if n_topics >= MANY_TOPICS and weight.sum() >= CENTRED_FROM * n_topics:
        lines = JudgedLines.of(predictors, weight)
        added: Any = sum(pt.dot(lines.of_block[name], shared[name]) for name in lines.of_block)
        expected: Any = prior[0] + added
        tilt: Any = pm.Normal("population_tilt", expected[1], prior[1][1])
        # the scaled log rank where population_level stands, kept with the fit
        middle: Any = pm.Data("level_log_rank", np.float64(lines.middle))
        level: Any = pm.Normal("population_level", expected[0] + middle * tilt, prior[1][0])
        mean: Any = pt.stack([level - middle * tilt, tilt])
        unit: Any = pm.Normal("topic_tilt_deviation", np.float64(0), np.float64(1), dims="topic")
        slope = tilt + sd[1] * unit
        at_middle = mean[0] + correlation * sd[0] * unit + lines.middles * slope
        levels: Any = pm.Normal("topic_level", at_middle, sd[0] / pt.cosh(z), dims="topic")
        own = pt.stack([levels - lines.middles * slope, slope], axis=1) - added
        population: Any = pm.Deterministic("population_effect", mean - added, dims="predictor")
    else:
        population = pm.Normal("population_effect", *prior, dims="predictor")
        unit: Any = pm.Normal("topic_deviation", np.float64(0), np.float64(1), dims=dims)
        intercept = population[0] + sd[0] * unit[:, 0]
        slope = population[1] + sd[1] * (correlation * unit[:, 0] + unit[:, 1] / pt.cosh(z))
        own = pt.stack([intercept, slope], axis=1)
    return {
        "population_effect": population,
        "topic_effect": pm.Deterministic("topic_effect", own, dims=dims),
    }


def _shrunk(name: str, values, *, centred: bool = False) -> Any:
    """Effects of a block with one standard deviation, in units of it where not ``centred``."""
    import pymc as pm

    effect = EFFECTS[name]
    assert effect.sd is not None
    sd = pm.HalfNormal(effect.sd, *values[effect.sd])
    if centred:
        return pm.Normal(effect.variable, np.float64(0), sd, dims=effect.all_dims)
    deviation = pm.Normal(f"{name}_deviation", np.float64(0), np.float64(1), dims=effect.all_dims)
    return pm.Deterministic(effect.variable, sd * deviation, dims=effect.all_dims)
