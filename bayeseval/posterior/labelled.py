"""Means of scores over topics under every draw, and their labels."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection.choices import check_several_topics

BOOTSTRAP_STREAM = 1


def topic_weights(
    judged: NDArray[np.bool_],
    n_draws: int,
    seed_word: int,
    population: str,
    of_group: NDArray[np.floating] | None = None,
) -> NDArray[np.float64]:
    """Weight of each topic in the mean under each draw (topic, draw).

    Topics without a judgment weigh 0. For the population of topics the weights are those of the
    Bayesian bootstrap, the same for all runs: of topics, or of the groups that they come in,
    ``of_group`` (topic, group), 1 or 0, all topics of one alike.

    Examples
    --------
    >>> topic_weights(np.array([True, False, True]), 1, 0, "sample").ravel()
    array([0.5, 0. , 0.5])
    """
    weights = np.zeros((judged.size, n_draws))
    if population == "sample":
        weights[judged] = 1.0 / judged.sum()
        return weights
    by = (np.eye(judged.size) if of_group is None else of_group)[judged]
    by = by[:, by.any(axis=0)]
    check_several_topics(by.shape[1], "topics" if of_group is None else "groups of topics")
    random = np.random.default_rng([seed_word, BOOTSTRAP_STREAM])
    drawn = by @ random.dirichlet(np.ones(by.shape[1]), size=n_draws).T
    weights[judged] = drawn / drawn.sum(axis=0)
    return weights


def labelled_scores(
    sizes: Mapping[str, int],
    labels: Mapping[str, Any],
    estimate: NDArray[np.float64],
    lost: NDArray[np.float64],
    over: str | None,
) -> xr.Dataset:
    """Scores (measure, run[, topic], draw) over chain and draw, and the weight outside the frame.

    What is ``lost`` is (measure, run, topic); ``over`` is "topic" where scores are means.
    """
    values = np.moveaxis(estimate, -1, 0).reshape(*sizes.values(), *estimate.shape[:-1])
    dims = ("measure", "run", "topic")
    scores = xr.Dataset(
        {
            "estimate": (("chain", "draw", *dims[: values.ndim - 2]), values),
            "outside_weight": (dims, lost),
        },
        coords=dict(labels),
    )
    if over is None:
        return scores
    mean = scores["outside_weight"].mean("topic", skipna=True)
    return scores.assign(outside_weight=mean).drop_vars("topic")
