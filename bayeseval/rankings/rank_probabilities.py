"""Probabilities of ranks, and of one run being better than another."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection.choices import check_ci_prob, check_seed, check_whole_numbers
from bayeseval.evaluation.topic_groups import Groups
from bayeseval.rankings.comparisons import (
    chosen_prior,
    prior_weights,
    probability_positive,
    variance_factor,
)
from bayeseval.rankings.evidence import (
    Evidence,
    covariance_of_differences,
    evidence_by_measure,
    normal_draws,
    studentised,
)
from bayeseval.rankings.rank_sets import ranks
from bayeseval.rounding import settled

Floats = NDArray[np.floating]


def rank_probabilities(
    scores: xr.Dataset,
    *,
    covariance: xr.DataArray | None = None,
    topic_groups: Groups | None = None,
    prior: str | None = None,
    ci_prob: float = 0.9,
    n_draws: int = 4000,
    random_seed: int = 0,
) -> xr.Dataset:
    r"""Probability of every rank for every run, and of every run being better than another.

    From posterior draws these are shares of draws (equal scores count half for ``better``, and
    share the best rank). From estimates with a covariance the errors are jointly normal (from
    scores per topic, Student's t), and the true differences have a prior:

    ``"normal"``
        each is normal around 0 with a variance that is a multiple of its error variance; the
        weights of the multiples are learned from the differences of all pairs. ``better`` has a
        closed form; for the ranks, scores are drawn around the estimates with a covariance in which
        each difference has the variance at which a flat prior would be as sure.
    ``"flat"``
        none: too sure where true differences are small in comparison with their errors.

    These probabilities are right on average over pairs like the given ones. For sets of ranks that
    hold whatever the true scores see :func:`rank_sets`.

    Parameters
    ----------
    scores : Dataset
        Posterior draws, means with ``covariance``, scores per topic, or combined estimates, as for
        :func:`rank_sets`.
    covariance : DataArray (measure, run, run_other), optional
        Of :func:`covariance` with ``anticipated=True``, from the same sample.
    topic_groups : mapping, Series or DataArray of topic to group, optional
        Of scores per topic: groups of topics that were chosen together, such as the turns of
        conversations, as for :func:`mean_over_topics`.
    prior : {"normal", "flat"}, optional
        Default: "normal" for design-based estimates, "flat" for combined ones. Posterior draws have
        their own prior and take none here.
    ci_prob : float
        Least probability of each run's interval of ranks.
    n_draws : int
        Draws of ranks from a normal distribution.
    random_seed : int

    Returns
    -------
    Dataset
        ``probability`` (measure, run, rank), ``better`` (measure, run, run_other),
        ``expected_rank`` (1 + the sum of the probabilities that another is better), ``interval``
        (measure, run, ci_bound) of ranks with equal tails, ``estimate`` (measure, run).

    Raises
    ------
    ValueError
        As :func:`rank_sets`; an unknown prior, or one for posterior draws.

    Examples
    --------
    >>> import xarray as xr, bayeseval as be
    >>> draws = [[[[0.5, 0.4], [0.6, 0.3], [0.5, 0.2], [0.4, 0.5]]]]
    >>> post = xr.Dataset(
    ...     {"estimate": (("measure", "chain", "draw", "run"), draws)},
    ...     coords={"measure": ["P@10"], "run": ["a", "b"]},
    ... )
    >>> be.rankings.rank_probabilities(post).better.sel(run="a", run_other="b").item()
    0.75
    """
    check_ci_prob(ci_prob)
    check_seed(random_seed)
    check_whole_numbers(1, n_draws=n_draws)
    measures, runs, known = evidence_by_measure(scores, covariance, topic_groups)
    prior = chosen_prior(prior, known[0])
    better, drawn = [], []
    for one in known:
        if one.draws is None:
            random = np.random.default_rng(random_seed)  # the same for any other measures
            of_pairs, of_ranks = _normal(one, prior, n_draws, random)
        else:
            of_pairs, of_ranks = _share_better(one.draws), ranks(one.draws)
        better.append(of_pairs)
        drawn.append(of_ranks)
    attrs = scores.attrs | {"ci_prob": ci_prob, "ci_kind": "eti"}
    if prior is not None:
        attrs["prior"] = prior
    estimate = np.stack([one.estimate for one in known])
    return _labelled(measures, runs, estimate, np.stack(better), drawn, ci_prob).assign_attrs(attrs)


def _normal(
    evidence: Evidence, prior: str | None, n_draws: int, random: np.random.Generator
) -> tuple[Floats, NDArray[np.int64]]:
    """Probability (run, run) of being better, and draws (draw, run) of ranks."""
    from scipy.stats import rankdata

    difference, error, freedom = evidence.difference, evidence.error, evidence.freedom
    z = studentised(difference, error, freedom)
    weight = None
    if prior == "normal":
        every = np.triu_indices(len(z), k=1)
        weight = prior_weights(difference[every], error[every], freedom, len(z))
    better = probability_positive(z, weight)
    square = np.square(error)
    if weight is not None:
        square = square * variance_factor(z, weight)
    scores = evidence.estimate + normal_draws(covariance_of_differences(square), n_draws, random)
    same = (z == 0) & (error == 0)  # runs that are one and the same, and no others, tie
    drawn = rankdata(-scores[:, same.argmax(axis=1)], method="min", axis=-1)
    return better, drawn.astype(np.int64)


def _share_better(draws: Floats) -> Floats:
    """Share (run, run) of draws in which one run scores above another, ties as half."""
    share = np.empty((draws.shape[1],) * 2)
    for run in range(draws.shape[1]):
        apart = np.sign(settled(draws[:, [run]] - draws, draws))
        share[run] = 0.5 * (1.0 + apart.mean(axis=0))
    return share


def _labelled(measures, runs, estimate, better, drawn, ci_prob: float) -> xr.Dataset:
    n_runs = runs.size
    tail = 0.5 * (1.0 - float(ci_prob))
    counts = [[np.bincount(run, minlength=n_runs + 1)[1:] for run in one.T] for one in drawn]
    probability = np.array(counts) / np.array([len(one) for one in drawn])[:, None, None]
    below = probability.cumsum(axis=-1)
    lower = 1 + (below <= tail + 1e-12).sum(axis=-1)
    upper = 1 + (below < 1.0 - tail - 1e-12).sum(axis=-1)
    dims = ("measure", "run")
    return xr.Dataset(
        {
            "estimate": (dims, estimate),
            "probability": ((*dims, "rank"), probability),
            "better": ((*dims, "run_other"), better),
            # a run is as good as itself: better[r, r] is 1/2
            "expected_rank": (dims, 1.0 + n_runs - 0.5 - better.sum(axis=-1)),
            "interval": ((*dims, "ci_bound"), np.stack([lower, upper], axis=-1)),
        },
        coords={
            "measure": measures,
            "run": runs,
            "run_other": runs,
            "rank": np.arange(1, n_runs + 1),
            "ci_bound": ["lower", "upper"],
        },
    )
