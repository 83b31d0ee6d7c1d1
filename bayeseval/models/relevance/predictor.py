"""Linear predictor that the models of relevance and of grades share, with its priors."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeseval.collection.labels import ranking_checksums
from bayeseval.frame.frame import Frame
from bayeseval.frame.scale import RankScale, rank_scale
from bayeseval.models.priors import checked_priors
from bayeseval.models.relevance.blocks import Block, blocks

PRIORS: dict[str, tuple[float, ...]] = {
    "intercept": (-1.5, 1.5),
    "slope": (-0.5, 1.0),
    "curvature": (0.0, 0.5),
    "topic_intercept_sd": (-0.4, 0.6),
    "topic_slope_sd": (-1.2, 0.6),
    "reliability_sd": (1.0,),
    "topic_component_sd": (1.0,),
    "grade_gap": (0.0, 0.75),
}

COLUMNS = {
    "topic": ("judged_pair", "predictor"),
    "population": ("judged_pair", "predictor"),
    "component": ("judged_pair", "component"),
    "curve": ("judged_pair",),
    "topic_component": ("judged_pair", "topic_component"),
}

CENTRED_FROM = 80  # judged pairs a topic, of
MANY_TOPICS = 20  # or more: fewer do not tell their standard deviation well
MANY_COMPONENTS = 50  # these tell their standard deviation well, and 20 do not,
PAIRS_PER_COMPONENT = 60  # where each of them has so many judged pairs


def prior_values(priors: Mapping[str, Any] | None) -> dict[str, tuple[np.float64, ...]]:
    """Numbers of every prior: the defaults, and what the user gave instead.

    Examples
    --------
    >>> prior_values({"reliability_sd": 0.2})["reliability_sd"]
    (np.float64(0.2),)
    """
    return checked_priors(PRIORS, priors)


@dataclass(frozen=True, eq=False)
class Predictors:
    """Predictors of the judged pairs.

    Parameters
    ----------
    frame : Frame
    scale : RankScale
    judged : int array (judged_pair,)
        Rows of the frame that are judged.
    log_rank : float array (judged_pair,)
    component : float array (judged_pair, component)
    n_topic_components : int
    topic_effects : bool
        Whether topics have an intercept and a slope of their own.
    """

    frame: Frame
    scale: RankScale
    judged: NDArray[np.int64]
    log_rank: NDArray[np.float64]
    component: NDArray[np.float64]
    n_topic_components: int
    topic_effects: bool = True

    @classmethod
    def of(
        cls, frame: Frame, n_components: int, n_topic_components: int, topic_effects: bool = True
    ) -> "Predictors":
        """Predictors of the judged pairs of a frame."""
        numbers = {"n_components": n_components, "n_topic_components": n_topic_components}
        for name, number in numbers.items():
            if number < 0:
                raise ValueError(f"{name} is {number}; allowed: 0 or more")
        scale = rank_scale(frame, n_components)
        known = ~np.isnan(frame.grade[0])
        parts = []
        for topic, ranks in frame.topics():
            inside = known[frame.topic == topic]
            parts.append(scale.predictors(ranks, np.flatnonzero(ranks.in_frame)[inside]))
        log_rank, component = (np.concatenate(part) for part in zip(*parts, strict=True))
        n_own = min(n_topic_components, component.shape[1])
        judged = np.flatnonzero(known)
        return cls(frame, scale, judged, log_rank, component, n_own, topic_effects)

    @property
    def blocks(self) -> list[Block]:
        """Blocks of the linear predictor of the judged pairs."""
        return blocks(
            self.scale,
            self.log_rank,
            self.component,
            n_topic_components=self.n_topic_components,
            topic_effects=self.topic_effects,
        )

    @property
    def coords(self) -> dict[str, Any]:
        """Labels of the model's dims."""
        collection = self.frame.collection
        number = np.arange(1, self.component.shape[1] + 1)
        return {
            "topic": collection["topic"].to_numpy(),
            "run": collection["run"].to_numpy()[self.frame.run],
            "predictor": ["intercept", "log_rank"],
            "fixed_effect": ["intercept", "log_rank", "curvature"],
            "prior_number": ["mean", "sd"],
            "component": number,
            "topic_component": number[: self.n_topic_components],
            "judged_pair": self.frame.labels(self.judged),
        }


