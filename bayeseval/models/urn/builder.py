"""Hierarchical urn: how good runs are and how rich topics, from the judged tops of rankings."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection.choices import check_choice
from bayeseval.collection.labels import ranking_checksums
from bayeseval.models.identity import checked_priors, name_model
from bayeseval.models.urn.tops import DOCUMENTS, Tops, checked_tops, judgment_share

PRIORS: dict[str, tuple[float, ...]] = {
    "logit_prevalence": (-2.0, 1.5),
    "log_odds": (-1.5, 1.5),
    "topic_sd": (1.0,),
    "run_sd": (1.0,),
}
CENTRED_FROM = 30  # judgments of a topic, or of a run, that tell its effect, where there are
MANY = 20  # topics, or runs: fewer do not tell their standard deviation well
RUN_OUT = 0.3  # part of an urn that must be drawn for q and w to be known apart


def urn_model(
    sampled: xr.DataTree,
    *,
    depth: int,
    frame,
    documents: str = "unshared",
    gaps: str = "refuse",
    likelihood_weight: float | str = "judgments",
    relevance_level: int = 1,
    runs: Sequence[str] | None = None,
    priors: Mapping[str, Any] | None = None,
):
    r"""Park's urn as a hierarchical model of runs and topics, fitted to judged top ranks.

    A topic t has N documents, :math:`M_t \sim Binomial(N_t, q_t)` of them relevant. Run r draws
    them one after the other; after b relevant and c other documents the next one is relevant with
    probability (equation 12)

    .. math:: P(1 \mid b, c) = \frac{M_t - b}{(M_t - b) + w_r (N_t - M_t - c)}, \quad
              logit\, q_t \sim N(\mu_q, \tau), \quad \log w_r \sim N(\mu_w, \sigma)

    With ``documents="unshared"`` each run has two urns per topic: the documents that some *other*
    run shows at its first ``depth`` ranks, all judged, so that M is known (``shared_relevance``);
    and those that no other run shows (``relevance``), of which the judged ones are the beginning of
    the run's list, so that what was judged is ignorable. With ``documents="all"`` there is one urn
    a topic, the model of the paper. The likelihoods of the runs are multiplied (a composite
    likelihood, since runs share documents); that of shared lists is raised to
    ``likelihood_weight``, by default judged documents per judged place. The priors are
    logit_prevalence Normal(-2, 1.5), the mean of logit q; log_odds Normal(-1.5, 1.5), the mean of
    log w; topic_sd and run_sd HalfNormal(1). From the top of a list only the *contrast* logit q -
    log w is well known: see :func:`bayeseval.inference.prior_overlap`. What breaks it: documents of
    more than two weights within an urn, a pool of few runs. Each run is drawn by itself:
    differences of runs are not meant.

    Parameters
    ----------
    sampled : DataTree
        Rankings and judgments to a depth, such as a pool's; no sample with unequal probabilities.
    depth : int
        Ranks of every run that are judged, such as the pool depth.
    frame : {"retrieved", "judged"} or bool DataArray (pair,)
        Documents in the urn, the same for all runs; others count as non-relevant.
    documents : {"unshared", "all"}
        Two urns or one, see above.
    gaps : {"refuse", "ignorable"}
        Refuse unjudged documents at the first ranks, or, with ``documents="all"``, sum over them:
        right only if being judged depended neither on relevance nor on other rankings.
    likelihood_weight : float or "judgments"
        Power of the likelihood of lists that share documents, in (0, 1].
    relevance_level : int
        Least grade that counts as relevant.
    runs : list of str, optional
        Runs to fit; default: those of the depth pool, or those that contributed.
    priors : dict, optional
        Other numbers.

    Returns
    -------
    pymc.Model
        The variables ``relevance`` (topic, run, rank) and ``shared_relevance`` are not observed:
        what is known is in the data ``judged_NAME``, and :func:`bayeseval.fit` observes them.

    Raises
    ------
    ValueError
        A random design, gaps, replicates, no judgments, a depth below the pool, unknown names.

    References
    ----------
    Park, Uncertainty in Rank-Biased Precision, ADCS 2016, section 3.1, doi:10.1145/3015022.3015029.
    Ribatet, Cooley and Davison, "Composite likelihoods", Statistica Sinica 22 (2012).

    Examples
    --------
    >>> import bayeseval as be
    >>> lists = be.simulate.urn_collection([0.05, 0.1], n_topics=4, prevalence=0.2, random_seed=1)
    >>> pool = be.designs.depth_pool(lists, 5)
    >>> sampled = be.reveal(lists, pool, be.draw(pool, random_seed=1))
    >>> model = be.models.urn_model(sampled, depth=5, frame="retrieved")
    >>> [variable.name for variable in model.free_RVs][-2:]
    ['relevance', 'shared_relevance']
    """
    import pymc as pm
    import pytensor.tensor as pt

    values = checked_priors(PRIORS, priors)
    _check_options(documents, gaps, likelihood_weight)
    tops = checked_tops(
        sampled,
        depth=depth,
        frame=frame,
        runs=runs,
        relevance_level=relevance_level,
        documents=documents,
        gaps=gaps,
    )
    n_documents = tops.count(tops.in_frame)
    with pm.Model(coords=tops.coords) as model:
        name_model("urn_model")
        if documents == "all":
            colour = tops.lists(tops.in_frame)
            weight = _weight(likelihood_weight, colour, tops.n_shown(tops.in_frame))
            _constants(tops, documents, weight, weight)
            apart = share_drawn(colour, n_documents) >= RUN_OUT
            judgments = judgments_each(colour, weight)
            log_odds, logit = effects(values, colour.shape, judgments, apart=apart)
            urns("relevance", colour, log_odds, n_documents, weight, logit_prevalence=logit)
        else:
            own = tops.lists(tops.in_frame & (tops.shown_by == 1))
            shared = tops.lists(tops.in_frame & (tops.shown_by >= 2))
            n_shared = tops.n_shown(tops.in_frame & (tops.shown_by >= 2))
            weight = _weight(likelihood_weight, shared, n_shared)
            _constants(tops, documents, 1.0, weight)
            judgments = judgments_each(own, 1.0)[0], judgments_each(shared, weight)[1]
            log_odds, logit = effects(values, own.shape, judgments)
            n_others, relevant = tops.n_others
            unshown = n_documents[:, None] - n_others
            each = pt.broadcast_to(logit[:, None], own.shape[:2])
            urns("relevance", own[:, :, None], log_odds, unshown, logit_prevalence=each)
            urns("shared_relevance", shared, log_odds, n_others, weight, n_relevant=relevant)
    return model


def _check_options(documents: str, gaps: str, likelihood_weight) -> None:
    check_choice("documents", documents, DOCUMENTS)
    if gaps == "ignorable" and documents != "all":
        raise ValueError("gaps='ignorable' is for one urn; say documents='all' with it")
    if likelihood_weight == "judgments":
        return
    if isinstance(likelihood_weight, str) or not 0 < likelihood_weight <= 1:
        raise ValueError(
            f"likelihood_weight is {likelihood_weight!r}; allowed: 'judgments', or a number above "
            "0 and at most 1"
        )


def _weight(weight: float | str, colour: NDArray[np.int8], n_judged: int) -> float:
    return judgment_share(colour, n_judged) if isinstance(weight, str) else float(weight)


def _constants(tops: Tops, documents: str, weight: float, shared_weight: float) -> None:
    """What it takes to draw the unjudged ranks, and what was assumed, kept with the fit."""
    import pymc as pm

    pm.Data("urn_depth", np.int64(tops.depth))
    pm.Data("relevance_level", np.int64(tops.relevance_level))
    pm.Data("unshared", np.int64(documents == "unshared"))
    pm.Data("relevance_weight", np.float64(weight))
    pm.Data("likelihood_weight", np.float64(shared_weight))
    pm.Data("frame_checksum", np.int64(tops.checksum))
    pm.Data("run_checksum", ranking_checksums(tops.collection, tops.run), dims="run")
    pm.Data("frame_pair", np.flatnonzero(tops.in_frame))


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
