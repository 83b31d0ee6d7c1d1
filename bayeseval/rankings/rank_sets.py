"""Confidence sets for the ranks of runs, sets of the best, and groups of runs not told apart."""

from dataclasses import replace

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection.choices import check_ci_prob, check_seed, check_whole_numbers
from bayeseval.evaluation.looks import information_of
from bayeseval.evaluation.topic_groups import Groups
from bayeseval.messages import Message, Option
from bayeseval.rankings.evidence import (
    Evidence,
    check_several_runs,
    errors_of_differences,
    evidence_by_measure,
    normal_draws,
    studentised,
)
from bayeseval.rounding import DECIMALS, ratio, settled
from bayeseval.uncertainty import at_one_look

Floats = NDArray[np.floating]
Pairs = NDArray[np.bool_]


def rank_sets(
    scores: xr.Dataset,
    *,
    covariance: xr.DataArray | None = None,
    topic_groups: Groups | None = None,
    simultaneous: bool = False,
    top: int | None = None,
    ci_prob: float = 0.9,
    anytime: bool = False,
    n_draws: int = 5000,
    random_seed: int = 0,
) -> xr.Dataset:
    r"""Confidence sets for the ranks of runs, valid at ties and near ties too.

    The rank of a run is 1 + the number of runs with a strictly higher true score. A run's set
    reaches from 1 + the number of runs found better than it to the number of runs less those found
    worse. A difference :math:`\theta_r - \theta_s` is found where its studentised estimate exceeds
    the quantile of the studentised maximum over the family of pairs, both directions of each, with
    step-down: over the pairs of one run for a set that holds for each run by itself, over all pairs
    for sets that hold for all runs at once.

    Scores per topic give an estimate of the errors' covariance, whose correlations are shrunk for
    the quantile (Schäfer and Strimmer); with few topics, simultaneous sets cover too little.

    Parameters
    ----------
    scores : Dataset
        Scores per topic of :func:`evaluate`, with their spread over topics; means of
        :func:`mean_over_topics` of population "sample" with ``covariance``; posterior draws of
        :func:`posterior_scores`; or combined estimates with a variable ``covariance``.
    covariance : DataArray (measure, run, run_other), optional
        Of :func:`covariance` with ``anticipated=True``, from the same sample.
    topic_groups : mapping, Series or DataArray of topic to group, optional
        Of scores per topic: as for :func:`mean_over_topics`.
    simultaneous : bool
        Sets that hold for all runs at once.
    top : int, optional
        Also the runs that cannot be excluded from the best ``top``.
    ci_prob : float
        Probability that the sets cover the true ranks: over samples or topics; for draws, given the
        data.
    anytime : bool
        Of means by an order: sets that hold at every look while judging goes on.
    n_draws : int
        Draws of the joint distribution of the errors.
    random_seed : int

    Returns
    -------
    Dataset
        ``estimate`` (measure, run); ``rank`` of the estimates; ``interval`` (measure, run,
        ci_bound), whole numbers; ``tie_group`` (measure, run): every run of a group is found better
        than every run of the groups after it; ``separated`` (measure, run, run_other): run is found
        better than run_other, all at once; ``best`` (measure, run) where ``top`` is given: all of
        the best ``top`` runs are among them with the probability ``ci_prob``.

    Raises
    ------
    ValueError
        Means without a covariance, or without the anticipated variance in it; NaN; draws of
        ``urn_model``; groups of other than scores per topic; ``anytime`` of other than an order.

    References
    ----------
    Mogstad, Romano, Shaikh and Wilhelm (2024), doi:10.1093/restud/rdad006. Romano and Wolf, "Exact
    and approximate stepdown methods", JASA 100 (2005), doi:10.1198/016214504000000539.

    Examples
    --------
    >>> import numpy as np, xarray as xr, bayeseval as be
    >>> mean = xr.Dataset(
    ...     {"estimate": (("measure", "run"), [[0.50, 0.49, 0.20]])},
    ...     coords={"measure": ["P@10"], "run": ["a", "b", "c"]},
    ... )
    >>> errors = xr.DataArray(
    ...     0.0004 * np.eye(3)[None], dims=("measure", "run", "run_other"),
    ...     coords={"measure": ["P@10"], "run": ["a", "b", "c"], "run_other": ["a", "b", "c"]},
    ... )
    >>> sets = be.rankings.rank_sets(mean, covariance=errors)
    >>> sets.interval.values.tolist(), sets.tie_group.values.tolist()
    ([[[1, 2], [1, 2], [3, 3]]], [[1, 1, 2]])
    """
    check_ci_prob(ci_prob)
    check_seed(random_seed)
    check_whole_numbers(1, n_draws=n_draws)
    measures, runs, known = evidence_by_measure(scores, covariance, topic_groups)
    check_top(top, runs.size)
    if anytime:
        if known[0].combined or known[0].draws is not None:
            raise ValueError("ranks that hold at every look are those of stat or dyn")
        information = information_of(scores, scores.attrs.get("population", "topics"))
        known = [replace(one, information=information) for one in known]

    def found_pairs(of_all: bool) -> list[Pairs]:
        options = {"ci_prob": ci_prob, "simultaneous": of_all, "n_draws": n_draws}
        return [
            separated(one, random=np.random.default_rng(random_seed), **options) for one in known
        ]

    together = found_pairs(of_all=True)
    bounds = []
    for one in together if simultaneous else found_pairs(of_all=False):
        better_than, worse_than = one.sum(axis=2)
        bounds.append(np.stack([1 + worse_than, runs.size - better_than], axis=-1))
    apart = np.stack([one[0] for one in together])
    estimate = np.stack([one.estimate for one in known])
    groups = [tie_groups(*one) for one in zip(estimate, apart, strict=True)]
    dims = ("measure", "run")
    result = xr.Dataset(
        {
            "estimate": (dims, estimate),
            "rank": (dims, ranks(estimate)),
            "interval": ((*dims, "ci_bound"), np.stack(bounds)),
            "tie_group": (dims, np.stack(groups)),
            "separated": ((*dims, "run_other"), apart),
        },
        coords={
            "measure": measures,
            "run": runs,
            "run_other": runs,
            "ci_bound": ["lower", "upper"],
        },
        attrs=scores.attrs
        | {"ci_prob": ci_prob, "ci_kind": "rank_set", "simultaneous": int(simultaneous)}
        | ({"anytime": 1} if anytime else {}),
    )
    if top is None:
        return result
    return result.assign(best=(dims, 1 + apart.sum(axis=1) <= top)).assign_attrs(top=top)


