"""Means of scores over topics under every draw, and their labels."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection.choices import check_several_topics

BOOTSTRAP_STREAM = 1


def topic_weights(
    judged: NDArray[np.bool_], n_draws: int, seed_word: int, population: str
) -> NDArray[np.float64]:
    """Weight of each topic in the mean under each draw (topic, draw).

    Topics without a judgment weigh 0. For the population of topics the weights are those of the
    Bayesian bootstrap, the same for all runs.

    Examples
    --------
    >>> topic_weights(np.array([True, False, True]), 1, 0, "sample").ravel()
    array([0.5, 0. , 0.5])
    """
    weights = np.zeros((judged.size, n_draws))
    if population == "sample":
        weights[judged] = 1.0 / judged.sum()
    else:
        check_several_topics(int(judged.sum()))
        random = np.random.default_rng([seed_word, BOOTSTRAP_STREAM])
        weights[judged] = random.dirichlet(np.ones(judged.sum()), size=n_draws).T
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
