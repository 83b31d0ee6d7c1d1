"""Variables of the hierarchical urn: effects of runs and topics, and the lists they explain."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeseval.distributions import wallenius_sequence

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


def by_contrast(values: Mapping[str, tuple[np.float64, ...]]):
    """Variables log w (run,) and logit q (topic,) for one urn of which little has been drawn.

    Sampled are logit q of the population and the contrast: the ridge along which q and w change
    together is then one variable's axis. Effects of topics and runs are in units of their spread,
    which leaves no funnel where the judged tops tell little of them.
    """
    import pymc as pm

    prevalence: Any = pm.Normal("population_logit_prevalence", *values["logit_prevalence"])
    mean, spread = values["log_odds"]
    contrast: Any = pm.Normal("population_contrast", prevalence - mean, spread)
    pm.Deterministic("population_log_odds", prevalence - contrast)
    logit = _effects("topic", "logit_prevalence", prevalence, values, centred=False)
    log_odds = _effects("run", "log_odds", prevalence - contrast, values, centred=False)
    pm.Deterministic("contrast", prevalence - log_odds, dims="run")
    return log_odds, logit


def apart(
    values: Mapping[str, tuple[np.float64, ...]],
    shape: tuple[int, ...],
    judgments: tuple[float, float],
):
    """The same where q and w are known apart: two urns, of which one has a known M, or deep lists.

    Effects are sampled as they are where there are many of them and each has so many judgments that
    it is known better than their spread says; there the other way is the slow one. Of few the
    spread may well be small, and sampled as they are they make a funnel of it.
    """
    import pymc as pm

    prevalence: Any = pm.Normal("population_logit_prevalence", *values["logit_prevalence"])
    population: Any = pm.Normal("population_log_odds", *values["log_odds"])
    pm.Deterministic("population_contrast", prevalence - population)
    topics, runs = (
        number >= MANY and each >= CENTRED_FROM for number, each in zip(shape, judgments)
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


def one_urn(colour, log_odds, logit_prevalence, n_documents, weight: float) -> None:
    """One urn a topic, from which all runs draw: M summed out once over all of them."""
    wallenius_sequence(
        "relevance",
        _by_topic(log_odds, colour),
        n_documents,
        _judged("relevance", colour, ("topic", "run", "rank")),
        logit_prevalence=logit_prevalence,
        likelihood_weight=weight,
        dims=("topic", "run", "rank"),
    )


def own_urns(colour, log_odds, logit_prevalence, n_documents) -> None:
    """An urn for each run and topic, of the documents that no other run shows."""
    import pytensor.tensor as pt

    dims = ("topic", "run", "list", "rank")
    wallenius_sequence(
        "relevance",
        _by_topic(log_odds, colour)[:, :, None],
        n_documents,
        _judged("relevance", colour[:, :, None, :], dims),
        logit_prevalence=pt.broadcast_to(logit_prevalence[:, None], colour.shape[:2]),
        dims=dims,
    )


def others_urns(colour, log_odds, n_documents, n_relevant, weight: float) -> None:
    """An urn for each run and topic, of the documents that some other run shows: M is known."""
    dims = ("topic", "run", "rank")
    wallenius_sequence(
        "shared_relevance",
        _by_topic(log_odds, colour),
        n_documents,
        _judged("shared_relevance", colour, dims),
        n_relevant=n_relevant,
        likelihood_weight=weight,
        dims=dims,
    )


def _by_topic(log_odds: Any, colour: NDArray[np.int8]) -> Any:
    """Log w of the runs, the same on all topics (topic, run)."""
    import pytensor.tensor as pt

    return pt.broadcast_to(log_odds[None, :], colour.shape[:2])


def _judged(name: str, colour: NDArray[np.int8], dims: tuple[str, ...]) -> NDArray[np.bool_]:
    """Keep what is known of a variable with the model; the places that are judged."""
    import pymc as pm

    pm.Data(f"judged_{name}", colour, dims=dims)
    return colour >= 0
