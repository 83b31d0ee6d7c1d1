"""Scores of every run on every topic, with design standard errors."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection.labels import without_documents, without_judgment
from bayeseval.collection.origin import origin, run_coords
from bayeseval.estimators.difference import described_predictor
from bayeseval.estimators.registry import described_options
from bayeseval.evaluation.problem import Problem, check_option
from bayeseval.evaluation.scored import OF_COUNTS, OF_TOPIC, scored
from bayeseval.frame.independence import RunsFollowSample, warn_following
from bayeseval.frame.rankings import Rankings
from bayeseval.measures.measure import described_gains
from bayeseval.messages import Message, Option, TopicsUnranked
from bayeseval.uncertainty import interval, raised_variance


class TopicsUnjudged(UserWarning):
    """Topics that have no judgment, which are left out of means."""


def evaluate(
    sampled: xr.DataTree,
    measures,
    *,
    estimator: str,
    predictor=None,
    relevance_level: int = 1,
    gain=None,
    outside: str = "nonrelevant",
    missing_topics: str = "zero",
    random_seed: int | None = None,
    ci_prob: float = 0.9,
    estimator_options: dict | None = None,
) -> xr.Dataset:
    r"""Scores of every run on every topic, with design standard errors.

    Every linear measure is :math:`\sum_i weight_i \, v(d_i)`, where the estimator fills in the
    relevance v: the judgments, 0 where unjudged (``assumed``); y / pi (``stat``); M + (y - M) / pi
    (``dyn``). AP, nDCG, Rprec and R@k are ratios of such sums (AP of sums over pairs of ranks).

    Parameters
    ----------
    sampled : DataTree
        Collection with judgments, and with ``/design`` for ``stat`` and ``dyn``.
    measures : str, ir_measures object, or list of them
        "P@10", "RBP(p=0.8)", "DCG@20", "nDCG@10", "AP", "AP(rel=2)", "Rprec", "R@100", "NumRel" ...
    estimator : {"assumed", "stat", "dyn", "condensed", "inf", "stat_ap", "importance"}
        The last four score whole ranked lists, the last three for some measures alone (Notes).
    predictor : str or tuple, optional
        M of ``dyn``: "pooled" (default), "rank_logistic" (Cormack and Grossman 2019), "constant";
        with columns of /predictors ("pooled", columns), ("recalibrated", columns) or ("external",
        column). Where labels were added (:func:`add_predictions`) the default is "pooled" with all
        of them, and "pooled" by name leaves them out (Notes).
    relevance_level : int
        Least grade that counts as relevant; ``rel=`` in a measure wins.
    gain : dict or callable, optional
        Gain of each grade for the graded measures (DCG, nDCG, and RBP where given).
    outside : {"nonrelevant", "missing", "error"}
        Documents outside the frame (``assumed`` and ``condensed``: unjudged ones): non-relevant (to
        ``condensed`` not there), or the score NaN, or an error.
    missing_topics : {"zero", "skip"}
        A topic that a run lacks scores 0, or NaN. Topics that all runs lack are named in a warning
        where they score 0.
    random_seed : int, optional
        For Rprec, whose variance is found by replication, and for the draws of the numbers of
        relevant documents that AP, nDCG and R@k divide by. Default 0.
    ci_prob : float
        Coverage of the interval per topic.
    estimator_options : dict, optional
        Of "stat" and "dyn": ``denominator``, "counts" (default) or "topic" (Notes). Of "inf":
        ``relevant_smoothing`` (1e-5) and ``sampled_smoothing`` (3e-5, the larger one). Of
        "importance": ``conditioning`` ("run" or "none") and ``ratio`` ("plain" or "beale"). Of
        "condensed": ``depth``, the ranks that documents may move up from.

    Returns
    -------
    Dataset
        ``estimate``, ``standard_error``, ``degrees_of_freedom``, ``interval``,
        ``outside_weight`` and ``limited`` over measure, run, topic and replicate, if any.
        For sums of relevances and ratios of them ``anticipated_error``, the standard error that
        the predictions lead one to expect (Notes). ``outside_weight`` is the share (for linear
        measures, the weight) of the ranks whose document is outside the frame. ``limited`` marks
        ratios that were limited (see Notes).
        For ratios whose denominator rests on the counts of all topics also ``denominator_error``,
        the relative error of the number of relevant documents, and ``modelled_share``, how much of
        what is known of it comes from other topics, both (measure, topic); and
        ``denominator_effect``, ``denominator_direction`` and ``denominator_left``, the errors that
        topics share and, where numbers are few, all that is not of a topic's own sample.
        Linear estimates may lie outside [0, 1]: clipping them would bias them.

    Raises
    ------
    ValueError
        Unknown measure or estimator; ``stat`` or ``dyn`` without a random design, or for a measure
        that is neither a sum of relevances nor a ratio of such sums (RR, Success, Bpref, infAP,
        Judged, NumRet).

    Warns
    -----
    UserWarning
        Topics without a judgment or without documents; runs whose rankings follow the sample, as
        those that were made with its judgments: no estimator by the design is right for them
        (of one sample whose inclusion probabilities are all known); what a measure, its level or
        the design may be mistaken about.

    Notes
    -----
    "assumed" takes unjudged documents for non-relevant, "condensed" takes them out of the rankings
    (Sakai 2007). "inf" sets each to what its stratum of the pool leads one to expect, and to 1/3
    where nothing was sampled: biased (Yilmaz, Kanoulas and Aslam 2008; AP, nDCG, P, NumRel,
    NumRelRet). "stat_ap" weighs by inclusion probabilities and takes pairs for independent (Pavlu
    and Aslam 2007; AP, P, Rprec, NumRel). "importance" is for draws with replacement (Aslam, Pavlu
    and Yilmaz 2006; AP, Rprec and linear measures). Their documentation is in
    ``bayeseval.estimators``. What follows is about "stat" and "dyn".

    What is random is the sample alone. For linear measures ``stat`` and ``dyn`` are exactly
    unbiased. The variance of a stratified sample is :math:`\sum_h N_h^2 (1 - n_h/N_h) s_h^2 / n_h`
    with :math:`s_h^2` the sample variance of weight times residual, exactly unbiased with stat or a
    fixed M; a stratum with a single sampled document is joined with its neighbour; it is 0 where
    everything was judged. A ratio N/D is estimated by (N D + C(N, D)) / (D^2 + V(D)) (Beale 1962),
    which removes its second-order bias. Its variance starts from that of the linearised error l and
    goes on to the third order, V(l) (1 + 3 V(D) / D^2) + 5 C(l, D)^2 / D^2: the linear part alone
    is too small where the number of relevant documents is poorly known. D is never taken below the
    number of documents seen relevant, or below 1 (for nDCG, the number at each level of the gain
    never below those seen). Where D had to be raised so, or where V(D) > D^2 / 4, the ratio is
    limited to [0, 1] and its standard error to 1/2. Elsewhere it is left alone and may lie outside,
    as a linear measure may. Rprec is limited to [0, 1] everywhere, its standard error nowhere.
    ``limited`` says where D was raised or the limits changed the estimate.

    That is the estimate with ``denominator="topic"``. Where few documents are relevant a topic's
    own sample can tell neither D nor its variance, and the default "counts" asks all topics: the
    relevant among the sampled documents of a stratum are binomial, with a curve over ranks for all
    topics and correlated deviations of each topic from it (:func:`bayeseval.models.count_model`;
    along another slope where the counts ask for it by far), whose posterior gives that of D. Where
    topics have few relevant documents, D may have a distribution of its own instead, so that one
    that was found speaks against a second (bayeseval.estimators.counts.few); so may that of some
    topics beside others, navigational ones (bayeseval.estimators.counts.kinds). The ratio is N
    E[1/D]: unbiased on average over the topics that the model speaks of, not topic by topic. For
    nDCG, a topic may lack the grades above the lowest that has a gain: their counts are
    zero-inflated. So are those of relevance where the counts are clearly likelier if some topics
    have nothing relevant. For dyn the posterior of the number of relevant documents is moved by own
    times the difference between dyn's estimate of that number and stat's, where own is the weight
    that the posterior mean gives to the topic's own sample: its variance by the variance that the
    topic's own strata leave. Where the predictions rest on labels, that estimate has a variance of
    its own, as the predictions p lead one to expect, the residuals show, or its distance from the
    posterior asks for, whichever is largest: q of that of the topic's strata, 1 at most. The
    posterior mean then goes 1 - r of the way to it, r = q / (own + (1 - own) q), its variance falls
    to r of what it was, and own to own r / q; not where the estimate may be off by half, nor where
    topics have so few that D has its own distribution. For nDCG so do the numbers of the levels.
    AP, and labels taken as they are, do not follow an estimate whose variance is no smaller (q =
    1). Topics whose D is drawn towards the others' are off in N E[1/D], on average by nothing only
    where the scores do not go with D beyond what the counts show. So AP and R@k have a control
    variate (:class:`bayeseval.estimators.denominators.Control`), c w A (s - q D E[1/D]) with w that
    same weight, A the score that the predictions (for stat the rates of the strata; without strata
    of blocks by falling probability) lead one to expect, and c 1 for AP, 1/2 for R@k. For dyn s is
    the posterior probability that anything is relevant and q is 1; for stat s is whether anything
    relevant was seen and q the chance of that, so that a topic in which nothing was seen scores 0.
    A run that finds nothing relevant in a topic may score a little off 0 by it. The estimate is
    limited to [0, 1] where the number of relevant documents has a relative error above 1/4 (that of
    nDCG too, though an ideal gain to a small cutoff may be known well there), and where that
    changes a run's mean over topics by more than chance, what the limits took is given back
    (:func:`bayeseval.estimators.denominators.given_back`). Own times the error of the sample's D
    goes with that of N, slot by slot; the rest of the posterior variance of 1/D is common to all
    runs and partly to all topics, and means over topics, covariances and paired differences carry
    it (all of it: what the control variate takes off E[1/D] shortens nothing). Rprec takes its
    numerator and 1/D for independent.

    Where others judged most what some run ranks high, in a few strata by the best rank in any run
    (sampleval) or as a pool that was judged whole beside a sample of less than half of the rest
    (sampleval; probabilities of 1 under Poisson sampling), these documents are not like others of
    their fused rank, and "counts" gives way to "topic", with a warning.

    The numerator of AP is exactly unbiased for ``stat``, and for ``dyn`` with a fixed M, where two
    or more are drawn per stratum; with an M learned from the sample a small bias remains. Where one
    is drawn no unbiased numerator exists: for the pairs that are never drawn together ``stat``
    takes what the other draws say of their stratum's rate, as if that were known
    (:func:`bayeseval.estimators.stratum_rates.rates_beside`), and lacks what the rate leaves. A sum
    that comes out negative by this is limited to 0 where the topic's own number divides it.
    Labels of an LLM or another assessor (:func:`add_predictions`) are features of the default
    predictor, beside the ranks: ("pooled", all of them). Their worth is learned from the judged
    documents of other strata, so that the estimate stays unbiased and a bad judge costs next to
    nothing but length; documents may lack one, but not because they were not sampled (which is
    refused where it shows). ("external", column) takes one as it is, with a warning: an M that is
    often wrong makes larger errors than none.

    Intervals use Student's t with Satterthwaite's degrees of freedom, for a variance that a few
    strata dominate is itself poorly known. A sample that misses the few documents that matter errs,
    and its variance is too small, both at once: where the variance A that the design would have if
    documents were relevant with the predicted probabilities (for ``stat`` in strata: what ``dyn``
    with the rates of the strata would have; for an M that is taken as it is by the mean squared
    residuals of strata, since labels of 0 and 1 claim to be certain) is larger than the estimated
    V, the interval rests on (df V + 10 A) / (df + 10). With an A there are 10 degrees of freedom at
    least, for V cannot then be far too small unnoticed
    (:func:`bayeseval.uncertainty.raised_variance`). Where numbers of relevant documents are few and
    modelled themselves, V and A are compared without what is not of the sample
    (``denominator_left``), which stands beside the larger one. ``standard_error`` stays the root of
    V, and ``degrees_of_freedom`` are its own. So it is for linear measures, and for R@k and nDCG by
    their linear errors, and for AP by ``stat`` and by an M that is taken as it is, where
    denominators rest on the counts; other AP, Rprec and covariances that are not raised rest on V
    alone.

    References
    ----------
    Cormack and Grossman (2019), doi:10.1145/3331184.3331355. E. M. L. Beale, "Some uses of
    computers in operational research", 1962. Rao and Wu (1988), JASA 83.

    Examples
    --------
    >>> import pandas as pd, bayeseval as be
    >>> run = pd.DataFrame({"run": "a", "topic": "1", "document": list("abcd")})
    >>> qrels = pd.DataFrame({"topic": "1", "document": list("abcd"), "grade": [1, 0, 1, 0]})
    >>> collection = be.read_collection(qrels, run.assign(score=[4, 3, 2, 1]))
    >>> scores = be.evaluate(collection, ["P@2", "AP"], estimator="assumed")
    >>> scores.estimate.sel(run="a", topic="1").values.round(4)
    array([0.5   , 0.8333])
    """
    check_option(outside=outside, missing_topics=missing_topics)
    problem = Problem.prepared(
        sampled,
        measures,
        estimator=estimator,
        predictor=predictor,
        relevance_level=relevance_level,
        gain=gain,
        random_seed=random_seed,
        estimator_options=estimator_options,
    )
    warn_unjudged(problem)
    if problem.random:
        warn_following(problem.frame)
    if missing_topics == "zero":
        warn_unranked(problem.frame.collection, problem.frame.rankings, problem.judged_topic)
    arrays = scored(problem, skip_missing=missing_topics == "skip")
    _apply_outside(problem, arrays, outside)
    attrs = {
        "estimator": estimator,
        "predictor": described_predictor(sampled, estimator, predictor),
        "estimator_options": described_options(estimator, estimator_options),
        "outside": outside,
        "missing_topics": missing_topics,
        "ci_prob": ci_prob,
        "relevance_level": relevance_level,
        "gain": described_gains(problem.measures),
    } | origin(sampled)
    return _labelled(problem, arrays, ci_prob).assign_attrs(attrs)


def warn_unjudged(problem: Problem) -> None:
    """Say once which topics have no judgment."""
    judged = problem.judged_topic
    unjudged = problem.frame.collection["topic"].to_numpy()[~judged]
    if not judged.any():
        raise ValueError("no topic of the collection has a judgment")
    if unjudged.size:
        text = without_judgment(unjudged, int(judged.sum()))
        warnings.warn(text, TopicsUnjudged, stacklevel=3)


def warn_unranked(
    collection: xr.DataTree, rankings: Rankings, judged: NDArray[np.bool_], *, stacklevel: int = 3
) -> None:
    """Say once which judged topics (topic,) no run has documents for, since all score 0 there."""
    empty = judged & (rankings.length == 0).all(axis=0)
    if empty.any():
        text = without_documents(collection["topic"].to_numpy()[empty].tolist(), int(judged.sum()))
        warnings.warn(text, TopicsUnranked, stacklevel=stacklevel)


@contextmanager
def topics_said() -> Iterator[None]:
    """Say nothing of topics that lack judgments or documents, nor of runs, as the caller has."""
    with warnings.catch_warnings():
        for category in (TopicsUnjudged, TopicsUnranked, RunsFollowSample):
            warnings.simplefilter("ignore", category)
        yield


def _apply_outside(problem: Problem, arrays: dict, outside: str) -> None:
    """Refuse or blank scores with weight outside the frame."""
    if outside == "nonrelevant":
        return
    if problem.frame.lists_sampled_alone:
        raise ValueError(
            Message(
                Option("outside", outside),
                " needs to know what lies outside the frame, and these judgments (prels or probs) "
                "list only the sampled documents of it; allowed: nonrelevant",
            )
        )
    lost = (arrays["outside_weight"] > 1e-12) & ~np.isnan(arrays["estimate"])
    if outside == "error" and lost.any():
        measure, run, topic, _ = first = tuple(np.argwhere(lost)[0])
        labels = problem.labels
        where = "outside the frame" if problem.random else "on unjudged documents"
        raise ValueError(
            Message(
                Option("outside", "error"),
                f" allows no weight {where}, and {int(lost.sum())} of {lost.size} scores have "
                f"some, the first is {labels['measure'][measure]} of run '{labels['run'][run]}' "
                f"on topic '{labels['topic'][topic]}' with "
                f"{arrays['outside_weight'][first]:.3g}",
            )
        )
    for name in ("estimate", "standard_error", "anticipated_error"):
        arrays[name] = np.where(lost, np.nan, arrays[name])


def by_denominators(scores: xr.Dataset) -> xr.DataArray:
    """Variance of every topic's score that is not of its sample, where few are relevant; else 0."""
    if "denominator_effect" not in scores:
        return xr.zeros_like(scores["estimate"])
    # NaN of a measure without such a model, where scores were joined
    effect, left = (scores[f"denominator_{name}"].fillna(0.0) for name in ("effect", "left"))
    return (effect * left) ** 2