def linear_predictor(predictors: Predictors, values: Mapping[str, tuple[np.float64, ...]]):
    """Variables of the linear predictor in the model of the context; returns it (judged_pair,).

    Few and simple operations keep the compilation short, which takes longer than the sampling of a
    small model.
    """
    import pymc as pm
    import pytensor.tensor as pt

    _constants(predictors)
    fixed = np.array([values[name] for name in ("intercept", "slope", "curvature")]).T
    pm.Data("fixed_prior", fixed, dims=("prior_number", "fixed_effect"))
    judged_topic = predictors.frame.topic[predictors.judged]
    topic: Any = pm.Data("judged_topic", judged_topic, dims="judged_pair")
    effects = _effects(predictors, values)
    terms: list[Any] = []
    for block in predictors.blocks:
        columns = pm.Data(f"{block.name}_value", block.values, dims=COLUMNS[block.name])
        effect = effects[block.effect]
        if block.by_topic:
            terms.append((columns * effect[topic]).sum(axis=-1))
        elif block.values.ndim == 1:
            terms.append(effect * columns)
        else:
            terms.append(pt.dot(columns, effect))
    return sum(terms[1:], terms[0])


def _effects(predictors: Predictors, values) -> dict[str, Any]:
    """Variables of the effects by their names."""
    import pymc as pm

    mean, spread = (np.array(v) for v in zip(values["intercept"], values["slope"], strict=True))
    population = pm.Normal("population_effect", mean, spread, dims="predictor")
    curvature = pm.Normal("curvature", *values["curvature"])
    effects: dict[str, Any] = {"population_effect": population, "curvature": curvature}
    if predictors.topic_effects:
        effects["topic_effect"] = _topic_effects(predictors, values, population)
    if predictors.component.shape[1]:
        effects["component_effect"] = _component_effects(predictors, values)
    if predictors.n_topic_components:
        effects["topic_component_effect"] = _topic_components(values)
    return effects


def _topic_effects(predictors: Predictors, values, population) -> Any:
    """Intercepts and slopes of topics, centred on the population's where they are known well.

    The two ways of writing say the same; which the sampler takes to depends on how much a topic's
    judgments tell: with few, or few topics, effects in units of their standard deviation leave no
    funnel.
    """
    import pymc as pm

    log_sd = np.array([values[name] for name in ("topic_intercept_sd", "topic_slope_sd")])
    topic_sd = pm.LogNormal("topic_sd", log_sd[:, 0], log_sd[:, 1], dims="predictor")
    dims = ("topic", "predictor")
    n_topics = np.unique(predictors.frame.topic).size
    if n_topics >= MANY_TOPICS and predictors.judged.size >= CENTRED_FROM * n_topics:
        return pm.Normal("topic_effect", population, topic_sd, dims=dims)
    deviation = pm.Normal("topic_deviation", np.float64(0), np.float64(1), dims=dims)
    return pm.Deterministic("topic_effect", population + topic_sd * deviation, dims=dims)


def _component_effects(predictors: Predictors, values) -> Any:
    """Effects of the components, in units of their standard deviation where little is known."""
    import pymc as pm
    import pytensor.tensor as pt

    number = predictors.component.shape[1]
    known = predictors.judged.size >= PAIRS_PER_COMPONENT * number
    sd = pm.HalfNormal("reliability_sd", *values["reliability_sd"])
    if known and number >= MANY_COMPONENTS:
        effect = pm.Normal("component_effect", np.float64(0), sd, dims="component")
    else:
        deviation = pm.Normal("component_deviation", np.float64(0), np.float64(1), dims="component")
        effect = pm.Deterministic("component_effect", sd * deviation, dims="component")
    pm.Deterministic("reliability", pt.dot(predictors.scale.rotation, effect), dims="run")
    return effect


def _topic_components(values) -> Any:
    """What single topics make of the first components, beyond what all make of them."""
    import pymc as pm

    sd = pm.HalfNormal("topic_component_sd", *values["topic_component_sd"])
    dims = ("topic", "topic_component")
    deviation = pm.Normal("topic_component_deviation", np.float64(0), np.float64(1), dims=dims)
    return pm.Deterministic("topic_component_effect", sd * deviation, dims=dims)


def _constants(predictors: Predictors) -> None:
    """What it takes to find the predictors of other pairs, kept with the model and its fit."""
    import pymc as pm

    scale = predictors.scale
    frame = predictors.frame
    pm.Data("frame_checksum", np.int64(frame.checksum))
    pm.Data("run_checksum", ranking_checksums(frame.collection, frame.run), dims="run")
    pm.Data("rank_depth", np.int64(scale.depth))
    pm.Data("log_rank_mean", np.float64(scale.log_rank_mean))
    pm.Data("log_rank_sd", np.float64(scale.log_rank_sd))
    pm.Data("log_rank_skew", np.float64(scale.log_rank_skew))
    pm.Data("run_slope", scale.run_slope, dims="run")
    pm.Data("run_mean", scale.run_mean, dims="run")
    pm.Data("rotation", scale.rotation, dims=("run", "component"))
    pm.Data("component_sd", scale.component_sd, dims="component")
