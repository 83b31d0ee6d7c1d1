"""Variables of the hierarchical urn: effects of runs and topics, and the lists they explain."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

CENTRED_FROM = 30  # judgments of a topic, or of a run, that tell its effect, where there are
MANY = 20  # topics, or runs: fewer do not tell their standard deviation well
RUN_OUT = 0.3  # part of an urn that must be drawn for q and w to be known apart


def share_drawn(colour: NDArray[np.int8], n_documents: NDArray[np.int64]) -> float:
    """Part of its urn that a list (topic, run, rank) shows, on average.

    Examples
    --------
    >>> share_drawn(np.array([[[1, 0, -1], [1, 0, 0]]], dtype=np.int8), np.array([10]))
    0.25
    """
    length = (colour >= 0).sum(axis=2)
    return float((length.mean(axis=1) / np.maximum(n_documents, 1)).mean())


def judgments_each(colour: NDArray[np.int8], weight: float) -> tuple[float, float]:
    """Judgments of a topic, and of a run, that lists (topic, run, rank) with this weight count."""
    number = weight * float((colour >= 0).sum())
    return number / colour.shape[0], number / colour.shape[1]


def effects(
    values: Mapping[str, tuple[np.float64, ...]],
    shape: tuple[int, ...],
    judgments: tuple[float, float],
    *,
    apart: bool = True,
):
    """Variables log w (run,) and logit q (topic,).

    Where q and w are known apart (two urns, of which one has a known M, or deep lists), effects are
    sampled as they are where there are many of them and each has so many judgments that it is known
    better than their spread says; there the other way is the slow one. Of few the spread may well
    be small, and sampled as they are they make a funnel of it.

    Where they are not ``apart``, logit q of the population and the contrast are sampled: the ridge
    along which q and w change together is then one variable's axis. Effects are in units of their
    spread, which leaves no funnel where the judged tops tell little of them.
    """
    import pymc as pm

    prevalence: Any = pm.Normal("population_logit_prevalence", *values["logit_prevalence"])
    mean, spread = values["log_odds"]
    if apart:
        population: Any = pm.Normal("population_log_odds", mean, spread)
        pm.Deterministic("population_contrast", prevalence - population)
    else:
        population = prevalence - pm.Normal("population_contrast", prevalence - mean, spread)
        pm.Deterministic("population_log_odds", population)
    topics, runs = (
        apart and number >= MANY and each >= CENTRED_FROM for number, each in zip(shape, judgments)
    )
    logit = _effects("topic", "logit_prevalence", prevalence, values, centred=topics)
    log_odds = _effects("run", "log_odds", population, values, centred=runs)
    pm.Deterministic("contrast", prevalence - log_odds, dims="run")
    return log_odds, logit


def _effects(dim: str, name: str, mean: Any, values: Mapping[str, Any], *, centred: bool) -> Any:
    """Normal effects of topics or runs, with the standard deviation that they share."""
    import pymc as pm

    sd: Any = pm.HalfNormal(f"{dim}_sd", *values[f"{dim}_sd"])
    if centred:
        return pm.Normal(name, mean, sd, dims=dim)
    deviation: Any = pm.Normal(f"{dim}_deviation", np.float64(0), np.float64(1), dims=dim)
    return pm.Deterministic(name, mean + sd * deviation, dims=dim)


def urns(
    name: str, colour: NDArray[np.int8], log_odds, n_documents, weight: float = 1.0, **number: Any
) -> None:
    """Lists (topic, run[, list], rank) drawn from urns, and what is known of them.

    M is that of a topic and summed out once over all its runs; with a dim list that of a topic and
    run; or the given ``n_relevant``.
    """
    import pymc as pm
    import pytensor.tensor as pt

    from bayeseval.distributions.wallenius import wallenius_sequence

    by_topic: Any = pt.broadcast_to(log_odds[None, :], colour.shape[:2])
    dims = ("topic", "run", "rank")
    if colour.ndim == 4:
        by_topic, dims = by_topic[:, :, None], ("topic", "run", "list", "rank")
    pm.Data(f"judged_{name}", colour, dims=dims)
    wallenius_sequence(
        name, by_topic, n_documents, colour >= 0, likelihood_weight=weight, dims=dims, **number
    )