def check_top(top: int | None, n_runs: int) -> None:
    """Refuse a number of best runs out of range, and fewer than two runs."""
    check_several_runs(n_runs)
    if top is None:
        return
    check_whole_numbers(1, top=top)
    if top > n_runs:
        raise ValueError(
            Message(Option("top"), f" must be a number of runs from 1 to {n_runs}, not {top}")
        )


def ranks(scores: np.ndarray) -> np.ndarray:
    """1 + the number of strictly higher scores, (..., run), up to rounding."""
    from scipy.stats import rankdata

    size = np.maximum(np.abs(scores).max(axis=-1, keepdims=True), 1.0)
    return rankdata(-np.round(scores / size, DECIMALS), method="min", axis=-1).astype(int)


def tie_groups(estimate: np.ndarray, better: Pairs) -> np.ndarray:
    """Number of each run's group: a new one where all runs above are found better than all below.

    By the ``estimate`` (run,), and ``better`` (run, run): the first is found better than the
    second.
    """
    order = np.argsort(-estimate, kind="stable")
    sorted_better = better[np.ix_(order, order)]
    cuts = [sorted_better[:cut, cut:].all() for cut in range(1, order.size)]
    group = np.empty(order.size, dtype=int)
    group[order] = 1 + np.concatenate([[0], np.cumsum(cuts)])
    return group


