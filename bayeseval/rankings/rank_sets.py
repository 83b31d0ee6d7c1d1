"""Confidence sets for the ranks of runs, sets of the best, and groups of runs not told apart."""

import numpy as np
import xarray as xr

from bayeseval.collection.choices import check_ci_prob, check_seed, check_whole_numbers
from bayeseval.evaluation.topic_groups import Groups
from bayeseval.messages import Message, Option
from bayeseval.rankings.evidence import check_several_runs, evidence_by_measure
from bayeseval.rankings.separation import Pairs, separated
from bayeseval.rounding import DECIMALS


def rank_sets(
    scores: xr.Dataset,
    *,
    covariance: xr.DataArray | None = None,
    topic_groups: Groups | None = None,
    simultaneous: bool = False,
    top: int | None = None,
    ci_prob: float = 0.9,
    n_draws: int = 5000,
    random_seed: int = 0,
) -> xr.Dataset:
    r"""Confidence sets for the ranks of runs, valid at ties and near ties too.

    The rank of a run is 1 + the number of runs with a strictly higher true score. A run's set
    reaches from 1 + the number of runs found better than it to the number of runs less those found
    worse. What is found are differences :math:`\theta_r - \theta_s` whose studentised estimate
    exceeds the quantile of the studentised maximum over the family of pairs, both directions of
    each, with step-down: over the pairs of one run for a set that holds for each run by itself,
    over all pairs for sets that hold for all runs at once.

    Scores per topic give an estimate of the errors' covariance, whose correlations are shrunk for
    the quantile (:func:`bayeseval.rankings.evidence.shrunk_covariance`), and whose variances count
    by Student's t pair by pair, as if these were known together. With few topics that is not
    enough: of 90 % simultaneous sets of runs that all tie .89 held with 12 runs and 50 topics and
    with 60 and 50, .88 with 30 and 15, .85 with 12 and 10, .80 with 40 and 10 (errors .02 to .04;
    without shrinking .89, .88, .80, .77, .63). Sets that hold for each run by itself do (.94).

    The errors of means are those of ``covariance``, taken for normal. :func:`compare` has the same
    errors with Student's t: where judgments are few, it may leave open what is found here.

    Ranks of bootstrapped or of drawn scores have no such guarantee: at ties they say how often the
    noise put a run there, not where it may be.

    Parameters
    ----------
    scores : Dataset
        Scores per topic of :func:`evaluate` (the spread over topics serves; for these very topics
        it is too wide, so the sets hold); means of :func:`mean_over_topics` of population "sample"
        with ``covariance``; posterior draws of :func:`posterior_scores`; or combined estimates with
        a variable ``covariance``.
    covariance : DataArray (measure, run, run_other), optional
        Of :func:`covariance` with ``raised=True``, from the same sample.
    topic_groups : mapping, Series or DataArray of topic to group, optional
        Of scores per topic: groups of topics that were chosen together, such as the turns of
        conversations. Their spread serves then, as in :func:`mean_over_topics`.
    simultaneous : bool
        Sets that hold for all runs at once.
    top : int, optional
        Also the runs that cannot be excluded from the best ``top``.
    ci_prob : float
        Probability that the sets hold: over samples or topics; for draws, given the data.
    n_draws : int
        Draws of the joint distribution of the errors.
    random_seed : int

    Returns
    -------
    Dataset
        ``estimate`` (measure, run); ``rank`` of the estimates; ``interval`` (measure, run,
        ci_bound), whole numbers; ``tie_group`` (measure, run): 1 is the best, and every run of a
        group is found better than every run of the groups after it, all of these at once;
        ``separated`` (measure, run, run_other): run is found better than run_other, all at once;
        ``best`` (measure, run) where ``top`` is given: all of the best ``top`` runs are among them
        with the probability ``ci_prob``.

    Raises
    ------
    ValueError
        Means without a covariance, or with one that is not raised; NaN; draws of ``urn_model``,
        which draws each run by itself; groups of other than scores per topic, or not of every
        topic; ``top`` or ``ci_prob`` out of range.

    Warns
    -----
    UserWarning
        Where no groups are given, that topics are named like turns of groups and their scores go
        together.

    References
    ----------
    Mogstad, Romano, Shaikh and Wilhelm, "Inference for ranks with applications to mobility across
    neighbourhoods and academic achievement across countries", Review of Economic Studies 91 (2024),
    doi:10.1093/restud/rdad006. Romano and Wolf, "Exact and approximate stepdown methods for
    multiple hypothesis testing", JASA 100 (2005), doi:10.1198/016214504000000539.

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

    def found(of_all: bool) -> list[Pairs]:
        options = {"ci_prob": ci_prob, "simultaneous": of_all, "n_draws": n_draws}
        return [
            separated(one, random=np.random.default_rng(random_seed), **options) for one in known
        ]

    together = found(of_all=True)
    bounds = []
    for one in together if simultaneous else found(of_all=False):
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
        | {"ci_prob": ci_prob, "ci_kind": "rank_set", "simultaneous": int(simultaneous)},
    )
    if top is None:
        return result
    return result.assign(best=(dims, 1 + apart.sum(axis=1) <= top)).assign_attrs(top=top)


def check_top(top: int | None, n_runs: int) -> None:
    """Refuse a number of best runs that is none or too large, and fewer than two runs."""
    check_several_runs(n_runs)
    if top is None:
        return
    check_whole_numbers(1, top=top)
    if top > n_runs:
        raise ValueError(
            Message(Option("top"), f" must be a number of runs from 1 to {n_runs}, not {top}")
        )


def ranks(scores: np.ndarray) -> np.ndarray:
    """1 + the number of strictly higher scores, (..., run); rounding alone parts none."""
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