def _labelled(problem: Problem, arrays: dict, ci_prob: float) -> xr.Dataset:
    dims = ("measure", "run", "topic", "replicate")
    of_topic = ("measure", "topic", "replicate")
    along = {"denominator_direction": (*of_topic, "direction")}
    dims_of = dict.fromkeys(OF_COUNTS, of_topic) | along
    held = {name: (dims_of.get(name, dims), values) for name, values in arrays.items()}
    if not arrays["denominator_direction"].shape[-1]:  # no model of the counts was used
        for name in ("denominator_effect", *OF_TOPIC):
            del held[name]
    if np.isnan(arrays["anticipated_error"]).all():
        del held["anticipated_error"]
    scores = xr.Dataset(held, coords=problem.labels | run_coords(problem.frame.collection))
    if "replicate" not in problem.frame.collection["judgments/grade"].dims:
        scores = scores.isel(replicate=0)
    error, freedom = scores["standard_error"], scores["degrees_of_freedom"]
    if "anticipated_error" in scores:
        anticipated = scores["anticipated_error"].fillna(0.0) ** 2
        beside = by_denominators(scores)
        variance, freedom = raised_variance(error**2, freedom, anticipated, beside)
        error = variance**0.5
    bounds = interval(scores["estimate"], error, ci_prob=ci_prob, degrees_of_freedom=freedom)
    return scores.assign(interval=bounds)