def separated(
    evidence: Evidence,
    *,
    ci_prob: float,
    simultaneous: bool,
    n_draws: int,
    random: np.random.Generator,
) -> Pairs:
    """Pairs (2, run, run_other) of which the first is found better, and of which the second.

    [0, r, s]: r is found better than s; [1, r, s]: s is found better than r. With the probability
    ``ci_prob`` no pair is found the wrong way: among all pairs (``simultaneous``), or among the
    pairs of each run r, and then a row and its column need not agree. ``n_draws`` are of the joint
    normal distribution of the errors.
    """
    if evidence.draws is not None:
        return _posterior(evidence, ci_prob, simultaneous)
    error = evidence.error
    statistic = studentised(evidence.difference, error, evidence.freedom)
    statistic = at_one_look(statistic, evidence.information)
    joint = evidence.covariance if evidence.joint is None else evidence.joint
    first = (error == 0).argmax(axis=1)  # runs that are one and the same err as one
    joint = joint[first][:, first]
    errors, drawn_error = normal_draws(joint, n_draws, random), errors_of_differences(joint)
    certain = np.isposinf(statistic)
    every = (error > 0) & ~certain  # not of runs that are one and the same
    if simultaneous:
        better = certain | _step_down(statistic, every, drawn_error, errors, ci_prob)
        return np.stack([better, better.T])
    separate = np.stack([certain, certain.T])
    for run in range(len(error)):
        of_run = np.zeros_like(every)
        of_run[run], of_run[:, run] = every[run], every[:, run]
        rejected = _step_down(statistic, of_run, drawn_error, errors, ci_prob)
        separate[:, run] |= np.stack([rejected[run], rejected[:, run]])
    return separate


def _step_down(
    statistic: Floats, family: Pairs, error: Floats, errors: Floats, ci_prob: float
) -> Pairs:
    """Pairs of a family that are found apart, where the first of a pair is said to be better.

    The hypotheses, that it is not, whose statistic exceeds the quantile of the largest over the
    family are rejected and leave the family, until nothing more is rejected (Romano and Wolf
    2005). ``errors`` (draw, run) are drawn, and differ with the standard ``error`` (run, run).
    """
    from bayeseval.rankings.largest_ratio import largest_ratio

    rejected = np.zeros_like(family)
    while family.any():
        pairs = np.nonzero(family)
        inverse = ratio(1.0, error[pairs])
        limit = np.quantile(largest_ratio(errors, *pairs, inverse), ci_prob)
        more = family & (statistic > limit)
        if not more.any():
            break
        rejected |= more
        family = family & ~more
    return rejected


def _posterior(evidence: Evidence, ci_prob: float, simultaneous: bool) -> Pairs:
    """As many statements "r is better than s" as hold together with the posterior probability.

    Statements are taken in the order of their studentised difference: all above the smallest limit
    with which the draws contradict none of them in a share ``ci_prob`` of the cases.
    """
    draws = evidence.draws
    assert draws is not None
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = np.where(evidence.difference == 0, 0.0, evidence.difference / evidence.error)
    contradicted = np.full((len(evidence.estimate), len(draws)), -np.inf)  # by run and draw
    for run in range(len(contradicted)):
        apart = settled(draws[:, [run]] - draws, draws)
        for sign in (1.0, -1.0):  # this run said to be better, or worse
            stated = np.where(sign * statistic[run] > 0, sign * statistic[run], -np.inf)
            wrong = sign * apart <= 0
            wrong[:, run] = False
            broken = np.where(wrong, stated, -np.inf).max(axis=1)
            np.maximum(contradicted[run], broken, out=contradicted[run])
    if simultaneous:
        contradicted[:] = contradicted.max(axis=0)
    limit = np.quantile(contradicted, ci_prob, axis=1, method="higher")
    limit = np.maximum(limit, 0.0)[:, None]
    return np.stack([statistic > limit, -statistic > limit])
